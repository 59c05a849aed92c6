"""Timed jobs of agents: delete signatures, submissions, charges, handoffs and grants after the time they are kept."""

from functools import partial

from agentgate.agents.handoff.repository import GrantStore, HandoffStore
from agentgate.agents.signing.repository import ReplayStore
from agentgate.agents.submission_repository import SubmissionStore
from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, MINUTE_MS, Clock
from agentgate.lib.tasks.job import Job, delete_in_units

# Handoffs are stored as long as submissions, so that an agent learns that its handoff was redeemed.
HANDOFF_KEPT_MS = DAY_MS
GRANT_KEPT_MS = 30 * DAY_MS
HANDOFF_UNITS_PER_RUN = 100
ROWS_PER_UNIT = 1_000
# Five thousand a second: as many as are made, on a busy machine.
UNITS_PER_RUN = 300


def replay_jobs(replays: ReplayStore, clock: Clock) -> tuple[Job, ...]:
    """Return the job, guarded: with a wrong clock, a deleted signature could be used again."""
    return (Job(name="forget-replays", interval_ms=MINUTE_MS, work=lambda: delete_replays(replays, clock)),)


def handoff_jobs(handoffs: HandoffStore, grants: GrantStore, clock: Clock) -> tuple[Job, ...]:
    """Return the job, unguarded: a wrong clock does no harm here."""
    work = partial(delete_handoffs, handoffs, grants, clock)
    return (Job(name="forget-handoffs", interval_ms=MINUTE_MS, work=work, guarded=False),)


def submission_jobs(submissions: SubmissionStore, clock: Clock) -> tuple[Job, ...]:
    work = partial(delete_submissions, submissions, clock)
    return (Job(name="forget-submissions", interval_ms=10 * MINUTE_MS, work=work),)


async def delete_replays(replays: ReplayStore, clock: Clock) -> None:
    """Delete signatures that have expired."""
    await delete_in_units(
        lambda: replays.delete_replays(clock.now_ms(), most=ROWS_PER_UNIT), most=ROWS_PER_UNIT, units=UNITS_PER_RUN
    )


async def delete_submissions(submissions: SubmissionStore, clock: Clock) -> None:
    """Delete old submissions, and charges of years ago."""
    now_ms, most = clock.now_ms(), ROWS_PER_UNIT
    charged_before_ms = now_ms - limits.CHARGES_KEPT_DAYS * DAY_MS
    await delete_in_units(lambda: submissions.delete_submissions(now_ms, most=most), most=most, units=UNITS_PER_RUN)
    await delete_in_units(
        lambda: submissions.delete_charges(charged_before_ms, most=most), most=most, units=UNITS_PER_RUN
    )


async def delete_handoffs(handoffs: HandoffStore, grants: GrantStore, clock: Clock) -> None:
    """Delete the contents of ended handoffs, then handoffs and grants that ended long ago."""
    now_ms, most = clock.now_ms(), ROWS_PER_UNIT

    async def forget() -> int:
        gone = await handoffs.delete_handoffs(now_ms - HANDOFF_KEPT_MS, most=most)
        return gone + await grants.delete_grants(now_ms - GRANT_KEPT_MS, most=most)

    await handoffs.delete_summaries(now_ms)
    await delete_in_units(forget, most=most, units=HANDOFF_UNITS_PER_RUN)
