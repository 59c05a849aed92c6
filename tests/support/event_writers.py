"""Processes that record events, which tests kill; and what of their events is in the store."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.events import embedded_events

# The promise: no event older than this is lost with a process.
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
