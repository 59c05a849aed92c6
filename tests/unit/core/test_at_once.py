"""A coroutine without anything to wait for is run through; one that waits is refused, and ended."""

import asyncio

import pytest

from agentgate.core.at_once import at_once


async def add(one: int, other: int) -> int:
    return one + other


async def add_all(numbers: list[int]) -> int:
    total = 0
    for number in numbers:
        total = await add(total, number)
    return total


def test_the_result_is_returned() -> None:
    assert at_once(add_all([1, 2, 3])) == 6


def test_what_is_raised_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("it")

    with pytest.raises(KeyError, match="it"):
        at_once(fail())


def test_one_that_waits_is_refused_and_ended() -> None:
    ended = []

    async def wait() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append(True)

    with pytest.raises(RuntimeError, match="waits for something"):
        at_once(wait())
    assert ended == [True]
