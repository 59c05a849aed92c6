"""Processes that record events and are killed, or record into the same day together."""

import asyncio
import time
from pathlib import Path

import pytest

from agentgate.events.decision_ids import id_day
from tests.support.event_writers import LOST_MS, check_counters, read_put, writer

pytestmark = pytest.mark.anyio

# More than is promised: for a machine that does other things besides.
SLACK_MS = 400
WRITE_S = 1.5


async def test_a_killed_process_loses_no_more_than_its_last_moments(tmp_path: Path) -> None:
    put: dict[int, int] = {}
    for _ in range(2):
        with writer(tmp_path / "data", 1, 0) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            await asyncio.sleep(WRITE_S)
            process.kill()
            killed_ms = time.time_ns() // 1_000_000
            this_time = read_put(first + process.stdout.read())
        put |= {identifier: time_ms - killed_ms for identifier, time_ms in this_time.items()}

    day = id_day(min(put))
    stored = await check_counters(tmp_path / "data", day)

    assert stored <= set(put)
    assert len(stored) > 100
    lost = [before_ms for identifier, before_ms in put.items() if identifier not in stored]
    assert all(before_ms >= -(LOST_MS + SLACK_MS) for before_ms in lost), min(lost)


async def test_processes_that_write_one_day_together_lose_nothing(tmp_path: Path) -> None:
    with writer(tmp_path / "data", 1, 1_500) as one, writer(tmp_path / "data", 2, 1_500) as other:
        outputs = [process.communicate(timeout=60)[0] for process in (one, other)]

    assert [output.splitlines()[-1] for output in outputs] == ["ledger 1500 1500 0 0"] * 2
    put = read_put("".join(outputs))
    assert await check_counters(tmp_path / "data", id_day(min(put))) == set(put)
