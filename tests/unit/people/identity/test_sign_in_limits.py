"""Sign-in limits: how often a sign-in may fail, and that no user can lock out another."""

import pytest

from agentgate.lib.clock import FixedClock
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Sealer
from agentgate.lib.limiter import Limiter
from agentgate.people.identity.browser_check import NoBrowserCheck
from agentgate.people.identity.known_devices import BY_LINK_MS, KNOWN_MS, KnownDevices
from agentgate.people.identity.records import SessionStage, UserSession
from agentgate.people.identity.sign_in_limits import Factor, SignInLimits
from agentgate.storage.shared_cache.memory import MemorySharedCache
from tests.unit.people.identity.calls import NOW_MS, make_call

pytestmark = pytest.mark.anyio

ANN, BOB = "ann@example.com", "bob@example.com"


class OneToken:
    """A browser check that knows one good token."""

    site_key = "site_own"

    async def passes(self, token, call, *, action):
        return (token, action) == ("passed", "sign_in")


@pytest.fixture
def clock():
    return FixedClock(NOW_MS)


@pytest.fixture
def devices():
    return KnownDevices(Sealer(bytes(32)))


@pytest.fixture
def limiter(clock):
    return Limiter(MemorySharedCache(clock), clock)


@pytest.fixture
def sign_in_limits(limiter, devices):
    return SignInLimits(limiter, devices, NoBrowserCheck())


def known(devices, email=ANN, **options):
    """Return a call of a browser that has signed in with the address."""
    _, cookie = devices.cookie(make_call(), email)
    return make_call(headers={"cookie": cookie.partition(";")[0]}, **options)


def some_session(user_id="usr_1", created_ms=NOW_MS):
    return UserSession(
        secret_digest=b"",
        id="ses_1",
        user_id=user_id,
        account_id=None,
        stage=SessionStage.FULL,
        code_attempts=0,
        browser="",
        address_id="",
        created_ms=created_ms,
        last_used_ms=created_ms,
    )


async def refusal(sign_in_limits, call, email=ANN, *, token=None):
    try:
        await sign_in_limits.admit(sign_in_limits.attempt(call, email), token)
    except Refused as refused:
        return refused if refused.code == "rate_limited" else None
    return None


async def fail(sign_in_limits, call, email=ANN, *, times=1, **options):
    for _ in range(times):
        await sign_in_limits.note_failure(sign_in_limits.attempt(call, email, **options))


async def attack(sign_in_limits, email=ANN, *, failures=20):
    for number in range(failures):
        await fail(sign_in_limits, make_call(address=f"198.51.{number // 250}.{number % 250}"), email)


async def test_five_failures_of_an_email_from_one_address_are_allowed(sign_in_limits):
    for _ in range(5):
        assert await refusal(sign_in_limits, make_call()) is None
        await fail(sign_in_limits, make_call())

    assert await refusal(sign_in_limits, make_call()) is not None
    assert await refusal(sign_in_limits, make_call(), BOB) is None
    assert await refusal(sign_in_limits, make_call(address="198.51.100.1")) is None


async def test_spellings_of_an_email_count_together(sign_in_limits):
    for spelling in ("Ann@bücher.example", "ann@BÜCHER.example", "ANN@xn--bcher-kva.example") * 2:
        await fail(sign_in_limits, make_call(), spelling)

    assert await refusal(sign_in_limits, make_call(), "ann@bücher.example") is not None


async def test_ten_failures_of_a_source_are_allowed_whatever_the_emails(sign_in_limits):
    for number in range(10):
        assert await refusal(sign_in_limits, make_call()) is None
        await fail(sign_in_limits, make_call(), f"user{number}@example.com")

    assert await refusal(sign_in_limits, make_call()) is not None
    assert await refusal(sign_in_limits, make_call(address="198.51.100.1")) is None


async def test_all_addresses_of_one_ipv6_network_are_one_source(sign_in_limits):
    for number in range(10):
        await fail(sign_in_limits, make_call(address=f"2001:db8::{number:x}"), f"user{number}@example.com")

    assert await refusal(sign_in_limits, make_call(address="2001:db8::ffff")) is not None
    assert await refusal(sign_in_limits, make_call(address="2001:db8:0:1::1")) is None


async def test_an_email_under_attack_makes_unknown_devices_wait_and_no_one_else(sign_in_limits, devices):
    await attack(sign_in_limits, failures=19)
    assert await refusal(sign_in_limits, make_call()) is None
    await attack(sign_in_limits, failures=1)

    refused = await refusal(sign_in_limits, make_call())

    assert refused.headers["retry-after"] == "60"
    assert "browserCheck" not in refused.extra
    assert await refusal(sign_in_limits, known(devices)) is None
    assert await refusal(sign_in_limits, known(devices, BOB)) is not None
    assert await refusal(sign_in_limits, make_call(), BOB) is None


async def test_who_has_waited_gets_one_attempt_and_is_delayed_again(sign_in_limits, clock):
    await attack(sign_in_limits)
    assert (await refusal(sign_in_limits, make_call())).headers["retry-after"] == "60"
    clock.advance(seconds=59)
    assert (await refusal(sign_in_limits, make_call())).headers["retry-after"] == "1"
    clock.advance(seconds=1)

    assert await refusal(sign_in_limits, make_call()) is None
    assert (await refusal(sign_in_limits, make_call())).headers["retry-after"] == "60"
    # Another address has not waited for this email address.
    assert (await refusal(sign_in_limits, make_call(address="203.0.113.9"))).headers["retry-after"] == "60"


async def test_the_browser_check_spares_the_waiting(limiter, devices):
    sign_in_limits = SignInLimits(limiter, devices, OneToken())
    await attack(sign_in_limits)

    refused = await refusal(sign_in_limits, make_call())

    assert refused.extra["browserCheck"] == {"siteKey": "site_own", "action": "sign_in"}
    assert await refusal(sign_in_limits, make_call(), token="wrong") is not None
    assert await refusal(sign_in_limits, make_call(), token="passed") is None
    await fail(sign_in_limits, make_call(), times=5)
    assert await refusal(sign_in_limits, make_call(), token="passed") is not None


async def test_a_hundred_failures_in_a_minute_make_unknown_devices_are_delayed(sign_in_limits, devices, clock):
    for number in range(100):
        assert await refusal(sign_in_limits, make_call()) is None
        await fail(sign_in_limits, make_call(address=f"198.51.100.{number}"), f"user{number}@example.com")

    assert await refusal(sign_in_limits, make_call()) is not None
    assert await refusal(sign_in_limits, known(devices)) is None
    clock.advance(seconds=60)
    assert await refusal(sign_in_limits, make_call(address="203.0.113.1")) is None


async def test_strangers_at_the_same_address_do_not_lock_a_known_device(sign_in_limits, devices):
    await fail(sign_in_limits, make_call(), times=10)

    assert await refusal(sign_in_limits, make_call()) is not None
    assert await refusal(sign_in_limits, known(devices)) is None


async def test_a_known_device_has_five_its_own_failures_wherever_it_is(sign_in_limits, devices):
    device = known(devices)
    cookie = {"cookie": device.request.header("cookie")}
    for number in range(5):
        await fail(sign_in_limits, make_call(headers=cookie, address=f"203.0.113.{number}"))

    assert await refusal(sign_in_limits, device) is not None
    # A second device of hers is another one.
    assert await refusal(sign_in_limits, known(devices)) is None


async def test_failures_of_known_devices_are_not_an_attack(sign_in_limits, devices):
    for _ in range(25):
        await fail(sign_in_limits, known(devices))

    assert await refusal(sign_in_limits, make_call()) is None


async def test_a_session_counts_for_itself_and_changing_accounts_makes_it_no_other(sign_in_limits):
    await fail(sign_in_limits, make_call(), times=10)
    await attack(sign_in_limits)

    await fail(sign_in_limits, make_call(), times=4, session=some_session())
    await sign_in_limits.check(sign_in_limits.attempt(make_call(), ANN, session=some_session()))
    await fail(sign_in_limits, make_call(), session=some_session())

    with pytest.raises(Refused):
        await sign_in_limits.check(sign_in_limits.attempt(make_call(), ANN, session=some_session()))
    later = some_session(created_ms=NOW_MS + 1)
    await sign_in_limits.check(sign_in_limits.attempt(make_call(), ANN, session=later))


async def test_failures_are_discarded_with_their_window_and_the_response_shows_when(sign_in_limits, clock):
    clock.advance(seconds=61)
    await fail(sign_in_limits, make_call(), times=5)

    wait_s = int((await refusal(sign_in_limits, make_call())).headers["retry-after"])

    assert 0 < wait_s <= 15 * 60
    clock.advance(seconds=wait_s - 1)
    assert await refusal(sign_in_limits, make_call()) is not None
    clock.advance(seconds=1)
    assert await refusal(sign_in_limits, make_call()) is None


async def count_codes(sign_in_limits, call, times, *, is_recovery=False):
    """Return how many of `times` attempts at a code are allowed."""
    passed = 0
    for _ in range(times):
        try:
            await sign_in_limits.count_code(sign_in_limits.attempt(call, ANN), is_recovery=is_recovery)
        except Refused:
            continue
        passed += 1
    return passed


async def test_codes_are_counted_by_address_device_and_over_all_unknown_devices(sign_in_limits, devices):
    assert await count_codes(sign_in_limits, make_call(), 9) == 5
    assert await count_codes(sign_in_limits, make_call(address="203.0.113.1"), 9) == 5
    assert await count_codes(sign_in_limits, make_call(address="203.0.113.2"), 9) == 0
    # The user's own browser, and a recovery code, which cannot be guessed, are still allowed.
    assert await count_codes(sign_in_limits, known(devices), 9) == 5
    assert await count_codes(sign_in_limits, make_call(address="203.0.113.3"), 9, is_recovery=True) == 5


async def test_codes_are_counted_apart_from_passwords(sign_in_limits):
    attempt = sign_in_limits.attempt(make_call(), ANN)
    for _ in range(5):
        await sign_in_limits.note_failure(attempt, factor=Factor.CODE)

    with pytest.raises(Refused):
        await sign_in_limits.check(attempt, factor=Factor.CODE)
    assert await refusal(sign_in_limits, make_call()) is None


async def test_who_has_signed_in_starts_again_with_both_factors(sign_in_limits):
    attempt = sign_in_limits.attempt(make_call(), "Ann@Example.com")
    for factor in Factor:
        for _ in range(5):
            await sign_in_limits.note_failure(attempt, factor=factor)
        with pytest.raises(Refused):
            await sign_in_limits.check(attempt, factor=factor)

    await sign_in_limits.forget(attempt)

    for factor in Factor:
        await sign_in_limits.check(attempt, factor=factor)


async def test_signing_in_to_ones_own_account_buys_no_more_guesses_at_others(sign_in_limits):
    for number in range(10):
        await fail(sign_in_limits, make_call(), f"user{number}@example.com")
        await sign_in_limits.forget(sign_in_limits.attempt(make_call(), "mallory@example.com"))

    assert await refusal(sign_in_limits, make_call()) is not None


async def test_that_the_owner_got_in_does_not_end_an_attack(sign_in_limits, devices):
    await attack(sign_in_limits)
    await sign_in_limits.forget(sign_in_limits.attempt(known(devices), ANN))

    assert await refusal(sign_in_limits, make_call()) is not None


async def test_what_is_not_an_address_is_rejected_before_it_is_counted(sign_in_limits):
    with pytest.raises(Refused) as refused:
        sign_in_limits.attempt(make_call(), "ann")

    assert refused.value.code == "invalid_request"


async def test_a_device_is_known_for_its_address_and_its_time_only(devices):
    _, cookie = devices.cookie(make_call(), "Ann@example.com")
    pair = cookie.partition(";")[0]
    name, _, value = pair.partition("=")

    def find(pair, email=ANN, **options):
        return devices.find(make_call(headers={"cookie": pair}, **options), email)

    assert find(pair) is not None
    assert find(pair, BOB) is None
    assert find(pair, after_ms=KNOWN_MS - 1) is not None
    assert find(pair, after_ms=KNOWN_MS) is None
    other_name = devices.cookie(make_call(), BOB)[1].partition("=")[0]
    assert find(f"{other_name}={value}", BOB) is None
    assert KnownDevices(Sealer(b"1" * 32)).find(make_call(headers={"cookie": pair}), ANN) is None
    for number in range(0, len(value), 7):
        changed = "A" if value[number] != "A" else "B"
        assert find(f"{name}={value[:number]}{changed}{value[number + 1 :]}") is None
    for odd in ("", "x", "é", "A" * 600):
        assert find(f"{name}={odd}") is None


async def test_a_known_device_keeps_its_counts_and_is_never_known_for_less(devices):
    first = known(devices)
    _, again = devices.cookie(first, ANN, lasts_ms=BY_LINK_MS)
    renewed = make_call(headers={"cookie": again.partition(";")[0]})

    assert devices.find(renewed, ANN) == devices.find(first, ANN)
    _, by_link = devices.cookie(make_call(), ANN, lasts_ms=BY_LINK_MS)
    assert f"Max-Age={BY_LINK_MS // 1000}" in by_link
