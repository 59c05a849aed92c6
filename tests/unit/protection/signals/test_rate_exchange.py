"""Several workers that count one visitor keep its limit, however its requests are spread and whatever is restarted."""

import asyncio
import random

import pytest

from agentgate.lib.clock import MINUTE_MS, FixedClock
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.protection.signals.rate_exchange import RateExchange, SharedCount
from agentgate.protection.signals.rates import RateWindows
from agentgate.storage.shared_cache.memory import MemorySharedCache

START_MS = 1_000 * MINUTE_MS
SPREADS = {"even": (1, 1, 1, 1), "one": (1, 0, 0, 0), "uneven": (90, 5, 3, 2), "halves": (1, 1, 0, 0)}


class Shared(MemorySharedCache):
    """A store that several workers share, in one process; it counts how often a worker waited for it."""

    asked = 0

    def exchange_now(self, additions, *, ttl_ms):
        self.asked += 1
        return super().exchange_now(additions, ttl_ms=ttl_ms)


def fleet(shared, workers):
    return [RateWindows(exchange=RateExchange(shared, workers=workers)) for _ in range(workers)]


def allowed(windows, worker, times=1, *, visitor=7, now_ms=START_MS):
    rates = (windows[worker].count(1, visitor, f"192.0.2.{visitor}", now_ms) for _ in range(times))
    return sum(rate.visitor <= GATEWAY_REQUESTS_PER_MINUTE for rate in rates)


@pytest.mark.parametrize("workers", [2, 3, 4, 8])
@pytest.mark.parametrize("spread", SPREADS)
def test_a_burst_faster_than_any_sync_keeps_the_limit(workers, spread):
    windows, chance = fleet(Shared(FixedClock(START_MS)), workers), random.Random(workers)
    weights = [*SPREADS[spread], 1, 1, 1, 1][:workers]

    passed = sum(allowed(windows, worker) for worker in chance.choices(range(workers), weights, k=3_000))

    assert 1_140 <= passed <= 1_260


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_workers_that_stop_in_the_middle_of_a_burst_hide_little(workers):
    windows = fleet(Shared(FixedClock(START_MS)), workers)

    # Each of them with as many as it may keep to itself for longest.
    passed = sum(allowed(windows, worker, 420) for worker in range(workers)) + allowed(windows, 0, 2_000)

    assert 1_140 <= passed <= 1_260


def test_a_visitor_far_from_every_limit_is_never_waited_for():
    shared = Shared(FixedClock(START_MS))
    windows = fleet(shared, 4)

    for visitor in range(200):
        for each in windows:
            for _ in range(10):
                each.count(1, visitor, f"192.0.{visitor}.1", START_MS)

    assert shared.asked == 0


def test_past_the_limit_no_request_is_waited_for():
    shared = Shared(FixedClock(START_MS))
    windows = fleet(shared, 2)
    allowed(windows, 0, 2_500)
    asked = shared.asked

    assert allowed(windows, 0, 10_000) == 0
    assert shared.asked - asked < 100


@pytest.mark.anyio
async def test_the_minute_before_is_completed_after_its_end():
    windows = fleet(Shared(FixedClock(START_MS)), 2)
    allowed(windows, 0, 700)
    allowed(windows, 1, 480)
    for each in windows:
        each.count(1, 7, "192.0.2.7", START_MS + MINUTE_MS)

    for _ in range(2):
        for each in windows:
            await each.sync()

    rates = [each.read(1, 7, "192.0.2.7", START_MS + MINUTE_MS).visitor for each in windows]
    assert all(1_180 <= rate <= 1_182 for rate in rates)


@pytest.mark.anyio
async def test_a_restarted_store_forgets_nobody():
    clock = FixedClock(START_MS)
    shared = Shared(clock)
    windows = fleet(shared, 2)
    assert allowed(windows, 0, 800) + allowed(windows, 1, 300) == 1_100
    for each in windows:
        await each.sync()

    await shared.close()
    passed = allowed(windows, 0, 500) + allowed(windows, 1, 500)

    # What one worker had told and the other had not yet learnt is lost with the store.
    assert 1_140 <= 1_100 + passed <= 1_260


@pytest.mark.anyio
async def test_a_worker_that_knew_nothing_learns_from_a_store_made_anew():
    shared = Shared(FixedClock(START_MS))
    windows = fleet(shared, 2)
    allowed(windows, 0, 1_300)
    await windows[0].sync()

    await shared.close()
    shared.incarnation += 1
    # Two: the first one meets the new store with nothing to tell.
    await windows[0].sync()
    await windows[0].sync()

    assert allowed(windows, 1, 300) <= 40


@pytest.mark.anyio
async def test_telling_a_store_made_anew_counts_nothing_twice():
    class Replaced(Shared):
        async def exchange(self, additions, *, ttl_ms):
            self.incarnation = 2
            return await super().exchange(additions, ttl_ms=ttl_ms)

    shared = Replaced(FixedClock(START_MS))
    exchange = RateExchange(shared, workers=2)
    count = SharedCount(own=30, told=20, total=25, total_told=20, others=5)
    await exchange.tell(1, [(7, count)])

    assert (count.told, count.total, count.others, exchange.is_told(count)) == (10, 10, 5, False)
    await exchange.tell(1, [(7, count)])
    assert (count.told, count.total, count.others, exchange.is_told(count)) == (30, 30, 5, True)


@pytest.mark.anyio
async def test_requests_that_are_being_told_are_not_told_twice():
    class Slow(Shared):
        async def exchange(self, additions, *, ttl_ms):
            counts = super().exchange_now(additions, ttl_ms=ttl_ms)
            await asyncio.sleep(0)
            return counts

    shared = Slow(FixedClock(START_MS))
    exchange, count = RateExchange(shared, workers=2), SharedCount(own=30)
    telling = asyncio.ensure_future(exchange.tell(1, [(7, count)]))
    await asyncio.sleep(0)
    count.own += 25
    exchange.ask(1, 7, count, at=55, marks=(60, 1_201))
    await telling

    assert (count.own, count.told, count.total, count.others) == (55, 55, 55, 0)
