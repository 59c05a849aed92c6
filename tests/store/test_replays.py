"""Remembering agents' signatures on either store: each once, also with concurrent requests, and until it expires."""

import asyncio

import pytest
from msgspec import structs

from agentgate.agents.identity import UNSIGNED, Identity
from agentgate.agents.jobs import ROWS_PER_UNIT, UNITS_PER_RUN, delete_replays
from agentgate.agents.signing.repository import SKEW_MS, Replays, ReplayStore
from agentgate.lib.clock import FixedClock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import AgentVerdict
from tests.store.sql_objects import NOW_MS, migrated

pytestmark = pytest.mark.anyio

REPLAYS = 64
KEY = b"\x00\xff" * 16


@pytest.fixture
async def opened(backend):
    async with migrated(backend) as opened:
        yield opened


@pytest.fixture
async def store(opened):
    return ReplayStore(opened.database)


def identity(key=KEY, *, has_nonce=True, expires_ms=NOW_MS + 300_000):
    return Identity(verdict=AgentVerdict.VERIFIED, unique=key, has_nonce=has_nonce, expires_ms=expires_ms)


@pytest.mark.parametrize(
    ("created_ms", "is_new"), [(NOW_MS - 1, False), (NOW_MS + 60_000, False), (NOW_MS + 60_001, True)]
)
async def test_what_was_signed_before_the_store_lost_signatures_is_not_new(opened, created_ms, is_new):

    signed = structs.replace(identity(), created_ms=created_ms)

    assert await Replays(ReplayStore(opened.database, lambda: NOW_MS)).is_new(signed, unsafe=False) is is_new


async def test_a_signed_request_is_new_once(store):
    replays = Replays(store)

    assert await replays.is_new(identity(), unsafe=False)
    assert not await replays.is_new(identity(), unsafe=False)
    assert await replays.is_new(identity(b"other"), unsafe=False)


async def test_of_64_parallel_replays_on_two_workers_one_is_accepted(backend, opened):
    other = backend.make()
    workers = [Replays(ReplayStore(opened.database)), Replays(ReplayStore(other))]
    try:
        answers = await asyncio.gather(
            *(workers[number % 2].is_new(identity(), unsafe=number % 3 == 0) for number in range(REPLAYS))
        )
    finally:
        await other.close()

    assert answers.count(True) == 1


async def test_of_many_signatures_on_two_workers_each_is_accepted_once(backend, opened):
    other = backend.make()
    workers = [Replays(ReplayStore(opened.database)), Replays(ReplayStore(other))]
    keys = [number.to_bytes(2) for number in range(200)]
    try:
        answers = await asyncio.gather(
            *(worker.is_new(identity(key), unsafe=True) for key in keys for worker in workers for _ in range(4))
        )
    finally:
        await other.close()

    assert [sum(answers[start : start + 8]) for start in range(0, len(answers), 8)] == [1] * len(keys)


async def test_without_a_nonce_only_what_does_harm_is_remembered(store):
    replays = Replays(store)
    plain = identity(has_nonce=False)

    assert [await replays.is_new(plain, unsafe=False) for _ in range(3)] == [True, True, True]
    assert [await replays.is_new(plain, unsafe=True) for _ in range(3)] == [True, False, False]


async def test_who_is_not_verified_leaves_nothing_behind(opened, store):
    assert await Replays(store).is_new(UNSIGNED, unsafe=True)

    assert await opened.database.one("SELECT count(*) FROM agent_replay") == (0,)


async def test_a_verified_identity_without_a_replay_key_is_a_mistake_of_ours(store):
    with pytest.raises(ValueError, match="replay key"):
        await Replays(store).is_new(identity(b""), unsafe=True)


async def test_while_the_store_is_unavailable_nothing_is_called_new(backend, store):
    with backend.away(), pytest.raises(StoreUnavailable):
        await Replays(store).is_new(identity(), unsafe=True)


async def test_a_signature_is_discarded_by_the_job_once_no_clock_would_accept_it(store):
    replays = Replays(store)
    clock = FixedClock(NOW_MS)
    soon = identity(b"soon", expires_ms=NOW_MS + 1_000)
    late = identity(b"late", expires_ms=NOW_MS + 3_600_000)
    assert await replays.is_new(soon, unsafe=True)
    assert await replays.is_new(late, unsafe=True)

    clock.advance(ms=1_000 + SKEW_MS)
    await delete_replays(store, clock)
    assert not await replays.is_new(soon, unsafe=True)

    clock.advance(ms=1)
    await delete_replays(store, clock)
    assert await replays.is_new(soon, unsafe=True)
    assert not await replays.is_new(late, unsafe=True)


async def test_some_are_discarded_at_a_time_the_oldest_first(store):
    replays = Replays(store)
    for number in range(5):
        await replays.is_new(identity(b"%d" % number, expires_ms=NOW_MS + number), unsafe=True)

    assert await store.delete_replays(NOW_MS + SKEW_MS + 4, most=3) == 3
    assert not await replays.is_new(identity(b"3"), unsafe=True)
    assert await store.delete_replays(NOW_MS + SKEW_MS + 4, most=3) == 1
    assert not await replays.is_new(identity(b"4"), unsafe=True)


class Counting:
    """A store with so many expired signatures."""

    def __init__(self, expired):
        self.left = expired
        self.calls = 0

    async def delete_replays(self, before_ms, *, most):
        self.calls += 1
        gone = min(self.left, most)
        self.left -= gone
        return gone


@pytest.mark.parametrize(
    ("expired", "calls"),
    [
        (0, 1),
        (ROWS_PER_UNIT - 1, 1),
        (ROWS_PER_UNIT, 2),
        (10**9, UNITS_PER_RUN),
    ],
)
async def test_the_job_continues_while_units_are_full_and_no_longer_than_its_run(expired, calls):
    store = Counting(expired)

    await delete_replays(store, FixedClock(NOW_MS))

    assert store.calls == calls
