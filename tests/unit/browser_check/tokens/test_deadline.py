"""Calls that wait for the store are given up in time, with one timer for all of them."""

import asyncio
import time
from dataclasses import dataclass

import pytest

from agentgate.browser_check.tokens.redeem import KEPT_MORE, DeadlineQueue

pytestmark = pytest.mark.anyio
MOST_S = 0.1


@pytest.fixture
def anyio_backend():
    return "asyncio"


@dataclass
class Call:
    number: int
    is_done: bool = False


async def test_a_call_that_is_not_done_in_time_is_given_up_once():
    given_up = []

    def give_up(call):
        call.is_done = True
        given_up.append(call.number)

    queue = DeadlineQueue(MOST_S, give_up)
    calls = [Call(number) for number in range(6)]
    for call in calls:
        queue.add(call)
    calls[0].is_done = calls[3].is_done = True
    await asyncio.sleep(MOST_S / 2)
    queue.add(Call(6))
    began_s = time.monotonic()
    while 6 not in given_up:  # noqa: ASYNC110 - the queue tells nobody else
        await asyncio.sleep(0.001)

    assert given_up == [1, 2, 4, 5, 6]
    assert time.monotonic() - began_s > MOST_S / 2


async def test_calls_that_are_done_are_let_go_of_long_before_their_deadline():
    queue = DeadlineQueue(60.0, lambda _: pytest.fail("it is done"))
    for number in range(10 * KEPT_MORE):
        queue.add(Call(number, is_done=True))

    assert len(queue._waiting) <= KEPT_MORE
    queue._timer.cancel()
