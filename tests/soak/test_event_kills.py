"""Killed again and again while recording: no event older than the promised moment is ever lost."""

import asyncio
import time
from pathlib import Path

import pytest

from agentgate.events.decision_ids import id_day
from tests.support.event_writers import LOST_MS, check_counters, read_put, writer

pytestmark = [pytest.mark.anyio, pytest.mark.soak]

KILLS = 30
WRITE_S = 0.8


async def test_thirty_kills_lose_only_what_was_put_in_the_last_200_ms(tmp_path: Path) -> None:
    oldest_lost_ms = []
    for number in range(KILLS):
        folder = tmp_path / str(number)
        with writer(folder, 1, 0) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            await asyncio.sleep(WRITE_S)
            process.kill()
            killed_ms = time.time_ns() // 1_000_000
            put = read_put(first + process.stdout.read())
        stored = await check_counters(folder, id_day(min(put)))
        oldest_lost_ms.append(max((killed_ms - put[each] for each in put.keys() - stored), default=0))

    assert max(oldest_lost_ms) <= LOST_MS, sorted(oldest_lost_ms)
