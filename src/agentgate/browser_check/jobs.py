"""The timed job of the browser check: delete expired challenges."""

from functools import partial

from agentgate.browser_check.repository import ChallengeStore
from agentgate.lib.clock import MINUTE_MS, Clock
from agentgate.lib.tasks.job import Job, delete_in_units

# Expired challenges are stored a while longer, so that the page learns that its challenge has expired.
CHALLENGE_KEPT_MS = 5 * MINUTE_MS
CHALLENGES_PER_UNIT = 5_000
# More than can be issued in the minute between two runs, by far.
CHALLENGE_UNITS_PER_RUN = 100


def challenge_jobs(challenges: ChallengeStore, clock: Clock) -> tuple[Job, ...]:
    """Return the job, unguarded: challenges live for minutes, so a wrong clock does no harm."""
    work = partial(delete_challenges, challenges, clock)
    return (Job(name="forget-challenges", interval_ms=MINUTE_MS, work=work, guarded=False),)


async def delete_challenges(challenges: ChallengeStore, clock: Clock) -> None:
    before_ms, most = clock.now_ms() - CHALLENGE_KEPT_MS, CHALLENGES_PER_UNIT
    await delete_in_units(
        lambda: challenges.delete_challenges(before_ms, most=most), most=most, units=CHALLENGE_UNITS_PER_RUN
    )
