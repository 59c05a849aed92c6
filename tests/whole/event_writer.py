"""A process that records events: `python -m tests.whole.event_writer FOLDER WORKER COUNT`.

It prints the ID of each event when it is put, and the ledger at the end. With COUNT 0 it continues until it is killed.
"""

import asyncio
import itertools
import sys
import time
from pathlib import Path

from agentgate.events.decision_ids import DecisionIds
from agentgate.events.recorder import Recorder
from agentgate.lib.clock import DAY_MS, SystemClock
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
