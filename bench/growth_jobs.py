"""Stalls by scheduled jobs with many events: `python -m bench.growth_http jobs`."""

import asyncio
import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Pattern, Repeated
from agentgate.lib.clock import DAY_MS, HOUR_MS, SystemClock
from bench.large_installation import install, served
from bench.probe import HEAD, Waits, show
from tests.support.events import embedded_events, many_events

EVENTS, AT_ONCE, PATTERNS = 10_000_000, 5_000, 150
# Events of a visitor.
EACH = 10
# Jobs that read or delete many rows.
AWAITED = frozenset({"close-days", "retention", "measure-drift", "sweep"})
LONGEST_S, POLL_S = 3_600.0, 0.5


def jobs(folder: Path, *, events: int = EVENTS) -> tuple[dict[str, int], Waits]:
    """Run every job with many events of an ended day; return how long each took, and the concurrent requests."""
    installation = install(folder / "jobs")
    data, day = installation.folder / "data", SystemClock().now_ms() // DAY_MS - 1
    asyncio.run(_fill(data, day, events))
    started_ms = SystemClock().now_ms()
    with closing(sqlite3.connect(data / "config.db")) as config, config:
        # Due, and run before: a first run only notes the time.
        config.execute("UPDATE job_run SET last_ms = ?, held_until_ms = 0", (started_ms - DAY_MS,))
    print(f"\n{events:,} events of one day, {events // EACH:,} visitors\n\n{HEAD}")
    with served(installation) as (_, probe):
        waits, took_ms = Waits([], []), dict[str, int]()
        until_s = time.monotonic() + LONGEST_S
        while not took_ms.keys() >= AWAITED and time.monotonic() < until_s:
            time.sleep(POLL_S)
            part = probe.take()
            waits = Waits(waits.checks + part.checks, waits.health + part.health)
            took_ms = _results(data, started_ms)
    show(f"jobs with {events:,} events of one day", max(took_ms.values()), waits, f" {took_ms}")
    assert took_ms.keys() >= AWAITED, took_ms
    return took_ms, waits


def _results(data: Path, since_ms: int) -> dict[str, int]:
    with closing(sqlite3.connect(data / "config.db")) as config:
        return dict(config.execute("SELECT name, took_ms FROM job_result WHERE started_ms >= ?", (since_ms,)))


async def _fill(data: Path, day: int, count: int) -> None:
    """Write events of a day, of few patterns and many visitors."""
    chance = random.Random(1)
    patterns = [Pattern(each) for each in many_events(PATTERNS, day=day, span_ms=HOUR_MS)]
    visitors = [chance.randrange(1 << 64) for _ in range(max(1, count // EACH))]
    async with embedded_events(data, clock=SystemClock()) as place:
        for start in range(0, count, AT_ONCE):
            first = first_id(day * DAY_MS + start * DAY_MS // count)
            await place.events.write(
                [Repeated(first + n, chance.choice(visitors), 90, chance.choice(patterns)) for n in range(AT_ONCE)]
            )
