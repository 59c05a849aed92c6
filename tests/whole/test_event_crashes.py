"""Processes that record events and are killed, or record into the same day together."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.lib.decision_ids import id_day
from tests.support.events import embedded_events

pytestmark = pytest.mark.anyio

# The promise is 200 ms. What is more is for a machine that does other things besides.
LOST_MS = 200
SLACK_MS = 400
WRITE_S = 1.5


@contextlib.contextmanager
def writer(folder: Path, worker: int, count: int) -> Iterator[subprocess.Popen[str]]:
    """Start a process that records; end it by its own handle, whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.whole.event_writer", str(folder), str(worker), str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def read_put(output: str) -> dict[int, int]:
    """Return the moment at which each event was put, by ID, from whole lines."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {int(words[0]): int(words[1]) for words in lines if words[0] != "ledger"}


async def check_counters(folder: Path, day: int) -> set[int]:
    """Compare the counters of a day with its events; return the IDs of these."""
    async with embedded_events(folder) as place:
        events = await place.read(day)
        row = await place.segments.session(day).one("SELECT sum(requests) FROM site_hour")
        assert row == (len(events) or None,)
        postings = await place.segments.session(day).one("SELECT count(*) FROM event_label")
        assert postings == (sum(len(event.labels) for event in events),)
        values = await place.segments.session(day).all(
            "SELECT dimension, sum(events) FROM dimension_hour GROUP BY dimension ORDER BY dimension"
        )
        assert values == [(1, len(events)), (2, len(events)), (4, len(events))]
        return {event.id for event in events}


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
