"""The timed job of tokens: delete expired redemptions. With a wrong clock, a token could be redeemed again."""

from agentgate.browser_check.tokens.repository import RedemptionStore
from agentgate.lib.clock import MINUTE_MS, Clock
from agentgate.lib.tasks.job import Job, delete_in_units

REDEMPTIONS_PER_UNIT = 1_000
# Five thousand a second: as many as are made, on a busy machine.
REDEMPTION_UNITS_PER_RUN = 300


def token_jobs(redemptions: RedemptionStore, clock: Clock) -> tuple[Job, ...]:

    async def forget() -> None:
        await delete_in_units(
            lambda: redemptions.forget_redemptions(clock.now_ms(), most=REDEMPTIONS_PER_UNIT),
            most=REDEMPTIONS_PER_UNIT,
            units=REDEMPTION_UNITS_PER_RUN,
        )

    return (Job(name="forget-redemptions", interval_ms=MINUTE_MS, work=forget),)
