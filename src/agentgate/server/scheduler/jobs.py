"""Runs the timed jobs, in one process only. Each concept lists its own jobs in its `jobs.py`.

Permanent deletion by a job is guarded against a wrong clock.
"""

import asyncio
import contextlib
import secrets
import time
from dataclasses import dataclass, field

import structlog

from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, Clock
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.server.scheduler.repository import JobResult, JobRun, JobStores, Lease

LEASE = "jobs"
TICK_S = 2.0
# How long jobs that are under way may take to finish when the service stops.
GRACE_S = 3.0
RETRY_MS = MINUTE_MS
# How often the result of a job that runs all the time is noted while it stays the same.
NOTED_MS = MINUTE_MS
# A clock that moves further than this between two runs may be wrong, and then so is everything that seems old.
JUMP_MS = 2 * DAY_MS
# After such a jump, nothing is deleted for this long: time for an operator to notice and to correct the clock.
HOLD_MS = 2 * DAY_MS


def next_run(name: str, previous: JobRun | None, now_ms: int) -> JobRun:
    """Return the run that begins now, with the moment until which it must wait because of a jump of the clock."""
    if previous is None or now_ms < previous.last_ms - HOUR_MS:
        # Nothing to hold the clock against, or it was put back and with it what followed from it. Two machines' clocks
        # may differ by a little, which means nothing.
        return JobRun(name=name, last_ms=now_ms)
    jumped = now_ms - previous.last_ms > JUMP_MS
    return JobRun(name=name, last_ms=now_ms, held_until_ms=now_ms + HOLD_MS if jumped else previous.held_until_ms)


@dataclass
class _State:
    """The runner's state of a job."""

    # None: look into the store.
    due_ms: int | None = None
    task: asyncio.Task[None] | None = None
    # The result that is in the store.
    noted: JobResult | None = None


@dataclass
class JobRunner:
    """Runs the jobs while this process holds the lease; otherwise waits for it."""

    jobs: tuple[Job, ...]
    store: Store[JobStores]
    clock: Clock
    tick_s: float = TICK_S
    grace_s: float = GRACE_S
    metrics: MetricRegistry | None = None
    _states: dict[str, _State] = field(default_factory=dict)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        """Make what belongs to this runner alone."""
        self._states = {job.name: _State() for job in self.jobs}
        self._leadership = Leadership(LEASE, store=self.store, clock=self.clock)

    def start(self) -> None:
        """Begin to look for work."""
        self._loop = asyncio.create_task(self._run_ticks())

    async def stop(self) -> None:
        """Begin nothing more, give what is under way a moment, and let another process have the lease."""
        self._stopping.set()
        if self._loop is None:
            return
        await self._loop
        tasks = self._under_way()
        if tasks:
            await asyncio.wait(tasks, timeout=self.grace_s)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self._leadership.release()
        except StoreUnavailable:
            structlog.get_logger().info("lease not released: it will expire")

    async def run_due(self) -> None:
        """Begin every job that is due, if this process may, and return when all of them are done."""
        await self._begin_due()
        await asyncio.gather(*self._under_way())

    def _under_way(self) -> list[asyncio.Task[None]]:
        return [state.task for state in self._states.values() if state.task is not None and not state.task.done()]

    async def _run_ticks(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._begin_due()
            except StoreUnavailable:
                structlog.get_logger().warning("jobs are delayed: the store is unavailable")
            except Exception:  # noqa: BLE001 - a runner that has died would be noticed weeks later
                structlog.get_logger().exception("jobs could not begin")
            try:
                async with asyncio.timeout(self.tick_s):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def _begin_due(self) -> None:
        if not await self._leadership.hold():
            # The next leader notes its own runs, so what this one knows will be old.
            for state in self._states.values():
                state.due_ms = None
            return
        if any(state.due_ms is None for state in self._states.values()):
            await self._read_runs()
        now_ms = self.clock.now_ms()
        for job in self.jobs:
            state = self._states[job.name]
            is_running = state.task is not None and not state.task.done()
            # A moment further away than the interval comes from before the clock was put back.
            if not is_running and not now_ms < (state.due_ms or 0) <= now_ms + max(job.interval_ms, RETRY_MS):
                state.task = asyncio.create_task(self._run(job, state))

    async def _read_runs(self) -> None:
        runs = {run.name: run for run in await self.store.read.jobs.list_runs()}
        for job in self.jobs:
            run = runs.get(job.name)
            self._states[job.name].due_ms = run.last_ms + job.interval_ms if run else 0

    async def _run(self, job: Job, state: _State) -> None:
        log = structlog.get_logger().bind(job=job.name)
        now_ms, began_s, failure = self.clock.now_ms(), time.monotonic(), ""
        try:
            if job.guarded:
                await self._run_guarded(job, now_ms)
            else:
                await job.work()
            state.due_ms = now_ms + job.interval_ms
        except StoreUnavailable as away:
            state.due_ms = now_ms + min(job.interval_ms, RETRY_MS)
            failure = type(away).__name__
            log.warning("job will be retried: the store is unavailable")
        except Exception as mistake:
            # One job's mistake must not keep the others from running.
            state.due_ms = now_ms + RETRY_MS
            failure = type(mistake).__name__
            log.exception("job failed and will be retried")
        took_s = time.monotonic() - began_s
        if self.metrics is not None:
            self.metrics.job_ran(job.name, done=not failure, duration_s=took_s, now_s=now_ms / 1000)
        took_ms = round(took_s * 1000)
        await self._note(state, JobResult(name=job.name, started_ms=now_ms, took_ms=took_ms, failure=failure))

    async def _note(self, state: _State, result: JobResult) -> None:
        """Keep how a run ended, for operators: once a minute for a job that runs all the time, unless it changed."""
        noted = state.noted
        if noted and noted.failure == result.failure and 0 <= result.started_ms - noted.started_ms < NOTED_MS:
            return
        state.noted = result
        # What operators miss for a minute is worth no failure of the runner.
        with contextlib.suppress(StoreUnavailable):
            await self.store.change(lambda stores: stores.jobs.save_result(result))

    async def _run_guarded(self, job: Job, now_ms: int) -> None:
        """Run a job that deletes, unless there is doubt about the clock. The first run ever only notes the time."""
        previous = next((run for run in await self.store.read.jobs.list_runs() if run.name == job.name), None)
        run = next_run(job.name, previous, now_ms)
        if run.held_until_ms > now_ms:
            structlog.get_logger().warning(
                "job is delayed: the clock has jumped", job=job.name, until_ms=run.held_until_ms
            )
        elif previous is not None:
            await job.work()
        await self.store.change(lambda stores: stores.jobs.save_run(run))


LEASE_MS = 30 * SECOND_MS
# Renewed as soon as less than this is left, which leaves many attempts while the store is slow.
RENEW_MS = 20 * SECOND_MS
# A wrong clock wrote any expiry further away than this. Respecting it would block all processes until then.
BELIEVABLE_MS = HOUR_MS


class Leadership:
    """One process's claim to a lease."""

    def __init__(self, name: str, *, store: Store[JobStores], clock: Clock) -> None:
        self._name = name
        self._store = store
        self._clock = clock
        self._owner = secrets.token_hex(8)
        self._expires_ms = 0

    async def hold(self) -> bool:
        """Take the lease if it is free, renew it if this process holds it; return whether this process holds it now."""
        now_ms = self._clock.now_ms()
        if RENEW_MS < self._expires_ms - now_ms <= LEASE_MS:
            return True
        # Read first: most processes are not the leader, and a read costs no write.
        found = await self._store.read.jobs.find_lease(self._name)
        if found and found.owner != self._owner and now_ms < found.expires_ms <= now_ms + BELIEVABLE_MS:
            self._expires_ms = 0
            return False
        mine = Lease(self._owner, now_ms + LEASE_MS)
        taken = await self._store.change(
            lambda stores: stores.jobs.take_lease(self._name, mine, now_ms=now_ms, believable_ms=now_ms + BELIEVABLE_MS)
        )
        self._expires_ms = mine.expires_ms if taken else 0
        return taken

    async def release(self) -> None:
        """Release the lease, so that another process can take it at once."""
        if self._expires_ms:
            self._expires_ms = 0
            await self._store.change(lambda stores: stores.jobs.release_lease(self._name, self._owner))
