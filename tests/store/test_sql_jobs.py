"""Leases and the times of jobs in SQL: one owner at a time, and the next one when that one is gone."""

import asyncio

import pytest

from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.server.scheduler.jobs import LEASE_MS, RENEW_MS, Leadership
from agentgate.server.scheduler.repository import JobRun
from agentgate.server.stores.unit_of_work import SqlStore
from tests.store.account_rows import NOW_MS

pytestmark = pytest.mark.anyio


def candidates(store: SqlStore, clock: FixedClock, count: int = 2) -> list[Leadership]:
    return [Leadership("jobs", store=store, clock=clock) for _ in range(count)]


async def test_of_many_who_want_a_lease_one_gets_it(store: SqlStore) -> None:
    many = candidates(store, FixedClock(NOW_MS), 12)

    held = await asyncio.gather(*(one.hold() for one in many))

    assert sorted(held) == [False] * 11 + [True]
    assert [await one.hold() for one in many] == held


async def test_a_lease_that_is_renewed_in_time_is_never_lost(store: SqlStore) -> None:
    clock = FixedClock(NOW_MS)
    first, second = candidates(store, clock)

    for _ in range(20):
        assert await first.hold()
        assert not await second.hold()
        clock.advance(ms=LEASE_MS - RENEW_MS)


async def test_another_takes_over_when_the_owner_is_gone_and_not_before(store: SqlStore) -> None:
    clock = FixedClock(NOW_MS)
    first, second = candidates(store, clock)
    assert await first.hold()

    clock.advance(ms=LEASE_MS - 1)
    assert not await second.hold()
    clock.advance(ms=1)
    assert await second.hold()
    # The first one was only asleep: it notices.
    assert not await first.hold()


async def test_a_released_lease_is_free_at_once(store: SqlStore) -> None:
    first, second = candidates(store, FixedClock(NOW_MS))
    assert await first.hold()
    assert not await second.hold()

    await first.release()

    assert await second.hold()


async def test_releasing_does_not_end_the_lease_of_another(store: SqlStore) -> None:
    clock = FixedClock(NOW_MS)
    first, second = candidates(store, clock)
    assert await first.hold()
    clock.advance(ms=LEASE_MS)
    assert await second.hold()

    await first.release()

    assert not await candidates(store, clock)[0].hold()


async def test_a_lease_taken_while_the_clock_was_years_ahead_blocks_no_one(store: SqlStore) -> None:
    clock = FixedClock(NOW_MS)
    first, second = candidates(store, clock)
    clock.advance(days=3650)
    assert await first.hold()

    clock.advance(days=-3650)

    assert await second.hold()


async def test_leases_of_different_names_do_not_meet(store: SqlStore) -> None:
    clock = FixedClock(NOW_MS)

    assert await Leadership("jobs", store=store, clock=clock).hold()
    assert await Leadership("other", store=store, clock=clock).hold()


async def test_the_last_run_of_each_job_is_kept(store: SqlStore) -> None:
    for run in (
        JobRun(name="purge", last_ms=NOW_MS),
        JobRun(name="sweep", last_ms=NOW_MS, held_until_ms=NOW_MS + DAY_MS),
        JobRun(name="purge", last_ms=NOW_MS + 1),
    ):
        await store.change(lambda stores, run=run: stores.jobs.save_run(run))

    assert sorted(await store.read.jobs.list_runs(), key=lambda run: run.name) == [
        JobRun(name="purge", last_ms=NOW_MS + 1),
        JobRun(name="sweep", last_ms=NOW_MS, held_until_ms=NOW_MS + DAY_MS),
    ]
