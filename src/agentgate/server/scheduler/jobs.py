"""The timed jobs: which there are, how often they run, and the runner that runs them in one process only.

Every job may be stopped at any point and run again. What a job deletes for good is guarded against a wrong clock.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from agentgate.events.ports import EventStore
from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.health import HealthWatch
from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.database import Conflict, Store, StoreUnavailable
from agentgate.lib.telemetry.metrics import Metrics
from agentgate.people.accounts.lifecycle import PURGE_MS
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.identity.repositories.operator_sessions import OperatorStores
from agentgate.people.outbox.deliver import Delivery
from agentgate.protection.agents.handoff.repository import GrantStore, HandoffStore
from agentgate.protection.agents.signing.repository import ReplayStore
from agentgate.protection.agents.submission_repository import SubmissionStore
from agentgate.protection.appeals.repository import AppealStore
from agentgate.protection.browser_check.ports import ChallengeStore
from agentgate.protection.scoring.feature_capture import expire_features
from agentgate.protection.scoring.ports import ScoringStores
from agentgate.protection.sites.repositories.sites import ActivityStore
from agentgate.protection.tokens.ports import RedemptionStore
from agentgate.server.scheduler.lease import Leadership
from agentgate.server.scheduler.repository import JobResult, JobRun, JobStores

LEASE = "jobs"
TICK_S = 2.0
# How long jobs that are under way may take to finish when the service stops.
GRACE_S = 3.0
RETRY_MS = MINUTE_MS
# How often the result of a job that runs all the time is noted while it stays the same.
NOTED_MS = MINUTE_MS

# One run deletes no more than this, so that a mistake is noticed before it is complete.
ACCOUNTS_PER_RUN = 50
ENTRIES_PER_UNIT = 5_000
# A day longer than the longest link lives.
BODY_KEPT_MS = (limits.INVITE_LINK_DAYS + 1) * DAY_MS
# Ended sessions are kept a while, so that their cookie answers `session_expired` and not `unauthorized`.
SESSION_KEPT_MS = 8 * DAY_MS
LINK_KEPT_MS = 30 * DAY_MS

# A challenge is remembered a while longer than it is good for, so that the page learns that it is too late.
CHALLENGE_KEPT_MS = 5 * MINUTE_MS
CHALLENGES_PER_UNIT = 5_000
# More than can be issued in the minute between two runs, by far.
CHALLENGE_UNITS_PER_RUN = 100

# A handoff is remembered as long as what it led to, so that its agent learns that it was redeemed.
HANDOFF_KEPT_MS = DAY_MS
GRANT_KEPT_MS = 30 * DAY_MS
HANDOFFS_PER_UNIT = 1_000
HANDOFF_UNITS_PER_RUN = 100

REDEMPTIONS_PER_UNIT = 1_000
# Five thousand a second: as many as are made, on a busy machine.
REDEMPTION_UNITS_PER_RUN = 300

# A clock that moves further than this between two runs may be wrong, and then so is everything that seems old.
JUMP_MS = 2 * DAY_MS
# So nothing is deleted for as long: time for somebody to notice, and for the clock to be put right.
HOLD_MS = 2 * DAY_MS

Work = Callable[[], Awaitable[object]]


class TimedStores(AccountStores, OperatorStores, JobStores, Protocol):
    """The ports that the jobs use."""

    @property
    def appeals(self) -> AppealStore: ...


@dataclass(frozen=True, kw_only=True)
class Job:
    """Something that is done again and again. With interval 0, whenever the runner looks."""

    name: str
    interval_ms: int
    work: Work
    # Guarded jobs delete: they note their runs, and wait when the clock has jumped.
    guarded: bool = True


def timed_jobs(
    store: Store[TimedStores], activity: ActivityStore, *, clock: Clock, delivery: Delivery | None
) -> tuple[Job, ...]:
    """Return the jobs of the service. Without a mail server, messages wait in the outbox."""
    jobs = (
        Job(name="purge-accounts", interval_ms=HOUR_MS, work=lambda: purge_accounts(store, activity, clock)),
        Job(name="clear-messages", interval_ms=10 * MINUTE_MS, work=lambda: clear_messages(store, clock)),
        Job(name="sweep", interval_ms=DAY_MS, work=lambda: sweep(store, clock)),
    )
    if delivery is None:
        return jobs
    return (Job(name="deliver-mail", interval_ms=0, work=delivery.deliver_due, guarded=False), *jobs)


def event_jobs(events: EventStore, *, clock: Clock, event_days: int, metric_days: int) -> tuple[Job, ...]:
    """Return the jobs that roll up events and forget them."""

    async def close_days() -> None:
        await events.close_days(now_ms=clock.now_ms())

    async def forget() -> None:
        today = clock.now_ms() // DAY_MS
        # The day that is only partly old enough is kept whole. Aggregates are never forgotten before their events.
        await events.forget(
            events_before_day=today - event_days, metrics_before_day=today - max(event_days, metric_days)
        )

    return (
        Job(name="close-days", interval_ms=10 * MINUTE_MS, work=close_days),
        Job(name="retention", interval_ms=HOUR_MS, work=forget),
    )


def scoring_jobs(store: Store[ScoringStores], events: EventStore, *, clock: Clock) -> tuple[Job, ...]:
    """Return the job that forgets feature vectors."""
    return (Job(name="expire-features", interval_ms=HOUR_MS, work=lambda: expire_features(store, events, clock)),)


def browser_jobs(challenges: ChallengeStore, *, clock: Clock) -> tuple[Job, ...]:
    """Return the job that forgets challenges. They are over within minutes by any clock, so nothing guards them."""

    async def forget() -> None:
        await forget_challenges(challenges, clock)

    return (Job(name="forget-challenges", interval_ms=MINUTE_MS, work=forget, guarded=False),)


def handoff_jobs(handoffs: HandoffStore, grants: GrantStore, *, clock: Clock) -> tuple[Job, ...]:
    """Return the job that forgets what agents wanted to send, and later that they asked. All of it is over by then."""

    async def forget() -> None:
        await forget_handoffs(handoffs, grants, clock)

    return (Job(name="forget-handoffs", interval_ms=MINUTE_MS, work=forget, guarded=False),)


def push_jobs(push: Push, watch: HealthWatch) -> tuple[Job, ...]:
    """Return the jobs that tell webhooks what happened."""
    return (
        Job(name="push-decisions", interval_ms=0, work=push.push_due, guarded=False),
        Job(name="push-health", interval_ms=5 * MINUTE_MS, work=watch.notice_changes, guarded=False),
    )


async def purge_accounts(store: Store[TimedStores], activity: ActivityStore, clock: Clock) -> None:
    """Remove accounts for good that were deleted long enough ago."""
    before_ms = clock.now_ms() - PURGE_MS
    for account_id in (await store.read.accounts.list_purgeable(before_ms))[:ACCOUNTS_PER_RUN]:
        try:
            # First what lies in another database, while the account still says which sites are meant. Nobody can
            # bring the account back any more, so this is never too early.
            await activity.forget_sites(account_id)
            await _purge_account(store, account_id, before_ms)
        except Conflict:
            # A row elsewhere still points at it. The others can go all the same.
            structlog.get_logger().exception("account not purged", account_id=account_id)


async def _purge_account(store: Store[TimedStores], account_id: str, before_ms: int) -> None:
    async def purge_trail(stores: TimedStores) -> int:
        return await stores.accounts.purge_trail(account_id, before_ms, most=ENTRIES_PER_UNIT)

    async def purge(stores: TimedStores) -> bool:
        await stores.configuration.bump()
        return await stores.accounts.purge_account(account_id, before_ms)

    while await store.change(purge_trail) == ENTRIES_PER_UNIT:
        pass
    if await store.change(purge):
        structlog.get_logger().info("account purged", account_id=account_id)


async def clear_messages(store: Store[TimedStores], clock: Clock) -> None:
    """Forget what messages said once their link is of no more use."""
    now_ms = clock.now_ms()

    async def clear(stores: TimedStores) -> None:
        await stores.outbox.clear_dead_bodies(now_ms)
        await stores.outbox.clear_bodies(now_ms - BODY_KEPT_MS)

    await store.change(clear)


def token_jobs(redemptions: RedemptionStore, replays: ReplayStore, *, clock: Clock) -> tuple[Job, ...]:
    """Return the job that forgets what was spent long ago. By a wrong clock, it could be spent again."""

    async def forget() -> None:
        await forget_redemptions(redemptions, clock)
        await forget_replays(replays, clock)

    return (Job(name="forget-redemptions", interval_ms=MINUTE_MS, work=forget),)


async def forget_redemptions(redemptions: RedemptionStore, clock: Clock) -> None:
    """Remove redemptions whose time is over, in units small enough for spending to get in between."""
    for _ in range(REDEMPTION_UNITS_PER_RUN):
        gone = await redemptions.forget_redemptions(clock.now_ms(), most=REDEMPTIONS_PER_UNIT)
        if gone < REDEMPTIONS_PER_UNIT:
            return


async def forget_replays(replays: ReplayStore, clock: Clock) -> None:
    """Remove signatures of agents that have expired, in units small enough for others to get in between."""
    for _ in range(REDEMPTION_UNITS_PER_RUN):
        if await replays.forget_replays(clock.now_ms(), most=REDEMPTIONS_PER_UNIT) < REDEMPTIONS_PER_UNIT:
            return


def submission_jobs(submissions: SubmissionStore, *, clock: Clock) -> tuple[Job, ...]:
    """Return the job that forgets old submissions and the ledger of years ago."""

    async def forget() -> None:
        await forget_submissions(submissions, clock)

    return (Job(name="forget-submissions", interval_ms=10 * MINUTE_MS, work=forget),)


async def forget_submissions(submissions: SubmissionStore, clock: Clock) -> None:
    """Remove what is over, in units small enough for others to get in between."""
    now_ms = clock.now_ms()
    for _ in range(REDEMPTION_UNITS_PER_RUN):
        if await submissions.forget_submissions(now_ms, most=REDEMPTIONS_PER_UNIT) < REDEMPTIONS_PER_UNIT:
            break
    for _ in range(REDEMPTION_UNITS_PER_RUN):
        gone = await submissions.forget_charges(now_ms - limits.CHARGES_KEPT_DAYS * DAY_MS, most=REDEMPTIONS_PER_UNIT)
        if gone < REDEMPTIONS_PER_UNIT:
            return


async def forget_challenges(challenges: ChallengeStore, clock: Clock) -> None:
    """Remove challenges that are over, in units small enough for others to get in between."""
    before_ms = clock.now_ms() - CHALLENGE_KEPT_MS
    for _ in range(CHALLENGE_UNITS_PER_RUN):
        if await challenges.forget_challenges(before_ms, most=CHALLENGES_PER_UNIT) < CHALLENGES_PER_UNIT:
            return


async def forget_handoffs(handoffs: HandoffStore, grants: GrantStore, clock: Clock) -> None:
    """Remove contents of handoffs that are over, then handoffs and grants that ended long ago, in small units."""
    now_ms = clock.now_ms()
    await handoffs.forget_summaries(now_ms)
    for _ in range(HANDOFF_UNITS_PER_RUN):
        gone = await handoffs.forget_handoffs(now_ms - HANDOFF_KEPT_MS, most=HANDOFFS_PER_UNIT)
        gone += await grants.forget_grants(now_ms - GRANT_KEPT_MS, most=HANDOFFS_PER_UNIT)
        if gone < HANDOFFS_PER_UNIT:
            return


async def sweep(store: Store[TimedStores], clock: Clock) -> None:
    """Forget sessions and links that ended long ago, and old appeals."""
    now_ms = clock.now_ms()

    async def forget(stores: TimedStores) -> None:
        await stores.operator_sessions.sweep_sessions(now_ms - SESSION_KEPT_MS)
        await stores.user_sessions.sweep_sessions(now_ms - SESSION_KEPT_MS)
        await stores.links.sweep_links(now_ms - LINK_KEPT_MS)
        await stores.appeals.forget_appeals(now_ms - limits.APPEAL_KEPT_DAYS * DAY_MS)

    await store.change(forget)


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
    """What the runner knows of a job."""

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
    metrics: Metrics | None = None
    _states: dict[str, _State] = field(default_factory=dict)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        """Make what belongs to this runner alone."""
        self._states = {job.name: _State() for job in self.jobs}
        self._leadership = Leadership(LEASE, store=self.store, clock=self.clock)

    def start(self) -> None:
        """Begin to look for work."""
        self._loop = asyncio.create_task(self._look_again())

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
            structlog.get_logger().info("lease not released, it will run out")

    async def run_due(self) -> None:
        """Begin every job that is due, if this process may, and return when all of them are done."""
        await self._begin_due()
        await asyncio.gather(*self._under_way())

    def _under_way(self) -> list[asyncio.Task[None]]:
        return [state.task for state in self._states.values() if state.task is not None and not state.task.done()]

    async def _look_again(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._begin_due()
            except StoreUnavailable:
                structlog.get_logger().warning("jobs wait, the store is away")
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
            log.warning("job will be tried again, the store is away")
        except Exception as mistake:
            # One job's mistake must not keep the others from running.
            state.due_ms = now_ms + RETRY_MS
            failure = type(mistake).__name__
            log.exception("job failed and will be tried again")
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
            structlog.get_logger().warning("job waits, the clock has jumped", job=job.name, until_ms=run.held_until_ms)
        elif previous is not None:
            await job.work()
        await self.store.change(lambda stores: stores.jobs.save_run(run))
