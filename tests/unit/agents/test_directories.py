"""Key sets that are fetched: how often, for whom, how long they hold, and what a failure changes."""

import asyncio
import inspect

import pytest

from agentgate.agents.signing.directories import (
    BUSY,
    MOST_FAILURES,
    MOST_FETCHES,
    MOST_KEY_SETS,
    MOST_OF_HOST,
    MOST_WAITING,
    NEVER_ALLOWED,
    NOT_ALLOWED,
    STALE_MS,
    STRANGERS_FETCHES,
    KeyDirectories,
)
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS
from agentgate.lib.settings.values import KNOWN_HOSTS
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from tests.unit.agents.key_server import world

pytestmark = pytest.mark.anyio

NOW_MS = 1_790_000_000_000
KEY, OTHER = AgentSigningKey(b"k" * 32), AgentSigningKey(b"o" * 32)
HOST = "agent.example"
URL = f"https://{HOST}/.well-known/http-message-signatures-directory"


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def place(tmp_path):
    async with world(tmp_path, HOST, "*.many.example") as place:
        place.serves(HOST, KEY.jwks, headers="Cache-Control: max-age=3600\r\n")
        yield place


async def look(directories, url=URL, key=KEY, *, now_ms=NOW_MS, hosts=()):
    """Return what is found: True for the key, else why not."""
    found = directories.find(url, key.keyid, now_ms=now_ms, hosts=hosts)
    found = await found if inspect.isawaitable(found) else found
    assert (found.key is None) != (found.why is None)
    return True if found.key is not None else found.why


def at_once(directories, url=URL, key=KEY, *, now_ms=NOW_MS):
    """Return the same; nothing is waited for."""
    found = directories.find(url, key.keyid, now_ms=now_ms)
    assert not inspect.isawaitable(found)
    return True if found.key is not None else found.why


async def test_a_key_is_fetched_once_and_then_known_at_once(place):
    directories = place.directories()

    assert await look(directories) is True
    assert at_once(directories) is True
    assert len(place.peers) == 1
    assert place.peers[0].path == "/.well-known/http-message-signatures-directory"
    assert b"accept-encoding: identity" in place.peers[0].head.lower()


async def test_without_the_setting_nothing_is_fetched(place):
    assert at_once(place.directories("other.example")) == NOT_ALLOWED
    assert at_once(place.directories("agent.example.evil.example", "sub.agent.example")) == NOT_ALLOWED
    assert place.asked_names == []


async def test_hosts_of_known_agents_are_fetched_by_the_current_list(place):
    known = set()
    directories = KeyDirectories(place.outbound(), hosts=(KNOWN_HOSTS,), known=lambda: known)

    assert await look(directories) == NOT_ALLOWED
    known.add(HOST)
    assert await look(directories) is True
    known.clear()
    assert await look(directories) == NOT_ALLOWED


async def test_a_site_adds_hosts_for_itself_alone_also_when_the_key_set_is_cached(place):
    directories = place.directories("other.example")

    assert await look(directories) == NOT_ALLOWED
    assert await look(directories, hosts=(HOST,)) is True
    assert await look(directories) == NOT_ALLOWED
    place.fails("failing.many.example")
    url = URL.replace(HOST, "failing.many.example")
    assert "status 503" in await look(directories, url, hosts=("failing.many.example",))
    assert await look(directories, url) == NOT_ALLOWED


async def test_a_service_that_fetches_nothing_fetches_nothing_for_a_site(place):
    directories = KeyDirectories(place.outbound(), hosts=(), known=lambda: {HOST})

    assert await look(directories, hosts=(HOST,)) == NEVER_ALLOWED
    assert place.dialled == []


async def test_a_host_of_the_list_is_queried(place):
    assert await look(place.directories("x.example", HOST)) is True


async def test_a_key_is_of_its_url_only(place):
    directories = place.directories()
    await look(directories)

    place.serves("b.many.example", OTHER.jwks)
    assert "does not list the key" in await look(directories, "https://b.many.example/keys")


async def test_many_who_ask_at_once_share_one_fetch(place):
    directories = place.directories()

    assert await asyncio.gather(*(look(directories) for _ in range(50))) == [True] * 50
    assert len(place.peers) == 1


async def test_a_request_that_waits_only_after_a_fetch_has_ended_starts_no_other(place):
    directories = place.directories()
    late = directories.find(URL, KEY.keyid, now_ms=NOW_MS)
    assert await look(directories) is True

    assert (await late).key is not None
    assert len(place.peers) == 1


@pytest.mark.parametrize("status", ["200 OK", "500 Internal Server Error"])
async def test_a_request_that_began_before_a_fetch_starts_no_other(place, status):
    directories = place.directories()
    place.serves(HOST, KEY.jwks, status=status)
    await look(directories, key=OTHER)

    for earlier_ms in (1, 500, MINUTE_MS - 1):
        assert at_once(directories, key=OTHER, now_ms=NOW_MS - earlier_ms) is not True
    assert len(place.peers) == 1


async def test_one_who_leaves_does_not_take_the_fetch_along(place):
    directories = place.directories()
    leaving, staying = (asyncio.ensure_future(look(directories)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()

    assert await staying is True


@pytest.mark.parametrize(
    ("control", "lifetime_ms"),
    [
        ("max-age=7200", 2 * HOUR_MS),
        ("public, MAX-AGE=5", MINUTE_MS),
        ("max-age=999999999", DAY_MS),
        ("no-store", MINUTE_MS),
        ("max-age=-1", HOUR_MS),
        ("s-maxage=5", HOUR_MS),
    ],
)
async def test_a_key_set_holds_as_long_as_documented_within_a_minute_and_a_day(place, control, lifetime_ms):
    place.serves(HOST, KEY.jwks, headers=f"Cache-Control: {control}\r\n")
    directories = place.directories()
    await look(directories)

    assert at_once(directories, now_ms=NOW_MS + lifetime_ms - 1) is True
    await directories.close()
    pending = directories.find(URL, KEY.keyid, now_ms=NOW_MS + lifetime_ms + MINUTE_MS)
    assert inspect.isawaitable(pending)
    await pending


async def test_a_key_set_is_renewed_before_its_time_while_requests_continue(place):
    directories = place.directories()
    await look(directories)

    assert at_once(directories, now_ms=NOW_MS + 44 * MINUTE_MS) is True
    await asyncio.sleep(0)
    assert len(directories._fetches) == 0
    assert at_once(directories, now_ms=NOW_MS + 46 * MINUTE_MS) is True
    await asyncio.gather(*directories._fetches.values())
    assert len(place.peers) == 2
    assert at_once(directories, now_ms=NOW_MS + 100 * MINUTE_MS) is True
    await directories.close()


async def test_a_failure_does_not_take_a_good_key_away(place):
    directories = place.directories()
    await look(directories)
    place.fails(HOST)

    for now_ms in (NOW_MS + 2 * HOUR_MS, NOW_MS + DAY_MS, NOW_MS + STALE_MS):
        assert await look(directories, now_ms=now_ms) is True
    assert len(place.peers) == 4
    assert await look(directories, now_ms=NOW_MS + HOUR_MS + STALE_MS) == "the key set could not be fetched"


async def test_while_a_stale_key_set_fails_it_is_queried_once_a_minute(place):
    directories = place.directories()
    await look(directories)
    place.fails(HOST)
    late_ms = NOW_MS + 2 * HOUR_MS
    await look(directories, now_ms=late_ms)

    assert at_once(directories, now_ms=late_ms + MINUTE_MS - 1) is True
    assert len(place.peers) == 2
    await look(directories, now_ms=late_ms + MINUTE_MS)
    assert len(place.peers) == 3


async def test_a_key_that_was_taken_out_is_rejected_once_the_set_was_fetched_again(place):
    directories = place.directories()
    await look(directories)
    place.serves(HOST, OTHER.jwks)

    assert "does not list the key" in await look(directories, now_ms=NOW_MS + 2 * HOUR_MS)


async def test_a_new_key_is_found_and_made_up_ones_cost_one_fetch_a_minute(place):
    directories = place.directories()
    await look(directories)
    place.serves(HOST, {"keys": [*KEY.jwks["keys"], *OTHER.jwks["keys"]]})

    assert "does not list the key" in at_once(directories, key=OTHER, now_ms=NOW_MS + MINUTE_MS - 1)
    assert await look(directories, key=OTHER, now_ms=NOW_MS + MINUTE_MS) is True
    for number in range(50):
        assert "does not list" in at_once(
            directories, key=AgentSigningKey(bytes([number]) * 32), now_ms=NOW_MS + MINUTE_MS
        )
    assert len(place.peers) == 2


async def test_a_failure_is_remembered_for_a_minute(place):
    place.fails(HOST)
    directories = place.directories()

    assert "status 503" in await look(directories)
    place.serves(HOST, KEY.jwks)
    assert "status 503" in at_once(directories, now_ms=NOW_MS + MINUTE_MS - 1)
    assert await look(directories, now_ms=NOW_MS + MINUTE_MS) is True


async def test_a_key_is_used_in_its_time_only(place):
    jwk = {**KEY.jwk, "nbf": NOW_MS // 1000 + 60, "exp": NOW_MS // 1000 + 120}
    place.serves(HOST, {"keys": [jwk]})
    directories = place.directories()

    assert "for another time" in await look(directories)
    assert at_once(directories, now_ms=NOW_MS + 61_000) is True
    assert "for another time" in at_once(directories, now_ms=NOW_MS + 121_000)


async def test_at_most_four_are_fetched_at_once_and_strangers_leave_a_place_for_known_ones(place, monkeypatch):
    monkeypatch.setattr("agentgate.agents.signing.directories.FETCH_S", 0.6)
    directories = place.directories()
    await look(directories)
    open_now, most = 0, 0

    async def hold(_peer):
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(1)
        open_now -= 1

    names = [f"h{number}.many.example" for number in range(10)]
    place.serve |= dict.fromkeys(names, hold)
    waiting = [asyncio.ensure_future(look(directories, f"https://{name}/keys")) for name in names]
    await asyncio.sleep(0.3)
    assert await look(directories, now_ms=NOW_MS + 2 * HOUR_MS) is True
    reasons = await asyncio.gather(*waiting)

    assert most == STRANGERS_FETCHES == MOST_FETCHES - 1
    # A fetch that used up its time has failed; a fetch that only waited for others has not.
    assert sum("no response within 0.6 seconds" in reason for reason in reasons) == STRANGERS_FETCHES
    assert reasons.count(BUSY) == len(names) - STRANGERS_FETCHES
    assert len(directories._failures) == STRANGERS_FETCHES


async def test_made_up_paths_do_not_make_this_service_flood_a_host(place):
    place.fails("a.many.example")
    directories = place.directories()

    urls = [f"https://a.many.example/{number}?{number}" for number in range(60)]
    reasons = await asyncio.gather(*(look(directories, url) for url in urls))

    assert len(place.peers) == MOST_OF_HOST
    assert reasons.count(BUSY) == len(urls) - MOST_OF_HOST
    assert await look(directories, now_ms=NOW_MS) is True
    assert "503" in await look(directories, urls[-1], now_ms=NOW_MS + MINUTE_MS)


async def test_what_waits_and_what_is_remembered_is_bounded(place, monkeypatch):
    monkeypatch.setattr("agentgate.agents.signing.directories.MOST_FAILURES", 5)
    monkeypatch.setattr("agentgate.agents.signing.directories.MOST_KEY_SETS", 3)
    directories = place.directories()
    for number in range(8):
        place.serves(f"g{number}.many.example", KEY.jwks)
        place.fails(f"f{number}.many.example")
        await look(directories, f"https://g{number}.many.example/keys")
        await look(directories, f"https://f{number}.many.example/keys")
        # The cache keeps this entry, because it is used all the time.
        assert at_once(directories, "https://g0.many.example/keys") is True

    assert len(directories._key_sets) == 3
    assert len(directories._failures) == 5
    assert len(directories._of_host) == 5
    assert MOST_KEY_SETS + MOST_FAILURES <= 10_000

    waiting = [asyncio.ensure_future(look(directories, f"https://w{n}.many.example/")) for n in range(MOST_WAITING + 9)]
    await asyncio.sleep(0)
    assert len(directories._fetches) == MOST_WAITING
    await directories.close()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_the_shipped_directories_ask_the_machines_own_names():
    from agentgate.agents.signing.directories import open_directories

    directories = open_directories(("*",), known=tuple)

    assert "does not resolve to a public address" in await look(directories, "https://localhost/keys")
