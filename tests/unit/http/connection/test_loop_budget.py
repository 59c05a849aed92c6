"""A turn is over by its processor time, or by the time on the wall when the one before was long; then others wait."""

import asyncio
import time

from agentgate.http.connection.loop_budget import ASKED_EVERY, ASKED_FROM, REFUSED_PART, Turn

LONG_S = 0.004
MANY = 2 * ASKED_EVERY


def work(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def ask_often(turn: Turn, requests: int, each_s: float) -> list[bool]:
    found = []
    for _ in range(requests):
        found.append(turn.is_over())
        work(each_s)
    return found


def test_after_too_much_work_a_turn_is_over():
    async def one_turn() -> list[bool]:
        return ask_often(Turn(LONG_S), 20 * ASKED_EVERY, LONG_S / ASKED_EVERY)

    found = asyncio.run(one_turn())

    assert not any(found[: ASKED_FROM + ASKED_EVERY // 2])
    # The work of sixteen requests is all the time there is; it is looked at once in as many.
    assert found[5 * ASKED_EVERY :] == [True] * (15 * ASKED_EVERY)


def test_a_pause_ends_no_turn():
    async def one_turn() -> list[bool]:
        turn = Turn(LONG_S)
        found = ask_often(turn, 2 * ASKED_EVERY, 0)
        for _ in range(2):
            time.sleep(2 * LONG_S)  # noqa: ASYNC251 - the loop itself is kept from running
            found += ask_often(turn, 2 * ASKED_EVERY, 0)
        return found

    assert not any(asyncio.run(one_turn()))


def test_pauses_in_one_turn_after_the_other_do():
    async def turns() -> list[bool]:
        turn, found = Turn(LONG_S), []
        for requests in (MANY, MANY, MANY, 1, MANY, MANY):
            ask_often(turn, requests, 0)
            time.sleep(2 * LONG_S)  # noqa: ASYNC251 - the loop itself is kept from running
            found.append(any(ask_often(turn, requests, 0)))
            await asyncio.sleep(0)
        return found

    # Not in the first one, nor after one with so few requests that there was no waiting.
    assert asyncio.run(turns()) == [False, True, True, False, False, True]


def test_the_next_turn_begins_anew():
    async def turns() -> tuple[list[bool], list[bool], bool]:
        turn = Turn(LONG_S)
        turn.looked()
        first = ask_often(turn, 10 * ASKED_EVERY, LONG_S / ASKED_EVERY)
        await asyncio.sleep(0)
        has_looked = turn.has_looked
        return first, ask_often(turn, ASKED_EVERY, 0), has_looked

    first, second, has_looked = asyncio.run(turns())

    assert first[-1]
    assert not any(second)
    assert not has_looked


def test_what_was_looked_at_is_known_until_the_turn_ends():
    async def one_turn() -> tuple[bool, bool, bool]:
        turn = Turn(LONG_S)
        before = turn.has_looked
        turn.looked()
        turn.is_over()
        after = turn.has_looked
        await asyncio.sleep(0)
        return before, after, turn.has_looked

    assert asyncio.run(one_turn()) == (False, True, False)


class Door:
    """A connection that writes down when it goes on, and how."""

    def __init__(self, turn: Turn, name: str, told: list[str]) -> None:
        self.turn, self.name, self.told = turn, name, told

    def go_on(self) -> None:
        self.told.append(f"{self.name} refused" if self.turn.is_refusing else self.name)


class BrokenDoor(Door):
    def go_on(self) -> None:
        super().go_on()
        raise RuntimeError("broken")


def doors(turn: Turn, count: int, told: list[str]) -> list[Door]:
    return [Door(turn, str(number), told) for number in range(count)]


def test_whoever_is_held_goes_on_in_the_next_turn_with_time_and_the_newest_first():
    async def turns() -> list[str]:
        turn, told = Turn(LONG_S), []
        for door in doors(turn, 3, told):
            turn.hold(door)
        assert (told, turn.waiting) == ([], 3)
        await asyncio.sleep(0)
        assert turn.waiting == 0
        return told

    assert asyncio.run(turns()) == ["2", "1", "0"]


def test_whoever_is_held_waits_while_others_come():
    async def turns() -> list[list[str]]:
        turn, told = Turn(LONG_S), []
        turn.hold(doors(turn, 1, told)[0])
        after = []
        for requests in (ASKED_FROM, ASKED_FROM, ASKED_FROM - 1, 0):
            ask_often(turn, requests, 0)
            await asyncio.sleep(0)
            after.append(list(told))
        return after

    assert asyncio.run(turns()) == [[], [], ["0"], ["0"]]


def test_those_who_are_held_have_the_time_of_a_turn_and_no_more():
    class Slow(Door):
        def go_on(self) -> None:
            super().go_on()
            work(LONG_S / ASKED_EVERY)

    async def turns() -> list[int]:
        turn, told = Turn(LONG_S), []
        for number in range(20 * ASKED_EVERY):
            turn.hold(Slow(turn, str(number), told))
        after = []
        while turn.waiting:
            await asyncio.sleep(0)
            after.append(len(told))
        return after

    after = asyncio.run(turns())

    assert ASKED_FROM < after[0] <= 5 * ASKED_EVERY
    assert after[-1] == 20 * ASKED_EVERY


def test_whoever_was_held_for_too_long_is_refused_the_oldest_first_and_a_few_at_a_time():
    async def turns() -> list[list[str]]:
        turn, told = Turn(LONG_S, 2 * LONG_S), []
        for door in doors(turn, 2 * REFUSED_PART, told):
            turn.hold(door)
        time.sleep(3 * LONG_S)  # noqa: ASYNC251 - the loop itself is kept from running
        turn.hold(Door(turn, "new", told))
        after = []
        for _ in range(2):
            ask_often(turn, ASKED_FROM, 0)
            await asyncio.sleep(0)
            after.append(list(told))
            told.clear()
        await asyncio.sleep(0)
        assert not turn.is_refusing
        return [*after, told]

    first, second, third = asyncio.run(turns())

    assert first == ["0 refused", "1 refused", "2 refused"]
    assert second == ["3 refused", "4 refused"]
    # In a turn with time for them, who is left is answered after all.
    assert third[:3] == ["5 refused", "6 refused", "new"]
    assert third[3:] == [str(number) for number in range(2 * REFUSED_PART - 1, 6, -1)]


def test_whoever_is_delayed_goes_on_in_order_when_the_turn_ends_whatever_else_comes():
    async def turns() -> list[str]:
        turn, told = Turn(LONG_S), []
        for door in doors(turn, 3, told):
            turn.delay(door)
        ask_often(turn, 10 * ASKED_EVERY, LONG_S / ASKED_EVERY)
        assert (told, turn.waiting) == ([], 3)
        await asyncio.sleep(0)
        return told

    assert asyncio.run(turns()) == ["0", "1", "2"]


def test_one_that_cannot_go_on_keeps_nobody_waiting():
    async def turns() -> tuple[list[str], bool]:
        turn, told = Turn(LONG_S, 0.0), []
        for hold in (turn.delay, turn.hold):
            hold(BrokenDoor(turn, "broken", told))
            hold(Door(turn, "whole", told))
        for _ in range(3):
            await asyncio.sleep(0)
        return told, turn.is_refusing

    told, is_refusing = asyncio.run(turns())

    assert told == ["broken", "whole", "broken refused", "whole"]
    assert not is_refusing


def test_what_was_looked_at_for_those_who_were_held_is_looked_at_again():
    class Looking(Door):
        def go_on(self) -> None:
            super().go_on()
            self.turn.looked()

    async def turns() -> bool:
        turn, told = Turn(LONG_S), []
        turn.hold(Looking(turn, "0", told))
        await asyncio.sleep(0)
        assert told == ["0"]
        return turn.has_looked

    # Tasks may have changed it in between.
    assert not asyncio.run(turns())
