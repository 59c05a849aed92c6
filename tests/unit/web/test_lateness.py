"""Lateness counts the processor time of one turn of the loop; the time on the wall when the turn before was long."""

import asyncio
import time

from agentgate.web.lateness import ASKED_EVERY, ASKED_FROM, Lateness

LATE_S = 0.004
MANY = 2 * ASKED_EVERY


def work(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def ask_often(lateness: Lateness, requests: int, each_s: float) -> list[bool]:
    found = []
    for _ in range(requests):
        found.append(lateness.is_late())
        work(each_s)
    return found


def test_whoever_comes_after_too_much_work_in_one_turn_is_late():
    async def turn() -> list[bool]:
        return ask_often(Lateness(LATE_S), 20 * ASKED_EVERY, LATE_S / ASKED_EVERY)

    found = asyncio.run(turn())

    assert not any(found[: ASKED_FROM + ASKED_EVERY // 2])
    # The work of sixteen requests is all the time there is; it is looked at once in as many.
    assert found[5 * ASKED_EVERY :] == [True] * (15 * ASKED_EVERY)


def test_nobody_is_late_because_of_a_pause():
    async def turn() -> list[bool]:
        lateness = Lateness(LATE_S)
        found = ask_often(lateness, 2 * ASKED_EVERY, 0)
        for _ in range(2):
            time.sleep(2 * LATE_S)  # noqa: ASYNC251 - the loop itself is kept from running
            found += ask_often(lateness, 2 * ASKED_EVERY, 0)
        return found

    assert not any(asyncio.run(turn()))


def test_pauses_in_one_turn_after_the_other_make_late():
    async def turns() -> list[bool]:
        lateness, found = Lateness(LATE_S), []
        for requests in (MANY, MANY, MANY, 1, MANY, MANY):
            ask_often(lateness, requests, 0)
            time.sleep(2 * LATE_S)  # noqa: ASYNC251 - the loop itself is kept from running
            found.append(any(ask_often(lateness, requests, 0)))
            await asyncio.sleep(0)
        return found

    # Not in the first one, nor after one with so few requests that there was no waiting.
    assert asyncio.run(turns()) == [False, True, True, False, False, True]


def test_the_next_turn_begins_anew():
    async def turns() -> tuple[list[bool], list[bool], bool]:
        lateness = Lateness(LATE_S)
        lateness.looked()
        first = ask_often(lateness, 10 * ASKED_EVERY, LATE_S / ASKED_EVERY)
        await asyncio.sleep(0)
        has_looked = lateness.has_looked
        return first, ask_often(lateness, ASKED_EVERY, 0), has_looked

    first, second, has_looked = asyncio.run(turns())

    assert first[-1]
    assert not any(second)
    assert not has_looked


def test_what_was_looked_at_is_known_until_the_turn_ends():
    async def turn() -> tuple[bool, bool, bool]:
        lateness = Lateness(LATE_S)
        before = lateness.has_looked
        lateness.looked()
        lateness.is_late()
        after = lateness.has_looked
        await asyncio.sleep(0)
        return before, after, lateness.has_looked

    assert asyncio.run(turn()) == (False, True, False)
