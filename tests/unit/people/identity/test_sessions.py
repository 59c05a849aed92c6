"""Sessions of users: how long they live, how they are rotated, and what the browser is given."""

import asyncio

import pytest

from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Sealer
from agentgate.lib.secrets import digest
from agentgate.people.identity.known_devices import KnownDevices
from agentgate.people.identity.records import SessionStage
from agentgate.people.identity.sessions import UserSessions, browser_name
from tests.unit.people.identity.calls import NOW_MS, make_call

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.fixture
def sessions(keyring):
    return UserSessions(keyring, KnownDevices(Sealer(bytes(32))))


@pytest.fixture
def start(store, sessions, ann):
    async def start(stage=SessionStage.FULL, **options):
        call = make_call(**options)
        return await store.change(
            lambda stores: sessions.start(stores, call, ann, account_id="acc_1", stage=stage),
        )

    return start


async def refusal_of(pending):
    with pytest.raises(Refused) as refused:
        await pending
    return refused.value.code


@pytest.mark.anyio
async def test_a_started_session_is_found_by_its_secret(store, sessions, start, ann):
    secret, session = await start()

    assert await sessions.find(store, make_call(), secret) == session
    assert (session.user_id, session.account_id, session.stage) == (ann.id, "acc_1", SessionStage.FULL)
    assert (session.created_ms, session.last_used_ms, session.ended_ms) == (NOW_MS, NOW_MS, None)


@pytest.mark.anyio
async def test_the_secret_itself_is_not_stored(store, start):
    secret, session = await start()

    assert session.secret_digest == digest(secret)
    assert secret not in repr(await store.read.user_sessions.list_sessions(session.user_id))


@pytest.mark.anyio
@pytest.mark.parametrize("secret", ["", "nobody's", "x" * 10_000, "\ud800"])
async def test_a_secret_that_no_one_was_given_is_unauthorized(store, sessions, secret):
    assert await refusal_of(sessions.find(store, make_call(), secret)) == "unauthorized"


@pytest.mark.anyio
async def test_an_ended_session_has_expired(store, sessions, start):
    secret, session = await start()
    await store.change(lambda stores: stores.user_sessions.end_session(session.secret_digest, NOW_MS))

    assert await refusal_of(sessions.find(store, make_call(), secret)) == "session_expired"


@pytest.mark.anyio
async def test_a_session_expires_after_two_idle_hours(store, sessions, start):
    secret, _ = await start()

    await sessions.find(store, make_call(after_ms=2 * HOUR_MS - 1), secret)
    await sessions.find(store, make_call(after_ms=4 * HOUR_MS - 2), secret)
    assert await refusal_of(sessions.find(store, make_call(after_ms=6 * HOUR_MS - 2), secret)) == "session_expired"


@pytest.mark.anyio
async def test_a_session_expires_twelve_hours_after_its_start_however_it_is_used(store, sessions, start):
    secret, session = await start()
    for hour in range(1, 12):
        await sessions.find(store, make_call(after_ms=hour * HOUR_MS), secret)

    await sessions.find(store, make_call(after_ms=12 * HOUR_MS - 1), secret)
    assert await refusal_of(sessions.find(store, make_call(after_ms=12 * HOUR_MS), secret)) == "session_expired"
    assert sessions.expires_at(session) == NOW_MS + 12 * HOUR_MS


@pytest.mark.anyio
async def test_a_session_that_lacks_its_code_expires_after_five_minutes(store, sessions, start):
    secret, session = await start(stage=SessionStage.PASSWORD)

    await sessions.find(store, make_call(after_ms=5 * MINUTE_MS - 1), secret)
    assert await refusal_of(sessions.find(store, make_call(after_ms=5 * MINUTE_MS), secret)) == "session_expired"
    assert sessions.expires_at(session) == NOW_MS + 5 * MINUTE_MS


@pytest.mark.anyio
async def test_use_is_noted_at_most_once_a_minute(store, sessions, start):
    secret, session = await start()

    async def last_used_after(after_ms):
        await sessions.find(store, make_call(after_ms=after_ms), secret)
        found = await store.read.user_sessions.find_session(session.secret_digest)
        return found.last_used_ms - NOW_MS

    assert await last_used_after(MINUTE_MS - 1) == 0
    assert await last_used_after(MINUTE_MS) == MINUTE_MS
    assert await last_used_after(MINUTE_MS + 1) == MINUTE_MS


@pytest.mark.anyio
async def test_a_replaced_session_continues_under_a_new_secret_alone(store, sessions, start):
    secret, session = await start()
    call = make_call(after_ms=HOUR_MS)

    new_secret, new = await store.change(
        lambda stores: sessions.replace(stores, call, session, account_id="acc_2", stage=SessionStage.FULL)
    )

    assert new_secret != secret
    assert new.id != session.id
    assert (new.user_id, new.account_id) == (session.user_id, "acc_2")
    assert await sessions.find(store, call, new_secret) == new
    assert await refusal_of(sessions.find(store, call, secret)) == "session_expired"


@pytest.mark.anyio
async def test_replacing_does_not_make_a_session_live_longer(store, sessions, start):
    secret, session = await start()
    for hour in range(1, 12):
        call = make_call(after_ms=hour * HOUR_MS)
        secret, session = await store.change(
            lambda stores, call=call, session=session: sessions.replace(
                stores, call, session, account_id=None, stage=SessionStage.FULL
            )
        )

    assert sessions.expires_at(session) == NOW_MS + 12 * HOUR_MS
    assert await refusal_of(sessions.find(store, make_call(after_ms=12 * HOUR_MS), secret)) == "session_expired"


@pytest.mark.anyio
async def test_the_twelve_hours_begin_when_the_code_was_given(store, sessions, start):
    _, session = await start(stage=SessionStage.PASSWORD)
    call = make_call(after_ms=4 * MINUTE_MS)

    _, full = await store.change(
        lambda stores: sessions.replace(stores, call, session, account_id=None, stage=SessionStage.FULL)
    )

    assert sessions.expires_at(full) == NOW_MS + 4 * MINUTE_MS + 12 * HOUR_MS


@pytest.mark.anyio
async def test_of_many_who_replace_a_session_at_once_one_succeeds(store, sessions, start):
    _, session = await start()

    async def replace():
        return await store.change(
            lambda stores: sessions.replace(stores, make_call(), session, account_id=None, stage=SessionStage.FULL)
        )

    outcomes = await asyncio.gather(*(replace() for _ in range(64)), return_exceptions=True)

    refused = [outcome.code for outcome in outcomes if isinstance(outcome, Refused)]
    assert refused == ["session_expired"] * 63
    assert len(await store.read.user_sessions.list_sessions(session.user_id)) == 1


@pytest.mark.anyio
async def test_a_session_that_was_revoked_meanwhile_does_not_come_back(store, sessions, start):
    _, session = await start()
    await store.change(lambda stores: stores.user_sessions.end_sessions(session.user_id, NOW_MS))

    replacing = store.change(
        lambda stores: sessions.replace(stores, make_call(), session, account_id=None, stage=SessionStage.FULL)
    )

    assert await refusal_of(replacing) == "session_expired"
    assert await store.read.user_sessions.list_sessions(session.user_id) == []


@pytest.mark.anyio
async def test_the_address_is_kept_as_a_keyed_hash_that_differs_between_users(store, sessions, start, ann, bob):
    _, first = await start(address="192.0.2.7")
    _, same = await start(address="192.0.2.7")
    _, other = await start(address="192.0.2.8")
    _, of_bob = await store.change(
        lambda stores: sessions.start(
            stores, make_call(address="192.0.2.7"), bob, account_id=None, stage=SessionStage.FULL
        )
    )

    assert len(first.address_id) == 16
    assert int(first.address_id, 16) >= 0
    assert same.address_id == first.address_id
    assert len({first.address_id, other.address_id, of_bob.address_id}) == 3


@pytest.mark.anyio
async def test_the_browser_is_kept_under_a_short_name(start):
    _, session = await start(headers={"user-agent": FIREFOX})
    _, silent = await start()

    assert session.browser == "Firefox on Linux"
    assert silent.browser == "Unknown browser"


@pytest.mark.anyio
async def test_each_session_has_its_own_csrf_token(sessions, start):
    _, first = await start()
    _, second = await start()

    assert sessions.is_csrf_token(first, sessions.csrf_token(first))
    assert not sessions.is_csrf_token(first, sessions.csrf_token(second))


def test_the_cookie_is_hidden_from_scripts_and_from_other_sites(sessions):
    assert sessions.cookie(make_call(), "abc") == (
        "set-cookie",
        "ag_account=abc; Path=/v1; HttpOnly; SameSite=Lax",
    )


def test_over_tls_the_cookie_stays_on_tls(sessions):
    assert sessions.cookie(make_call(secure=True), "abc")[1].endswith("; Secure")


def test_the_cookie_is_cleared_under_the_path_it_was_set_under(sessions):
    assert sessions.cleared_cookie(make_call()) == (
        "set-cookie",
        "ag_account=; Path=/v1; HttpOnly; SameSite=Lax; Max-Age=0",
    )


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox on Windows"),
        ("Mozilla/5.0 (Android 15; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0", "Firefox on Android"),
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/142.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/142.0.0.0 Safari/537.36 Edg/142.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Linux; Android 10; K) {WEBKIT} Chrome/142.0 Mobile Safari/537.36", "Chrome on Android"),
        (f"Mozilla/5.0 (Linux; Android 10) {WEBKIT} Chrome/1 Mobile Safari/5 EdgA/142.0", "Edge on Android"),
        (f"Mozilla/5.0 (X11; CrOS x86_64) {WEBKIT} Chrome/142.0.0.0 Safari/537.36", "Chrome on ChromeOS"),
        (f"Mozilla/5.0 (Macintosh) {WEBKIT} Chrome/142.0 Safari/537.36 OPR/120.0", "Opera on macOS"),
        (f"Mozilla/5.0 (Linux; Android 14) {WEBKIT} SamsungBrowser/28.0 Chrome/1", "Samsung Internet on Android"),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/605 (KHTML) Version/26 Safari/605", "Safari on macOS"),
        ("Mozilla/5.0 (iPhone; CPU like Mac OS X) Version/26 Mobile Safari/604", "Safari on iPhone"),
        ("Mozilla/5.0 (iPhone; CPU like Mac OS X) CriOS/142 Mobile Safari/604", "Chrome on iPhone"),
        ("Mozilla/5.0 (iPad; CPU like Mac OS X) FxiOS/145 Mobile Safari/604", "Firefox on iPad"),
        ("curl/8.5.0", "curl"),
        ("python-httpx/0.28.1", "Python"),
        ("", "Unknown browser"),
        ("<script>alert(1)</script>", "Unknown browser"),
        ("Evil\r\nSet-Cookie: a=b (Windows)", "Unknown browser on Windows"),
        ("x" * 100_000 + "Firefox/1", "Unknown browser"),
    ],
)
def test_a_browser_has_a_short_name_made_of_our_words(user_agent, name):
    assert browser_name(user_agent) == name
