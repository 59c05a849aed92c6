"""A process that records events: `python -m tests.whole.event_writer FOLDER WORKER COUNT`.

It prints the ID of each event when it is put, and the ledger at the end. With COUNT 0 it goes on until it is killed.
"""

import asyncio
import contextlib
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from agentgate.events.recorder import Recorder
from agentgate.lib.clock import DAY_MS, SystemClock
from agentgate.lib.decision_ids import DecisionIds
from tests.support.events import embedded_events, new_event

# Enough for a batch every flush, and few enough for the printing not to matter.
EVENTS_PER_ROUND, ROUND_S = 10, 0.005


async def record(folder: Path, worker: int, count: int) -> None:
    """Put events, all of the day on which this began, until there are so many."""
    clock = SystemClock()
    ids = DecisionIds(clock, worker)
    async with embedded_events(folder, clock=clock) as place:
        recorder = Recorder(place.events)
        await recorder.start()
        for number in itertools.count(1):
            identifier = ids.next()
            recorder.put(
                new_event(
                    id=identifier, site=worker, visitor=number, labels=(f"l.{number % 7}",), route=f"/{number % 5}"
                )
            )
            _say(identifier, time.time_ns() // 1_000_000)
            if number == count:
                break
            if number % EVENTS_PER_ROUND == 0:
                await asyncio.sleep(ROUND_S)
        await recorder.stop()
    _say("ledger", *recorder.ledger().values())


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # Not across midnight: the tests look at one day.
    left_ms = DAY_MS - SystemClock().now_ms() % DAY_MS
    if left_ms < 20_000:
        time.sleep(left_ms / 1000 + 0.1)
    asyncio.run(record(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))

# The promise is 200 ms. What is more is for a machine that does other things besides.
LOST_MS = 200


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
