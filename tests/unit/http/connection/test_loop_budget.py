"""An iteration ends by its CPU time, or by its wall time if the previous one was long; other requests are deferred."""

import asyncio
import time
from unittest import mock

from agentgate.http.connection.loop_budget import ASKED_EVERY, ASKED_FROM, REFUSED_PART, SAME_TURN_S, LoopBudget

LONG_S = 0.004
MANY = 2 * ASKED_EVERY


def work(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def ask_often(budget: LoopBudget, requests: int, each_s: float) -> list[bool]:
    found = []
    for _ in range(requests):
        found.append(budget.is_over())
        work(each_s)
    return found


def test_after_too_much_work_a_turn_has_ended():
    async def one_turn() -> list[bool]:
        return ask_often(LoopBudget(LONG_S), 20 * ASKED_EVERY, LONG_S / ASKED_EVERY)

    found = asyncio.run(one_turn())

    assert not any(found[: ASKED_FROM + ASKED_EVERY // 2])
    # The work of 16 requests uses up all the time, and the budget reads the clock once per 16 requests.
    assert found[5 * ASKED_EVERY :] == [True] * (15 * ASKED_EVERY)


def test_a_pause_ends_no_turn():
    async def one_turn() -> list[bool]:
        budget = LoopBudget(LONG_S)
        found = ask_often(budget, 2 * ASKED_EVERY, 0)
        for _ in range(2):
            time.sleep(2 * LONG_S)  # noqa: ASYNC251 - the loop itself is kept from running
            found += ask_often(budget, 2 * ASKED_EVERY, 0)
        return found

    assert not any(asyncio.run(one_turn()))


def test_pauses_in_one_turn_after_the_other_do():
    async def turns() -> list[bool]:
        budget, found = LoopBudget(LONG_S), []
        for requests in (MANY, MANY, MANY, 1, MANY, MANY):
            ask_often(budget, requests, 0)
            time.sleep(2 * LONG_S)  # noqa: ASYNC251 - the loop itself is kept from running
            found.append(any(ask_often(budget, requests, 0)))
            await asyncio.sleep(0)
        return found

    # Not in the first one, nor after one with so few requests that there was no waiting.
    assert asyncio.run(turns()) == [False, True, True, False, False, True]


def test_the_next_turn_begins_again():
    async def turns() -> tuple[list[bool], list[bool], bool]:
        budget = LoopBudget(LONG_S)
        budget.is_refreshed = True
        first = ask_often(budget, 10 * ASKED_EVERY, LONG_S / ASKED_EVERY)
        await asyncio.sleep(0)
        is_refreshed = budget.is_refreshed
        return first, ask_often(budget, ASKED_EVERY, 0), is_refreshed

    first, second, is_refreshed = asyncio.run(turns())

    assert first[-1]
    assert not any(second)
    assert not is_refreshed


def test_what_was_inspected_is_known_until_the_loops_clock_continues():
    async def turns() -> list[bool]:
        with mock.patch.object(asyncio.get_running_loop(), "time") as clock:
            budget, found, clock.return_value = LoopBudget(LONG_S), list[bool](), 1.0
            for pause_s in (0, 0, 2 * SAME_TURN_S, 0):
                clock.return_value += pause_s
                budget.is_over()
                found.append(budget.is_refreshed)
                budget.is_refreshed = True
            return found

    assert asyncio.run(turns()) == [False, True, False, True]


def test_few_requests_in_a_row_are_queried_about_once_more_when_they_are_several():
    async def turns() -> list[bool]:
        with mock.patch.object(asyncio.get_running_loop(), "time", return_value=1.0):
            budget, found = LoopBudget(LONG_S), list[bool]()
            for _ in range(ASKED_FROM):
                budget.is_over()
                budget.is_refreshed = True
                await asyncio.sleep(0)
                found.append(budget.is_refreshed)
            return found

    # The turn of the last one is followed to its end, however close together they came.
    assert asyncio.run(turns()) == [True] * (ASKED_FROM - 1) + [False]


def test_the_loop_is_not_asked_about_a_turn_with_few_requests():
    async def turns() -> list[int]:
        budget, asked = LoopBudget(LONG_S), []
        loop = asyncio.get_running_loop()
        with mock.patch.object(loop, "call_soon", side_effect=loop.call_soon) as call_soon:
            for requests in (ASKED_FROM - 1, ASKED_FROM):
                time.sleep(2 * SAME_TURN_S)  # noqa: ASYNC251 - as a loop that waits for the next request
                ask_often(budget, requests, 0)
                asked.append(call_soon.call_count)
        return asked

    assert asyncio.run(turns()) == [0, 1]


class Door:
    """A connection that records when and how it continues."""

    def __init__(self, budget: LoopBudget, name: str, told: list[str]) -> None:
        self.budget, self.name, self.told = budget, name, told

    def resume(self) -> None:
        self.told.append(f"{self.name} refused" if self.budget.is_refusing else self.name)


class BrokenDoor(Door):
    def resume(self) -> None:
        super().resume()
        raise RuntimeError("broken")


def doors(budget: LoopBudget, count: int, told: list[str]) -> list[Door]:
    return [Door(budget, str(number), told) for number in range(count)]


def test_anyone_who_is_held_continues_in_the_next_turn_with_time_and_the_newest_first():
    async def turns() -> list[str]:
        budget, told = LoopBudget(LONG_S), []
        for door in doors(budget, 3, told):
            budget.enqueue(door)
        assert (told, budget.waiting) == ([], 3)
        await asyncio.sleep(0)
        assert budget.waiting == 0
        return told

    assert asyncio.run(turns()) == ["2", "1", "0"]


def test_anyone_who_is_held_waits_while_others_come():
    async def turns() -> list[list[str]]:
        budget, told = LoopBudget(LONG_S), []
        budget.enqueue(doors(budget, 1, told)[0])
        after = []
        for requests in (ASKED_FROM, ASKED_FROM, ASKED_FROM - 1, 0):
            ask_often(budget, requests, 0)
            await asyncio.sleep(0)
            after.append(list(told))
        return after

    assert asyncio.run(turns()) == [[], [], ["0"], ["0"]]


def test_users_who_are_held_have_the_time_of_a_turn_only():
    class Slow(Door):
        def resume(self) -> None:
            super().resume()
            work(LONG_S / ASKED_EVERY)

    async def turns() -> list[int]:
        budget, told = LoopBudget(LONG_S), []
        for number in range(20 * ASKED_EVERY):
            budget.enqueue(Slow(budget, str(number), told))
        after = []
        while budget.waiting:
            await asyncio.sleep(0)
            after.append(len(told))
        return after

    after = asyncio.run(turns())

    assert ASKED_FROM < after[0] <= 5 * ASKED_EVERY
    assert after[-1] == 20 * ASKED_EVERY


def test_anyone_who_was_held_for_too_long_is_rejected_the_oldest_first_and_a_few_at_a_time():
    async def turns() -> list[list[str]]:
        budget, told = LoopBudget(LONG_S, 2 * LONG_S), []
        for door in doors(budget, 2 * REFUSED_PART, told):
            budget.enqueue(door)
        time.sleep(3 * LONG_S)  # noqa: ASYNC251 - the loop itself is kept from running
        budget.enqueue(Door(budget, "new", told))
        after = []
        for _ in range(2):
            ask_often(budget, ASKED_FROM, 0)
            await asyncio.sleep(0)
            after.append(list(told))
            told.clear()
        await asyncio.sleep(0)
        assert not budget.is_refusing
        return [*after, told]

    first, second, third = asyncio.run(turns())

    assert first == ["0 refused", "1 refused", "2 refused"]
    assert second == ["3 refused", "4 refused"]
    # In a turn with enough time, the remaining connections continue.
    assert third[:3] == ["5 refused", "6 refused", "new"]
    assert third[3:] == [str(number) for number in range(2 * REFUSED_PART - 1, 6, -1)]


def test_anyone_who_is_delayed_continues_in_order_when_the_turn_ends_whatever_else_comes():
    async def turns() -> list[str]:
        budget, told = LoopBudget(LONG_S), []
        for door in doors(budget, 3, told):
            budget.defer(door)
        ask_often(budget, 10 * ASKED_EVERY, LONG_S / ASKED_EVERY)
        assert (told, budget.waiting) == ([], 3)
        await asyncio.sleep(0)
        return told

    assert asyncio.run(turns()) == ["0", "1", "2"]


def test_one_that_cannot_continue_keeps_no_one_waiting():
    async def turns() -> tuple[list[str], bool]:
        budget, told = LoopBudget(LONG_S, 0.0), []
        for enqueue in (budget.defer, budget.enqueue):
            enqueue(BrokenDoor(budget, "broken", told))
            enqueue(Door(budget, "whole", told))
        for _ in range(3):
            await asyncio.sleep(0)
        return told, budget.is_refusing

    told, is_refusing = asyncio.run(turns())

    assert told == ["broken", "whole", "broken refused", "whole"]
    assert not is_refusing


def test_what_was_inspected_for_users_who_were_held_is_inspected_again():
    class Looking(Door):
        def resume(self) -> None:
            super().resume()
            self.budget.is_refreshed = True

    async def turns() -> bool:
        budget, told = LoopBudget(LONG_S), []
        budget.enqueue(Looking(budget, "0", told))
        await asyncio.sleep(0)
        assert told == ["0"]
        return budget.is_refreshed

    # Tasks may have changed it in between.
    assert not asyncio.run(turns())
