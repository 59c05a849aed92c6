"""The timed job of the browser check: delete challenges that are over."""

from functools import partial

from agentgate.lib.clock import MINUTE_MS, Clock
from agentgate.lib.tasks.job import Job, delete_in_units
from agentgate.protection.browser_check.repository import ChallengeStore

# A challenge is remembered a while longer than it is good for, so that the page learns that it is too late.
CHALLENGE_KEPT_MS = 5 * MINUTE_MS
CHALLENGES_PER_UNIT = 5_000
# More than can be issued in the minute between two runs, by far.
CHALLENGE_UNITS_PER_RUN = 100


def challenge_jobs(challenges: ChallengeStore, clock: Clock) -> tuple[Job, ...]:
    """Return the job. Challenges are over within minutes by any clock, so nothing guards them."""
    work = partial(forget_challenges, challenges, clock)
    return (Job(name="forget-challenges", interval_ms=MINUTE_MS, work=work, guarded=False),)


async def forget_challenges(challenges: ChallengeStore, clock: Clock) -> None:
    """Delete challenges that are over."""
    before_ms, most = clock.now_ms() - CHALLENGE_KEPT_MS, CHALLENGES_PER_UNIT
    await delete_in_units(
        lambda: challenges.forget_challenges(before_ms, most=most), most=most, units=CHALLENGE_UNITS_PER_RUN
    )
