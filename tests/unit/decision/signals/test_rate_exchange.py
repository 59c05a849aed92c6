"""Workers of several machines that tell Redis what they counted, soon where a limit is near."""

import asyncio

import pytest

from agentgate.decision.rates.exchange import RateExchange
from agentgate.decision.rates.sharing import SharedCount
from agentgate.decision.rates.windows import RateWindows
from agentgate.lib.clock import MINUTE_MS, FixedClock
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.storage.shared_cache.memory import MemorySharedCache

START_MS = 1_000 * MINUTE_MS
pytestmark = pytest.mark.anyio


class Shared(MemorySharedCache):
    """A store that several workers share, in one process; it counts the additions it received."""

    told = 0

    async def exchange(self, additions, *, ttl_ms):
        self.told += len(additions)
        return await super().exchange(additions, ttl_ms=ttl_ms)


class Worker:
    def __init__(self, shared, workers):
        self.exchange = RateExchange(shared, workers=workers)
        self.windows = RateWindows(sharing=self.exchange)

    async def sync(self):
        await self.windows.sync(self.exchange)


def fleet(shared, workers):
    return [Worker(shared, workers) for _ in range(workers)]


async def allowed(worker, times=1, *, visitor=7, now_ms=START_MS):
    passed = 0
    for _ in range(times):
        rates = worker.windows.count(1, visitor, f"192.0.2.{visitor}", now_ms)
        passed += rates.visitor <= GATEWAY_REQUESTS_PER_MINUTE
        # Another task sends the counts that are due soon.
        for _ in range(4):
            await asyncio.sleep(0)
    return passed


@pytest.mark.parametrize("workers", [2, 3, 4])
async def test_a_burst_between_two_syncs_keeps_the_limit(workers):
    fleet_of_all = fleet(Shared(FixedClock(START_MS)), workers)

    passed = 0
    for number in range(3_000):
        passed += await allowed(fleet_of_all[number % workers])

    assert 1_140 <= passed <= 1_260


async def test_a_visitor_far_from_every_limit_is_reported_with_the_others():
    shared = Shared(FixedClock(START_MS))
    workers = fleet(shared, 4)

    for visitor in range(50):
        for each in workers:
            # Each visitor has a separate network.
            for _ in range(8):
                each.windows.count(1, visitor, f"192.0.{visitor}.1", START_MS)
    await asyncio.sleep(0)

    assert shared.told == 0


async def test_past_the_limit_hardly_anything_is_reported():
    shared = Shared(FixedClock(START_MS))
    workers = fleet(shared, 2)
    await allowed(workers[0], 2_500)
    told = shared.told

    assert await allowed(workers[0], 10_000) == 0
    assert shared.told - told < 100


async def test_the_minute_before_is_completed_after_its_end():
    workers = fleet(Shared(FixedClock(START_MS)), 2)
    await allowed(workers[0], 700)
    await allowed(workers[1], 480)
    for each in workers:
        each.windows.count(1, 7, "192.0.2.7", START_MS + MINUTE_MS)

    for _ in range(2):
        for each in workers:
            await each.sync()

    rates = [each.windows.read(1, 7, "192.0.2.7", START_MS + MINUTE_MS).visitor for each in workers]
    assert all(1_180 <= rate <= 1_182 for rate in rates)


async def test_a_flushed_store_discards_no_one():
    shared = Shared(FixedClock(START_MS))
    workers = fleet(shared, 2)
    assert await allowed(workers[0], 800) + await allowed(workers[1], 300) == 1_100
    for each in workers:
        await each.sync()

    await shared.close()
    passed = await allowed(workers[0], 500) + await allowed(workers[1], 500)

    # Counts that one worker has sent and the other has not yet received are lost with the store.
    assert 1_140 <= 1_100 + passed <= 1_260


async def test_telling_a_flushed_store_counts_nothing_twice():
    exchange = RateExchange(Shared(FixedClock(START_MS)), workers=2)
    count = SharedCount(key=7, own=30, told=20, total=25, others=5)

    await exchange.tell(1, [count])
    assert (count.told, count.total, count.others) == (10, 10, 5)
    await exchange.tell(1, [count])
    assert (count.told, count.total, count.others) == (30, 30, 5)


async def test_requests_that_are_being_told_are_not_reported_twice():
    class Slow(Shared):
        async def exchange(self, additions, *, ttl_ms):
            counts = await super().exchange(additions, ttl_ms=ttl_ms)
            await asyncio.sleep(0)
            return counts

    shared = Slow(FixedClock(START_MS))
    exchange, count = RateExchange(shared, workers=2), SharedCount(key=7, own=30)
    telling = asyncio.ensure_future(exchange.tell(1, [count]))
    await asyncio.sleep(0)
    count.own += 25
    await asyncio.gather(telling, exchange.tell(1, [count]))

    assert (count.own, count.told, count.total, count.others) == (55, 55, 55, 0)
