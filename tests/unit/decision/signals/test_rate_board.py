"""Workers of one machine that count one visitor keep its limit, for any spread of requests and if a worker dies."""

import random

import pytest

from agentgate.decision.rates.board import board_bytes, open_boards
from agentgate.decision.rates.count_board import CountBoard
from agentgate.decision.rates.windows import NO_WINDOW, Counted, RateWindows
from agentgate.decision.signals.facts import Rates
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE

START_MS = 1_000 * MINUTE_MS
SPREADS = {"even": (1, 1, 1, 1), "one": (1, 0, 0, 0), "uneven": (90, 5, 3, 2), "halves": (1, 1, 0, 0)}


def memory_of(workers):
    return memoryview(bytearray(board_bytes(workers)))


def worker(memory, own):
    boards = open_boards(memory, own=own, secret=b"known to the workers")
    return RateWindows(sharing=boards.rates, pages=boards.pages)


def fleet(workers):
    memory = memory_of(workers)
    return [worker(memory, own) for own in range(workers)]


def count(windows, times=1, *, visitor=7, now_ms=START_MS):
    return [windows.count(1, visitor, f"192.0.2.{visitor}", now_ms) for _ in range(times)]


def allowed(windows, times=1, **given):
    return sum(rates.visitor <= GATEWAY_REQUESTS_PER_MINUTE for rates in count(windows, times, **given))


@pytest.mark.parametrize("workers", [2, 3, 4, 8, 40])
@pytest.mark.parametrize("spread", SPREADS)
def test_a_burst_keeps_the_limit(workers, spread):
    windows, chance = fleet(workers), random.Random(workers)
    weights = [*SPREADS[spread], *[1] * 40][:workers]

    passed = sum(allowed(each) for each in chance.choices(windows, weights, k=3_000))

    assert 1_140 <= passed <= 1_260


@pytest.mark.parametrize("workers", [2, 3, 4, 8])
@pytest.mark.parametrize("each", [40, 150, 420])
def test_workers_that_stop_in_the_middle_of_a_burst_hide_little(workers, each):
    windows = fleet(workers)

    passed = sum(allowed(one, each) for one in windows) + allowed(windows[0], 2_000)

    assert 1_140 <= passed <= 1_260


def test_rates_far_from_every_mark_are_known_except_a_third():
    windows = fleet(2)

    seen = [count(windows[number % 2])[0].visitor for number in range(160)]

    # Of the first three of each, the other knows nothing.
    assert all(number * 2 // 3 - 3 <= rate <= number for number, rate in enumerate(seen, start=1))


def test_visitors_of_a_network_count_together_anyone_who_serves():
    one, other = fleet(2)
    for visitor in range(100):
        count(one, 4, visitor=visitor)
        rates = count(other, 4, visitor=visitor)[-1]

    assert rates.visitor == 8
    assert 720 <= rates.network <= 800


def test_anyone_who_is_met_again_is_counted_like_everyone():
    counting, again, chance = fleet(2), fleet(2), random.Random(3)
    met = [Counted(1, 7, "192.0.2.7", NO_WINDOW) for _ in range(2)]

    for second in range(1_000):
        number, now_ms = chance.randrange(2), START_MS + second * 100
        rates = Rates(*again[number].count_again(met[number], now_ms))
        assert [rates] == count(counting[number], now_ms=now_ms)


def test_the_minute_before_is_known_to_users_who_were_not_asked_in_it():
    one, other = fleet(2)
    count(one, 1_100)
    count(other, 90)

    # The first few are counted alone.
    later = [count(each, 4, now_ms=START_MS + MINUTE_MS)[-1].visitor for each in (one, other)]

    assert all(1_155 <= rate <= 1_198 for rate in later)


def test_a_worker_that_is_replaced_knows_what_its_predecessor_counted():
    memory = memory_of(2)
    one, other = worker(memory, 0), worker(memory, 1)
    assert allowed(one, 600) + allowed(other, 500) == 1_100

    replaced = worker(memory, 0)

    assert 1_140 <= 1_100 + allowed(replaced, 300) + allowed(other, 300) <= 1_260


def test_a_minute_later_a_replaced_worker_still_knows():
    memory = memory_of(2)
    count(worker(memory, 0), 1_000)

    assert count(worker(memory, 0), 4, now_ms=START_MS + MINUTE_MS)[-1].visitor >= 964


def test_visitors_who_come_once_take_no_entry(monkeypatch):
    told = []
    add = CountBoard.add
    monkeypatch.setattr(
        CountBoard, "add", lambda board, place, number=1: (told.append(place), add(board, place, number))
    )
    windows = fleet(2)

    for visitor in range(200):
        for each in windows:
            each.count(1, visitor, f"192.0.{visitor}.1", START_MS)

    assert told == []
