"""Events that are kept per second with all their counters, compared with an insert of their rows and counts by value.

`python -m bench.events [--events 100000] [--batch 1000] [--postgres] [--patterns 150]`

Each event has a unique pattern, which is the worst case; with `--patterns`, that number of patterns repeats. `indexed`
includes the indexing that remains when the day is closed. Roll-ups depend on visitors and not on events, so they are
reported separately. PostgreSQL commits durably here, and the server's CPU time is counted too.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from agentgate.events.records import Pattern, Recorded, Repeated
from agentgate.events.storage.encoding import EncodedEvents, EventEncoder
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.server.worker_tuning import tune_worker
from bench.events_postgres import durable_server, processor_s
from tests.support.events import DAY, EventPlace, embedded_events, many_events, postgres_events

T = TypeVar("T")

ROUNDS = 5


class Speed(NamedTuple):
    """Events per second: by wall-clock time, by this process's CPU time, and with the server's CPU time added."""

    wall: float
    processor: float
    together: float

    def then(self, other: "Speed") -> "Speed":
        """Return the speed of doing this to the events and then the other."""
        return Speed(*(1 / (1 / mine + 1 / its) for mine, its in zip(self, other, strict=True)))

    def __str__(self) -> str:
        """Write all."""
        return (
            f"{self.wall:>9,.0f} events/s, {self.together:>9,.0f} per processor second,"
            f" {self.processor:>9,.0f} of this process alone"
        )


async def measure_events(
    place: EventPlace, *, count: int, batch: int, patterns: int = 0, server_s: Callable[[], float] = lambda: 0.0
) -> dict[str, Speed]:
    """Return the speed of keeping events and of the plain insert, in interleaved rounds on different days."""
    await place.events.write(many_events(2_000, day=DAY - 1))
    # As a worker does.
    tune_worker()
    speeds: dict[str, list[Speed]] = {"events": [], "indexed": [], "plain insert": []}
    rolled_up_us: list[float] = []
    bytes_each: list[float] = []
    for number in range(ROUNDS):
        day = DAY + number
        events = made_events(count // ROUNDS, seed=number, day=day, patterns=patterns)
        batches = [events[start : start + batch] for start in range(0, len(events), batch)]
        written = await _timed(place.events.write, batches, server_s)
        indexed = await _timed(_closing(partial(place.segments.index, day)), [events], server_s)
        speeds["events"].append(written)
        speeds["indexed"].append(written.then(indexed))
        if not place.segments.hours_in_stats:
            size = await place.segments.session(day).one(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            )
            bytes_each.append(size[0] / len(events) if size else 0)
        close = partial(place.events.close_days, now_ms=(day + 2) * DAY_MS)
        closed = await _timed(_closing(close), [events], server_s)
        rolled_up_us.append(1e6 / closed.together)
        rows = [EventEncoder(place.words).encode(each) for each in batches]
        await place.segments.drop(day)
        await place.segments.write(day, _nothing)
        speeds["plain insert"].append(await _timed(_plain(place, day, iter(rows)), batches, server_s))
    print(f"roll-up       {min(rolled_up_us):>9.1f} us of processor time an event")
    if bytes_each:
        print(f"size          {max(bytes_each):>9.1f} bytes an event")
    return {name: max(found, key=attrgetter("together")) for name, found in speeds.items()}


def made_events(count: int, *, seed: int, day: int, patterns: int) -> list[Recorded]:
    """Return events of one hour, oldest first: all distinct, or of so many patterns, the first of them most often."""
    made = many_events(count, seed=seed, day=day, span_ms=HOUR_MS)
    if not patterns:
        return list(made)
    # As a gateway's: nothing of a single request is kept.
    shared = [Pattern(replace(event, request_id=None, solve_ms=None)) for event in made[:patterns]]
    often = [1 / rank for rank in range(1, len(shared) + 1)]
    chosen = random.Random(seed).choices(shared, often, k=count)
    return [
        Repeated(event.id, event.visitor, event.duration_us, each) for event, each in zip(made, chosen, strict=True)
    ]


def _plain(place: EventPlace, day: int, rows: Iterator[EncodedEvents]) -> Callable[[list[T]], Awaitable[object]]:
    """Return a function that only inserts encoded events: the lower bound for every other cost."""

    async def write(_batch: list[T]) -> None:
        encoded = next(rows)
        await place.segments.write(day, lambda transaction: place.segments.insert(transaction, encoded))

    return write


def _closing(act: Callable[[], Awaitable[object]]) -> Callable[[list[T]], Awaitable[object]]:
    """Return what is done once for all events of a day."""
    return lambda _: act()


async def _timed(
    write: Callable[[list[T]], Awaitable[object]], batches: list[list[T]], server_s: Callable[[], float]
) -> Speed:
    count = sum(map(len, batches))
    began_s, began_own_s, began_server_s = time.perf_counter(), time.process_time(), server_s()
    for batch in batches:
        await write(batch)
    own_s, other_s = time.process_time() - began_own_s, server_s() - began_server_s
    return Speed(count / (time.perf_counter() - began_s), count / own_s, count / (own_s + other_s))


async def _nothing(_transaction: object) -> None:
    """Make the day and leave it empty."""


async def measure(count: int, batch: int, *, patterns: int, postgres: bool) -> dict[str, Speed]:
    """Measure on a store that is gone afterwards."""
    if not postgres:
        with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder:
            async with embedded_events(Path(folder)) as place:
                return await measure_events(place, count=count, batch=batch, patterns=patterns)
    with durable_server() as (server, url):
        async with postgres_events(url) as place:
            of_server = partial(processor_s, server)
            return await measure_events(place, count=count, batch=batch, patterns=patterns, server_s=of_server)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--postgres", action="store_true", help="measure PostgreSQL instead of SQLite")
    parser.add_argument("--patterns", type=int, default=0, help="how many patterns the events have; 0: each its own")
    given = parser.parse_args()
    speeds = asyncio.run(measure(given.events, given.batch, patterns=given.patterns, postgres=given.postgres))
    for name, speed in speeds.items():
        print(f"{name:<13} {speed}")
    print(f"ratio         {speeds['events'].together / speeds['plain insert'].together:.2f} of the plain insert")


if __name__ == "__main__":
    main()
