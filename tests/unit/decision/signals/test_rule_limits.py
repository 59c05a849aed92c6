"""Rates of rules: exact on one worker, near enough on several, and bounded in memory."""

import asyncio
import tracemalloc

import pytest

from agentgate.decision.rates.rule_limits import SETS, WAYS, RuleLimits
from agentgate.lib.clock import FixedClock
from agentgate.lib.database import StoreUnavailable
from agentgate.sites.rules.rate import RuleLimit
from agentgate.storage.shared_cache.memory import MemorySharedCache

START_MS = 1_000_000_000
pytestmark = pytest.mark.anyio


def limit(more_than=30, within=600, tag=5):
    return RuleLimit(2, tag, "visitor", more_than, within * 100)


def passed(limits, rule, times, now_ms, visitor=7):
    return sum(not limits.is_over(rule, 1, visitor, now_ms) for _ in range(times))


@pytest.mark.parametrize("within", [1, 10, 600, 3_600])
async def test_no_window_of_its_length_has_more_than_the_limit(within):
    limits, rule = RuleLimits(), limit(within=within)
    for first_ms in (0, 1, rule.slot_ms // 2, rule.slot_ms - 1):
        start_ms = START_MS + first_ms
        assert passed(limits, rule, 30, start_ms, visitor=first_ms) == 30
        assert passed(limits, rule, 1, start_ms + within * 1_000 - 1, visitor=first_ms) == 0


async def test_requests_count_for_a_window_and_at_most_10_percent_longer():
    limits, rule = RuleLimits(), limit()
    assert passed(limits, rule, 31, START_MS) == 30
    assert passed(limits, rule, 1, START_MS + 599_999) == 0
    assert passed(limits, rule, 1, START_MS + 660_000) == 1


async def test_rules_sites_and_visitors_are_counted_apart():
    limits = RuleLimits()
    assert passed(limits, limit(), 40, START_MS) == 30
    assert passed(limits, limit(tag=6), 40, START_MS) == 30
    assert passed(limits, limit(), 40, START_MS, visitor=8) == 30
    assert not limits.is_over(limit(), 2, 7, START_MS)
    assert passed(limits, limit(), 1, START_MS, visitor="198.51.100") == 1


async def test_a_clock_that_is_set_back_deletes_no_count():
    limits, rule = RuleLimits(), limit()
    assert passed(limits, rule, 30, START_MS) == 30
    assert passed(limits, rule, 5, START_MS - 3_600_000) == 0


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("more_than", [30, 300, 3_000])
async def test_requests_spread_over_ten_seconds_exceed_the_limit_by_five_percent_at_most(processes, more_than):
    clock = FixedClock(START_MS)
    shared = MemorySharedCache(clock)
    fleet = [RuleLimits(shared) for _ in range(processes)]
    rule = limit(more_than)

    found = 0
    for number in range(more_than * 2):
        found += passed(fleet[number % processes], rule, 1, START_MS + number * 10_000 // (more_than * 2))
        for _ in range(6):
            await asyncio.sleep(0)
        if number % (more_than // 10) == 0:
            for each in fleet:
                await each.sync()

    assert more_than * 0.95 <= found <= more_than * 1.05


async def test_a_burst_that_is_shorter_than_the_exchange_has_one_limit_in_each_process():
    shared = MemorySharedCache(FixedClock(START_MS))
    fleet = [RuleLimits(shared) for _ in range(2)]

    assert [passed(each, limit(), 50, START_MS) for each in fleet] == [30, 30]
    for each in fleet:
        await each.sync()
    for each in fleet:
        await each.sync()
    assert [passed(each, limit(), 5, START_MS + 1_000) for each in fleet] == [0, 0]


async def test_without_the_shared_cache_each_process_keeps_its_own_counts_and_tells_them_later():
    clock = FixedClock(START_MS)

    class Failing(MemorySharedCache):
        is_down = True

        async def exchange(self, additions, *, ttl_ms):
            if self.is_down:
                raise StoreUnavailable("down")
            return await super().exchange(additions, ttl_ms=ttl_ms)

    shared = Failing(clock)
    one, other = RuleLimits(shared), RuleLimits(shared)
    assert passed(one, limit(), 25, START_MS) == 25
    await asyncio.sleep(0)
    await one.sync()
    shared.is_down = False
    await one.sync()
    assert passed(other, limit(), 1, START_MS + 1_000) == 1
    await other.sync()
    await other.sync()
    assert passed(other, limit(), 40, START_MS + 1_000) == 4


async def test_visitors_without_end_take_bounded_memory_and_displace_no_one_near_a_limit():
    limits, rule = RuleLimits(), limit(within=3_600)
    assert passed(limits, rule, 30, START_MS) == 30

    tracemalloc.start()
    for visitor in range(3 * SETS * WAYS):
        limits.is_over(rule, 1, visitor * 0x9E37_79B9_7F4A_7C15 % 2**64, START_MS + visitor // 10)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert len(limits) <= SETS * WAYS
    assert size < 40_000_000
    assert limits.is_over(rule, 1, 7, START_MS + 100_000)
