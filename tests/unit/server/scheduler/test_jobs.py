"""Timed jobs: run by one process, at their intervals, again after a failure, and never when the clock is in doubt."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, FixedClock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.tasks.job import Job
from agentgate.server.scheduler.jobs import LEASE_MS, JobRunner, next_run
from agentgate.server.scheduler.repository import JobRun
from agentgate.server.stores.unit_of_work import SqlStore
from tests.support.service import NOON_MS
from tests.unit.server.scheduler.timed import empty_store, pass_time

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON_MS)


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[SqlStore]:
    async with empty_store(tmp_path, clock) as opened:
        yield opened


class Counted:
    """Work that counts its runs, and can be made to fail or to block."""

    def __init__(self) -> None:
        self.times = 0
        self.failure: Exception | None = None
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._begun = asyncio.Condition()

    async def __call__(self) -> None:
        async with self._begun:
            self.times += 1
            self._begun.notify_all()
        await self.go_on.wait()
        if self.failure:
            raise self.failure

    async def begun(self, times: int) -> None:
        """Wait until it was begun so often."""
        async with asyncio.timeout(10), self._begun:
            await self._begun.wait_for(lambda: self.times >= times)


def job(name: str, work: Any, *, interval_ms: int = HOUR_MS, guarded: bool = False) -> Job:
    return Job(name=name, interval_ms=interval_ms, work=work, guarded=guarded)


def runner(store: SqlStore, clock: FixedClock, *its_jobs: Job, **options: Any) -> JobRunner:
    return JobRunner(its_jobs, store=store, clock=clock, **options)


# ---- The runner ----


async def test_a_job_runs_at_its_interval(store: SqlStore, clock: FixedClock) -> None:
    work = Counted()
    running = runner(store, clock, job("a", work))

    await running.run_due()
    await running.run_due()
    assert work.times == 1
    clock.advance(ms=HOUR_MS - 1)
    await running.run_due()
    assert work.times == 1
    clock.advance(ms=1)
    await running.run_due()
    assert work.times == 2


async def test_a_failed_job_is_tried_again_after_a_minute_and_keeps_no_other_from_running(
    store: SqlStore, clock: FixedClock
) -> None:
    bad, good = Counted(), Counted()
    running = runner(store, clock, job("bad", bad), job("good", good))
    bad.failure = ValueError("a mistake")

    await running.run_due()
    await running.run_due()
    assert (bad.times, good.times) == (1, 1)
    clock.advance(ms=MINUTE_MS)
    bad.failure = None
    await running.run_due()
    assert (bad.times, good.times) == (2, 1)
    clock.advance(ms=MINUTE_MS)
    await running.run_due()
    assert bad.times == 2


async def test_a_job_that_is_still_under_way_is_not_begun_again_and_holds_up_no_other(
    store: SqlStore, clock: FixedClock
) -> None:
    slow, quick = Counted(), Counted()
    slow.go_on.clear()
    running = runner(store, clock, job("slow", slow, interval_ms=0), job("quick", quick, interval_ms=0), tick_s=0.01)
    running.start()

    await quick.begun(3)
    assert slow.times == 1

    slow.go_on.set()
    await running.stop()


async def test_the_runner_continues_when_the_store_was_unavailable(store: SqlStore, clock: FixedClock) -> None:
    work = Counted()
    running = runner(store, clock, job("a", work, interval_ms=0), tick_s=0.01)
    work.failure = StoreUnavailable("away")
    running.start()

    await work.begun(2)
    await running.stop()

    assert {run.name: run.failure for run in await store.read.jobs.list_results()} == {"a": "StoreUnavailable"}


async def test_stopping_waits_for_what_is_nearly_done(store: SqlStore, clock: FixedClock) -> None:
    done = []
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.sleep(0.05)
        done.append(True)

    running = runner(store, clock, job("a", work), tick_s=0.01)
    running.start()
    await begun.wait()
    await running.stop()

    assert done == [True]


async def test_stopping_does_not_wait_for_what_hangs(store: SqlStore, clock: FixedClock) -> None:
    hanging = Counted()
    hanging.go_on.clear()
    running = runner(store, clock, job("a", hanging), tick_s=0.01, grace_s=0.05)
    running.start()
    await hanging.begun(1)

    async with asyncio.timeout(5):
        await running.stop()
    assert hanging.times == 1


async def test_a_runner_that_was_never_started_can_be_stopped(store: SqlStore, clock: FixedClock) -> None:
    work = Counted()
    await runner(store, clock, job("a", work)).stop()

    assert work.times == 0


# ---- One leader ----


async def test_only_one_of_two_processes_runs_the_jobs(store: SqlStore, clock: FixedClock) -> None:
    first, second = Counted(), Counted()
    leader, other = runner(store, clock, job("a", first)), runner(store, clock, job("a", second))

    await leader.run_due()
    await other.run_due()

    assert (first.times, second.times) == (1, 0)


async def test_when_the_leader_dies_another_takes_over_after_the_lease(store: SqlStore, clock: FixedClock) -> None:
    first, second = Counted(), Counted()
    leader = runner(store, clock, job("a", first, interval_ms=0))
    other = runner(store, clock, job("a", second, interval_ms=0))
    await leader.run_due()

    clock.advance(ms=LEASE_MS - 1)
    await other.run_due()
    assert second.times == 0
    clock.advance(ms=1)
    await other.run_due()
    assert second.times == 1
    # Back from a long pause, the old leader sees that it is one no longer.
    await leader.run_due()
    assert first.times == 1


async def test_when_the_leader_stops_another_takes_over_at_once(store: SqlStore, clock: FixedClock) -> None:
    first, second = Counted(), Counted()
    leader = runner(store, clock, job("a", first), tick_s=0.01)
    other = runner(store, clock, job("a", second))
    leader.start()
    await first.begun(1)
    await other.run_due()
    assert second.times == 0

    await leader.stop()
    await other.run_due()

    assert second.times == 1


async def test_the_next_leader_knows_when_a_guarded_job_last_ran(store: SqlStore, clock: FixedClock) -> None:
    first, second = Counted(), Counted()
    leader = runner(store, clock, job("a", first, guarded=True, interval_ms=DAY_MS))
    other = runner(store, clock, job("a", second, guarded=True, interval_ms=DAY_MS))
    await leader.run_due()
    clock.advance(days=1)
    await leader.run_due()
    assert first.times == 1

    clock.advance(hours=1)
    await other.run_due()
    assert second.times == 0
    clock.advance(hours=23)
    await other.run_due()
    assert second.times == 1


# ---- The guard against a wrong clock ----


@pytest.mark.parametrize(
    ("previous", "held_until_ms"),
    [
        (None, 0),
        (JobRun(name="a", last_ms=NOON_MS - 2 * DAY_MS), 0),
        (JobRun(name="a", last_ms=NOON_MS - 2 * DAY_MS - 1), NOON_MS + 2 * DAY_MS),
        (JobRun(name="a", last_ms=NOON_MS - HOUR_MS, held_until_ms=NOON_MS + 5), NOON_MS + 5),
        # A clock slightly behind another machine's has no effect; a clock that was set back shows that it was wrong
        # before.
        (JobRun(name="a", last_ms=NOON_MS + MINUTE_MS, held_until_ms=NOON_MS + 5), NOON_MS + 5),
        (JobRun(name="a", last_ms=NOON_MS + 3650 * DAY_MS, held_until_ms=NOON_MS + 3652 * DAY_MS), 0),
    ],
)
def test_a_jump_of_the_clock_holds_a_job_for_two_days(previous: JobRun | None, held_until_ms: int) -> None:
    assert next_run("a", previous, NOON_MS) == JobRun(name="a", last_ms=NOON_MS, held_until_ms=held_until_ms)


async def test_the_first_run_ever_only_notes_the_time(store: SqlStore, clock: FixedClock) -> None:
    work = Counted()
    running = runner(store, clock, job("a", work, guarded=True))

    await running.run_due()
    assert work.times == 0
    await pass_time(running, clock, hours=1)
    assert work.times == 1


async def test_after_a_jump_nothing_is_deleted_for_two_days(store: SqlStore, clock: FixedClock) -> None:
    work = Counted()
    running = runner(store, clock, job("a", work, guarded=True))
    await running.run_due()

    clock.advance(days=3650)
    await running.run_due()
    await pass_time(running, clock, hours=47)
    assert work.times == 0
    await pass_time(running, clock, hours=1)
    assert work.times == 1


async def test_when_the_clock_is_put_right_work_continues(store: SqlStore, clock: FixedClock) -> None:
    work = Counted()
    running = runner(store, clock, job("a", work, guarded=True))
    await running.run_due()
    clock.advance(days=3650)
    await running.run_due()

    clock.advance(days=-3650, hours=1)
    # The process that saw the wrong time never goes back, so this is the next one.
    await runner(store, clock, job("a", work, guarded=True)).run_due()

    assert work.times == 1
