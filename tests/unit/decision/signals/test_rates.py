"""Rate windows of one worker and of several, in memory and on Redis."""

import gc
import random

import pytest
from msgspec import Struct, structs

from agentgate.browser_check.budgets import PER_HOUR
from agentgate.decision.rates.board import board_bytes, open_boards
from agentgate.decision.rates.exchange import RateExchange
from agentgate.decision.rates.part_budget import PER_PAGE
from agentgate.decision.rates.windows import (
    CALLS_PER_MINUTE,
    FILES_PER_MINUTE,
    FREE_FILES_PER_MINUTE,
    MOST_RESERVED,
    NAME_PER_MINUTE,
    NO_WINDOW,
    REPEATS_PER_MINUTE,
    SILENT_CLEARANCES,
    VISITOR_HIGH,
    Counted,
    RateWindows,
)
from agentgate.decision.signals.facts import VISITOR_EXTREME, PartState, Rates
from agentgate.http.address import subnet_of
from agentgate.lib.clock import MINUTE_MS, FixedClock
from agentgate.lib.database import StoreUnavailable
from agentgate.storage.shared_cache.memory import MemorySharedCache
from agentgate.storage.shared_cache.redis import RedisSharedCache

START_MS = 1_000 * MINUTE_MS
VISITOR = 0x1234
HERE = "192.0.2.1"


def counted(windows, times, *, site=1, visitor=VISITOR, address=HERE, now_ms=START_MS):
    return [windows.count(site, visitor, address, now_ms) for _ in range(times)][-1]


@pytest.fixture(params=["memory", "redis"])
async def shared_cache(request):
    if request.param == "memory":
        store = MemorySharedCache(FixedClock(START_MS))
    else:
        store = RedisSharedCache(request.getfixturevalue("redis_url"), timeout_s=2)
    yield store
    await store.close()


def test_visitor_and_network_are_counted():
    windows = RateWindows()

    counted(windows, 2)

    assert counted(windows, 1, visitor=5, address="192.0.2.200") == Rates(visitor=1, network=3)


def test_sites_do_not_count_for_each_other():
    windows = RateWindows()
    counted(windows, 9)

    assert counted(windows, 1, site=2) == Rates(visitor=1, network=1)


def test_the_minute_slides():
    windows = RateWindows()
    counted(windows, 60)

    assert counted(windows, 1, now_ms=START_MS + MINUTE_MS + MINUTE_MS // 2).visitor == 1 + 30


def test_two_minutes_later_all_is_discarded():
    windows = RateWindows()
    counted(windows, 60)

    assert counted(windows, 1, now_ms=START_MS + 2 * MINUTE_MS) == Rates()


def test_a_clock_that_was_set_back_continues_counting():
    windows = RateWindows()
    counted(windows, 5)

    assert counted(windows, 1, now_ms=START_MS - MINUTE_MS).visitor == 6


def test_a_returning_visitor_is_counted_as_everyone():
    chance, now_ms = random.Random(3), START_MS
    one, other = RateWindows(most_keys=20), RateWindows(most_keys=20)
    met = {}
    for _ in range(3_000):
        site, visitor, address = chance.choice((1, 2)), chance.randrange(5), chance.choice((HERE, "192.0.2.9", "::1"))
        now_ms += chance.choice((0, 10, 2_000, 70_000) if chance.random() < 0.1 else (0, 10))
        again = met.setdefault((site, visitor, address), Counted(site, visitor, address, NO_WINDOW))

        if chance.random() < 0.2:
            # Some requests are counted without the visitor's earlier entry.
            assert one.count(site, visitor, address, now_ms) == other.count(site, visitor, address, now_ms)
        else:
            assert Rates(*one.count_again(again, now_ms)) == other.count(site, visitor, address, now_ms)
        assert len(one) == len(other)


def test_a_visitor_that_never_returns_keeps_no_minute_in_memory():
    windows, met = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW)
    windows.count_again(met, START_MS)
    for number in range(100):
        windows.count(1, number, "198.51.100.7", START_MS)
    windows.count(1, 1, "198.51.100.7", START_MS + 3 * MINUTE_MS)
    gc.collect()

    held, seen = [met], set()
    while held:
        each = held.pop()
        if id(each) not in seen and not isinstance(each, type):
            seen.add(id(each))
            held += structs.astuple(each) if isinstance(each, Struct) else gc.get_referents(each)
    assert len(seen) < 20


def test_memory_is_bounded():
    windows = RateWindows(most_keys=1_000)
    for number in range(5_000):
        windows.count(1, number, f"10.{number >> 8}.{number & 255}.1", START_MS)

    assert len(windows) <= 1_001


def test_networks_are_a_24_and_a_64():
    assert subnet_of("192.0.2.1") == subnet_of("192.0.2.254") != subnet_of("192.0.3.1")
    assert subnet_of("2001:db8::1") == subnet_of("2001:db8::ffff") != subnet_of("2001:db8:0:1::1")
    assert subnet_of("unix") == "unix"
    assert subnet_of("::g") == "::g"


class Worker:
    """A worker that tells a store what it counted."""

    def __init__(self, shared_cache):
        self.exchange = RateExchange(shared_cache, workers=2)
        self.windows = RateWindows(sharing=self.exchange)
        self.count = self.windows.count

    async def sync(self):
        await self.windows.sync(self.exchange)


def two_workers(shared_cache):
    return [Worker(shared_cache) for _ in range(2)]


@pytest.mark.anyio
async def test_two_workers_see_the_sum(shared_cache):
    one, other = two_workers(shared_cache)
    counted(one, 10)
    counted(other, 20)

    await one.sync()
    await other.sync()
    assert counted(other, 1) == Rates(visitor=31, network=31)

    counted(one, 1)
    await one.sync()
    assert counted(one, 1) == Rates(visitor=32, network=32)


@pytest.mark.anyio
async def test_syncing_again_counts_nothing_twice(shared_cache):
    one, other = two_workers(shared_cache)
    counted(one, 10)
    counted(other, 5)
    for _ in range(3):
        await one.sync()
        await other.sync()

    assert counted(other, 1).visitor == 16


@pytest.mark.anyio
async def test_what_others_sent_slides_out_with_the_minute(shared_cache):
    one, other = two_workers(shared_cache)
    counted(one, 30)
    counted(other, 30)
    await one.sync()
    await other.sync()

    assert counted(other, 1, now_ms=START_MS + MINUTE_MS).visitor == 61


@pytest.mark.anyio
async def test_rare_visitors_are_not_worth_a_call():
    clock = FixedClock(START_MS)
    store = MemorySharedCache(clock)
    worker = Worker(store)
    counted(worker, 2)

    await worker.sync()

    assert await store.get(f"rate:{START_MS // MINUTE_MS}:{1 << 64 | VISITOR}") is None


@pytest.mark.anyio
async def test_a_store_that_is_unavailable_is_reported_the_next_time():
    class Shared(MemorySharedCache):
        is_away = True

        async def exchange(self, additions, *, ttl_ms):
            if self.is_away:
                raise StoreUnavailable("away")
            return await super().exchange(additions, ttl_ms=ttl_ms)

    shared = Shared(FixedClock(START_MS))
    one, other = two_workers(shared)
    counted(one, 10)
    counted(other, 5)

    await one.sync()
    assert counted(one, 1).visitor == 11
    shared.is_away = False
    await one.sync()
    await other.sync()

    assert counted(other, 1).visitor == 17


def test_reading_the_rates_counts_nothing():
    windows = RateWindows()
    counted(windows, 3)

    assert [windows.read(1, VISITOR, HERE, START_MS) for _ in range(5)] == [Rates(visitor=3, network=3)] * 5
    assert counted(windows, 1) == Rates(visitor=4, network=4)


def test_the_rates_that_are_read_fade_like_those_that_are_counted():
    windows = RateWindows()
    counted(windows, 40)

    assert windows.read(1, VISITOR, HERE, START_MS + MINUTE_MS * 3 // 2) == Rates(visitor=20, network=20)
    assert windows.read(1, VISITOR, HERE, START_MS + 3 * MINUTE_MS) == Rates()


TAG, OTHER_TAG = 7, 8


def test_workers_learn_of_pages_and_no_other_browser_has_their_parts():
    memory = memoryview(bytearray(board_bytes(2)))
    boards = [open_boards(memory, own=own, secret=b"known to the workers") for own in range(2)]
    workers = [RateWindows(sharing=each.rates, pages=each.pages) for each in boards]

    def paid(worker, visitor, tag):
        taken = Counted(1, visitor, "192.0.2.7", NO_WINDOW)
        return [worker.count_part(taken, tag, None, START_MS)[2] for _ in range(60)].count(PartState.PAID)

    assert [paid(worker, 7, TAG) for worker in workers] == [0, 0]

    workers[0].earn(Counted(1, 8, "192.0.2.8", NO_WINDOW), TAG, START_MS)
    assert (paid(workers[1], 8, OTHER_TAG), paid(workers[1], 8, TAG)) == (0, PER_PAGE)


def test_another_browser_of_a_visitor_does_not_use_its_subresources():
    windows, visitor = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW)
    windows.earn(visitor, TAG, START_MS)

    states = [windows.count_part(visitor, tag, None, START_MS)[2] for tag in (OTHER_TAG, TAG)]

    assert states == [PartState.COUNTED, PartState.PAID]


def test_files_change_neither_rate():
    windows, visitor = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW)
    for _ in range(40):
        windows.count_again(visitor, START_MS)
        for _ in range(4):
            windows.count_file(visitor, TAG, START_MS)

    assert windows.count_again(visitor, START_MS) == (41, 41)


def test_files_have_a_ceiling_with_and_without_a_page():
    for has_page, ceiling in ((False, FREE_FILES_PER_MINUTE), (True, FILES_PER_MINUTE)):
        windows, visitor = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW)
        if has_page:
            windows.earn(visitor, TAG, START_MS)
        states = [windows.count_file(visitor, TAG, START_MS)[2] for _ in range(ceiling + 3)]

        assert states.count(PartState.OVER) == 3


def test_fetches_without_a_clearance_count_as_pages_and_earn_nothing():
    windows, visitor = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW)
    rates = [windows.count_fetch(visitor, TAG, target, START_MS)[0] for target in range(300)]

    assert [each for each in rates if each < VISITOR_HIGH] == [*range(1, VISITOR_HIGH)]
    assert set(rates[VISITOR_HIGH:]) == {VISITOR_HIGH}
    assert windows.count_part(visitor, TAG, 0, START_MS)[2] is PartState.COUNTED


def test_a_target_that_was_loaded_counts_once_a_minute_and_a_blocked_one_each_time():
    windows, visitor = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW)
    assert {windows.count_fetch(visitor, TAG, 1, START_MS)[0] for _ in range(REPEATS_PER_MINUTE + 1)} == {1}
    assert windows.count_fetch(visitor, TAG, 1, START_MS)[0] == 2
    for target in range(2, 300):
        windows.count_fetch(visitor, TAG, target, START_MS)

    # Of another visitor, of an uncertain target, or blocked before.
    assert windows.count_fetch(visitor, TAG, 299, START_MS)[0] == VISITOR_HIGH
    assert windows.count_fetch(Counted(1, VISITOR + 1, HERE, NO_WINDOW), TAG, 1, START_MS)[0] == 1
    other = Counted(2, VISITOR, HERE, NO_WINDOW)
    assert [windows.count_fetch(other, TAG, None, START_MS)[0] for _ in range(3)] == [1, 2, 3]


def test_pages_leave_room_for_their_parts_and_all_together_stay_below_the_limit():
    windows, visitor, opened, paid = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW), 0, 0
    for page in range(100):
        rate, _ = windows.count_again(visitor, START_MS)
        if windows.count_page(visitor, rate, START_MS) >= VISITOR_HIGH:
            continue
        windows.earn(visitor, TAG, START_MS)
        opened += 1
        parts = [windows.count_part(visitor, TAG, 20 * page + part, START_MS) for part in range(18)]
        assert all(rate < VISITOR_HIGH and state is PartState.PAID for rate, _, state in parts)
        paid += len(parts)

    assert VISITOR_HIGH - 2 * MOST_RESERVED < opened + paid < VISITOR_HIGH


def test_with_a_clearance_parts_cost_nothing_and_calls_use_up_no_pages():
    windows, cleared = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW, is_cleared=True)
    states = [windows.count_part(cleared, TAG, part, START_MS)[2] for part in range(PER_PAGE + 5)]
    calls = [windows.count_fetch(cleared, TAG, target, START_MS)[2] for target in range(CALLS_PER_MINUTE)]

    assert states == [PartState.PAID] * PER_PAGE + [PartState.COUNTED] * 5
    assert calls == [PartState.COUNTED] * (CALLS_PER_MINUTE - 5) + [PartState.OVER] * 5
    assert windows.count_again(cleared, START_MS) == (1, CALLS_PER_MINUTE + 6)


def test_with_a_clearance_a_page_pays_for_its_fetches_as_for_its_parts():
    windows, cleared = RateWindows(), Counted(1, VISITOR, HERE, NO_WINDOW, is_cleared=True)
    windows.earn(cleared, TAG, START_MS)
    fetches = [windows.count_fetch(cleared, TAG, target, START_MS)[2] for target in range(2 * PER_PAGE)]
    states = [windows.count_part(cleared, TAG, target, START_MS)[2] for target in range(PER_PAGE)]

    assert fetches == [PartState.PAID] * 2 * PER_PAGE
    assert states == [PartState.COUNTED] * PER_PAGE


def pages_of_a_pool(clearances, *, user_agents, level=1, minutes=3, clearance_s=1_800):
    """Return how many pages a pool of clearances gets at one address in its best minute; it takes all that it can."""
    windows, best = RateWindows(clearance_s=clearance_s), 0
    for minute in range(minutes):
        now_ms, got = START_MS + minute * MINUTE_MS, 0
        for request in range(7_000):
            pool = {"clearance": level * (1 + request % clearances), "user_agent": request % user_agents}
            shown = Counted(1, VISITOR, HERE, NO_WINDOW, is_cleared=True, **pool)
            got += windows.count_again(shown, now_ms + request)[0] < VISITOR_EXTREME
        best = max(best, got)
    return best


def test_browsers_with_a_clearance_raise_the_limit_of_their_address_up_to_a_bound():
    browsers = {count: pages_of_a_pool(count, user_agents=count) for count in (1, 50, 100, 120, 400, 1_000)}

    assert browsers == {1: 599, 50: 599, 100: 1_199, 120: 1_439, 400: 4_799, 1_000: 4_799}


def test_clearances_of_one_user_agent_or_without_a_check_raise_no_limit():
    """An attacker collects the clearances that one address gets without the visible check."""
    assert SILENT_CLEARANCES == PER_HOUR
    assert pages_of_a_pool(SILENT_CLEARANCES, user_agents=1) == 599
    assert pages_of_a_pool(2 * SILENT_CLEARANCES, user_agents=2) == 1_199
    assert pages_of_a_pool(1_000, user_agents=1_000, level=0) == 599
    # Clearances of a day are collected for a day.
    assert pages_of_a_pool(24 * SILENT_CLEARANCES, user_agents=1, clearance_s=86_400) == 599


def test_people_with_the_same_browser_raise_the_limit_beyond_what_one_browser_can_collect():
    assert pages_of_a_pool(300, user_agents=1) == 12 * (50 + 300 - SILENT_CLEARANCES) - 1
    assert pages_of_a_pool(1_000, user_agents=1) == 4_799


def test_workers_share_the_budget_of_a_name():
    memory = memoryview(bytearray(board_bytes(2)))
    boards = [open_boards(memory, own=own, secret=b"known to the workers") for own in range(2)]
    workers = [RateWindows(sharing=each.rates, pages=each.pages) for each in boards]

    took = [workers[turn % 2].has_room(1, "feedly", NAME_PER_MINUTE, START_MS) for turn in range(60)]

    assert took.count(True) <= NAME_PER_MINUTE + 2
    assert workers[0].has_room(2, "feedly", NAME_PER_MINUTE, START_MS)


def test_the_clearances_of_an_address_count_towards_its_network():
    windows = RateWindows()
    windows.count_again(Counted(1, VISITOR + 1, HERE, NO_WINDOW), START_MS)
    # After an eviction, or a change of the site, the visitor is another object.
    for count in (1, 2, 3):
        cleared = Counted(1, VISITOR, HERE, NO_WINDOW, is_cleared=True)
        assert windows.count_again(cleared, START_MS) == (count, count + 1)
