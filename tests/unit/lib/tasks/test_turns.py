"""Places that accounts take in turn."""

import asyncio

import pytest

from agentgate.lib.tasks.turns import OneByOne, Turns

pytestmark = pytest.mark.anyio


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_an_account_has_few_places_and_others_have_the_rest() -> None:
    turns, gate, started = Turns(3, of_account=2), asyncio.Event(), list[str]()

    async def work(account: str) -> None:
        async with turns.wait(account):
            started.append(account)
            await gate.wait()

    tasks = [asyncio.create_task(work(account)) for account in ("a", "a", "a", "b", "c")]
    await settle()

    assert started == ["a", "a", "b"]
    assert (turns.count("a"), turns.count("b"), turns.count("c")) == (3, 1, 1)
    gate.set()
    await asyncio.gather(*tasks)
    assert sorted(started) == ["a", "a", "a", "b", "c"]
    assert turns.count("a") == 0


async def test_accounts_take_turns() -> None:
    turns, order = Turns(1, of_account=1), list[str]()

    async def work(account: str) -> None:
        async with turns.wait(account):
            order.append(account)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(account) for account in ("a", "a", "a", "a", "b", "b", "c")))

    assert order == ["a", "a", "b", "c", "a", "b", "a"]


async def test_a_canceled_turn_keeps_no_place() -> None:
    turns, gate = Turns(1, of_account=1), asyncio.Event()

    async def work() -> str:
        async with turns.wait("a"):
            await gate.wait()
            return "done"

    first, second, third = (asyncio.create_task(work()) for _ in range(3))
    await settle()
    second.cancel()
    await settle()
    first.cancel()
    gate.set()

    assert await third == "done"
    assert turns.count("a") == 0


async def test_a_failure_frees_the_place() -> None:
    turns = Turns(1, of_account=1)

    with pytest.raises(ValueError, match="no"):
        async with turns.wait("a"):
            raise ValueError("no")
    async with turns.wait("a"):
        assert turns.count("a") == 1


async def test_callers_that_are_woken_together_continue_in_one_iteration_each() -> None:
    one_by_one, woken, iteration, seen = OneByOne(), asyncio.Event(), 0, list[int]()

    async def call() -> None:
        await woken.wait()
        await one_by_one.wait()
        seen.append(iteration)

    tasks = [asyncio.create_task(call()) for _ in range(4)]
    await settle()
    woken.set()
    while not all(task.done() for task in tasks):
        iteration += 1
        await asyncio.sleep(0)

    assert len(set(seen)) == len(tasks)
