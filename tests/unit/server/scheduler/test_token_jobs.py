"""The jobs that delete used tokens and nonces: never early, for any clock, and not while the store is unavailable."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentgate.agents.jobs import replay_jobs
from agentgate.agents.signing.repository import ReplayStore
from agentgate.browser_check.jobs import token_jobs
from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.server.scheduler.jobs import JobRunner
from agentgate.server.stores.unit_of_work import SqlStore
from tests.support.service import NOON_MS
from tests.unit.server.scheduler.timed import empty_store, pass_time

pytestmark = pytest.mark.anyio

SITE = "st_0123456789abcdef"
KEPT_MS = DAY_MS + HOUR_MS


class Spent:
    """A receipt and a signature that were used, and the jobs that delete their records, after a first run."""

    def __init__(self, store: SqlStore, clock: FixedClock) -> None:
        self.clock = clock
        self.redemptions, self.replays = RedemptionStore(store._database), ReplayStore(store._database)
        its_jobs = token_jobs(self.redemptions, clock) + replay_jobs(self.replays, clock)
        self.running = JobRunner(its_jobs, store=store, clock=clock)

    async def begin(self) -> "Spent":
        await self.running.run_due()
        assert await self.use() == (True, True)
        return self

    async def use(self) -> tuple[bool, bool]:
        """Use both; return for each whether the store accepts it as unused."""
        until_ms = NOON_MS + KEPT_MS
        return (
            await self.redemptions.spend(SITE, "rcp_a", Redemption(), issued_ms=NOON_MS, kept_until_ms=until_ms),
            await self.replays.remember(b"nonce", kept_until_ms=until_ms),
        )


@pytest.fixture
async def spent(tmp_path: Path) -> AsyncIterator[Spent]:
    clock = FixedClock(NOON_MS)
    async with empty_store(tmp_path, clock) as store:
        yield await Spent(store, clock).begin()


async def test_what_was_used_is_discarded_after_its_time_and_not_before(spent: Spent) -> None:
    await pass_time(spent.running, spent.clock, hours=25)
    assert await spent.use() == (False, False)

    await pass_time(spent.running, spent.clock, hours=1)
    assert await spent.use() == (True, True)


async def test_after_a_jump_of_the_clock_nothing_is_discarded_that_may_come_again(spent: Spent) -> None:
    spent.clock.advance(days=10)
    await spent.running.run_due()
    spent.clock.advance(days=-10)
    await spent.running.run_due()

    assert await spent.use() == (False, False)
