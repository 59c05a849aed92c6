"""Work that begins after the response."""

import asyncio

import pytest

from agentgate.lib.tasks.background import LONGEST_DELAY_S, MOST_WAITING, BackgroundTasks

pytestmark = pytest.mark.anyio


async def test_work_begins_later_and_by_itself() -> None:
    background, done = BackgroundTasks(), asyncio.Event()

    async def work() -> None:
        done.set()

    background.start("work", work)

    assert not done.is_set()
    await asyncio.wait_for(done.wait(), LONGEST_DELAY_S + 5)


async def test_settling_does_now_what_waits_and_what_that_starts() -> None:
    background, done = BackgroundTasks(), []

    async def second() -> None:
        done.append("second")

    async def first() -> None:
        done.append("first")
        background.start("second", second)

    background.start("first", first)
    started = asyncio.get_running_loop().time()
    await background.finish()

    assert done == ["first", "second"]
    assert asyncio.get_running_loop().time() - started < LONGEST_DELAY_S * 2


async def test_what_fails_harms_nothing_else() -> None:
    background, done = BackgroundTasks(), []

    async def fail() -> None:
        raise ValueError("of no interest")

    async def work() -> None:
        done.append("work")

    background.start("fail", fail)
    background.start("work", work)
    await background.finish()

    assert done == ["work"]


async def test_what_is_too_much_is_dropped() -> None:
    background, done = BackgroundTasks(), []

    async def work() -> None:
        done.append("work")

    for _ in range(MOST_WAITING + 5):
        background.start("work", work)
    await background.finish()

    assert len(done) == MOST_WAITING
