"""The timed jobs of the browser check: delete expired challenges and redemptions."""

from functools import partial

from agentgate.browser_check.repository import ChallengeStore
from agentgate.browser_check.tokens.repository import RedemptionStore
from agentgate.lib.clock import MINUTE_MS, Clock
from agentgate.lib.tasks.job import Job, delete_in_units

# Expired challenges are stored a while longer, so that the page learns that its challenge has expired.
CHALLENGE_KEPT_MS = 5 * MINUTE_MS
CHALLENGES_PER_UNIT = 5_000
# More than can be issued in the minute between two runs, by far.
CHALLENGE_UNITS_PER_RUN = 100
REDEMPTIONS_PER_UNIT = 1_000
# Five thousand a second: as many as are made, on a busy machine.
REDEMPTION_UNITS_PER_RUN = 300


def challenge_jobs(challenges: ChallengeStore, clock: Clock) -> tuple[Job, ...]:
    """Return the job, unguarded: challenges live for minutes, so a wrong clock does no harm."""
    work = partial(delete_challenges, challenges, clock)
    return (Job(name="forget-challenges", interval_ms=MINUTE_MS, work=work, guarded=False),)


def token_jobs(redemptions: RedemptionStore, clock: Clock) -> tuple[Job, ...]:
    """Return the job, guarded: with a wrong clock, a token could be redeemed again."""
    return (
        Job(name="forget-redemptions", interval_ms=MINUTE_MS, work=partial(delete_redemptions, redemptions, clock)),
    )


async def delete_challenges(challenges: ChallengeStore, clock: Clock) -> None:
    before_ms, most = clock.now_ms() - CHALLENGE_KEPT_MS, CHALLENGES_PER_UNIT
    await delete_in_units(
        lambda: challenges.delete_challenges(before_ms, most=most), most=most, units=CHALLENGE_UNITS_PER_RUN
    )


async def delete_redemptions(redemptions: RedemptionStore, clock: Clock) -> None:
    now_ms, most = clock.now_ms(), REDEMPTIONS_PER_UNIT
    await delete_in_units(
        lambda: redemptions.forget_redemptions(now_ms, most=most), most=most, units=REDEMPTION_UNITS_PER_RUN
    )
