"""Recurring work continues after failures, and runs at once when woken."""

import asyncio

import pytest
from structlog.testing import capture_logs

from agentgate.lib.tasks.background import PeriodicTask

pytestmark = pytest.mark.anyio


async def test_the_work_is_repeated_and_a_failure_does_not_end_it():
    turns: list[int] = []
    enough = asyncio.Event()

    async def work() -> None:
        turns.append(len(turns))
        if len(turns) == 5:
            enough.set()
        if len(turns) in {2, 3}:
            raise ConnectionError

    recurring = PeriodicTask("test", work, interval_s=0.001)
    with capture_logs() as logged:
        recurring.start()
        await asyncio.wait_for(enough.wait(), 5)
        await recurring.stop()
    # Two failures of one kind in a row are one line.
    assert [line["reason"] for line in logged] == ["ConnectionError"]


async def test_waking_does_not_wait_for_the_interval():
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    recurring = PeriodicTask("test", work, interval_s=3600)
    recurring.start()
    await asyncio.sleep(0)
    assert not done.is_set()
    recurring.wake()
    await asyncio.wait_for(done.wait(), 5)
    await recurring.stop()


async def test_nothing_happens_after_stop():
    turns = 0

    async def work() -> None:
        nonlocal turns
        turns += 1

    recurring = PeriodicTask("test", work, interval_s=0.001)
    recurring.start()
    await asyncio.sleep(0.02)
    await recurring.stop()
    stopped_at = turns
    await asyncio.sleep(0.02)
    assert turns == stopped_at
