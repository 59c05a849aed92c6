"""Worker numbers: one each, renewed, taken over after the lease."""

import asyncio

import pytest

from agentgate.events.worker_numbers import LEASE_MS, WorkerNumber
from agentgate.lib.clock import FixedClock
from agentgate.server.stores.unit_of_work import SqlStore

pytestmark = pytest.mark.anyio


async def test_workers_that_start_together_get_different_numbers(store: SqlStore):
    clock = FixedClock(1_000_000)
    numbers = await asyncio.gather(*(WorkerNumber(store, clock).claim() for _ in range(12)))
    assert sorted(numbers) == list(range(12))


async def test_a_renewed_number_is_kept_past_its_first_lease(store: SqlStore):
    clock = FixedClock(1_000_000)
    mine, other = WorkerNumber(store, clock), WorkerNumber(store, clock)
    assert await mine.claim() == 0
    clock.advance(ms=LEASE_MS - 1)
    assert await mine.renew() == 0
    clock.advance(ms=LEASE_MS - 1)
    assert await other.claim() == 1


async def test_what_a_killed_worker_held_is_free_after_the_lease(store: SqlStore):
    clock = FixedClock(1_000_000)
    assert await WorkerNumber(store, clock).claim() == 0
    clock.advance(ms=LEASE_MS + 1)
    assert await WorkerNumber(store, clock).claim() == 0


async def test_a_worker_whose_number_was_given_away_takes_another(store: SqlStore):
    clock = FixedClock(1_000_000)
    slept, other = WorkerNumber(store, clock), WorkerNumber(store, clock)
    assert await slept.claim() == 0
    clock.advance(ms=LEASE_MS + 1)
    assert await other.claim() == 0
    assert await slept.renew() == 1


async def test_a_released_number_is_free_at_once(store: SqlStore):
    clock = FixedClock(1_000_000)
    mine = WorkerNumber(store, clock)
    await mine.claim()
    await mine.release()
    assert await WorkerNumber(store, clock).claim() == 0
