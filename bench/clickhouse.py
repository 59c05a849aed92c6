"""How long each traffic read takes on ClickHouse: `python -m bench.clickhouse --events 10000000`.

Events are made by the engine itself: 31 days, 20 sites of which the first has 28 % of the events, 200,000 visitors,
labels of which the commonest is on half of the events and the rarest on one of 100,000. Reads are of the first site.
With `--folder DIR` the events are kept there, and measured again the next time.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from agentgate.events.decision_ids import EPOCH_MS, TIME_SHIFT, first_id
from agentgate.events.queries.ports import DecisionFilters, SiteNumber
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.dictionary import WordKind
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.lib.enums import DecisionKind, Outcome
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.open import Stores, open_stores
from agentgate.storage.clickhouse.client import ClickhouseClient
from agentgate.storage.migrate import apply
from tests.support.clickhouse_server import ClickhouseServer, clickhouse_server
from tests.support.ports import free_port

FIRST_DAY, DAYS = 20_600, 31
WARM = 10
NOW_MS = (FIRST_DAY + DAYS) * DAY_MS - 17 * 60_000
MONTH = TimeRange(NOW_MS - 30 * DAY_MS, NOW_MS)
SITE = SiteNumber("st_1", 1)
LABELS = tuple(f"label.{number}" for number in range(18))

# One statement a day, as a day is a partition.
FILL = f"""INSERT INTO event (site, id, visitor, duration_us, kind, mode, outcome, would, method, route, action, status,
    ruled, rule, agent, stage, solve_type, error, reasons, labels, request_id, solve_ms)
SELECT if(hash % 100 < 28, 1, 2 + hash % 19), bitShiftLeft({{day}} * {DAY_MS} - {EPOCH_MS}
        + intDiv(number * {DAY_MS}, {{events}}), {TIME_SHIFT}) + number % 4096,
    toInt64(cityHash64(intHash32(number) % 200000)), 100 + hash % 900, if(hash % 10 = 0, 1, 0), 1,
    multiIf(hash % 17 = 0, 1, hash % 23 = 0, 2, 0), NULL, 1, 2 + hash % 5, if(hash % 3 = 0, 7 + hash % 3, NULL), 200,
    1, if(hash % 50 = 0, 10 + hash % 4, NULL), NULL, if(hash % 10 = 0, hash % 3, NULL),
    if(hash % 10 = 0, 1 + hash % 4, NULL), 0, [],
    arrayFilter(label -> cityHash64(number, label) % toUInt64(exp2(label)) = 0, range(1, 18)),
    if(hash % 4 = 0, toString(hash), NULL), if(hash % 10 = 0, 500 + hash % 900, NULL)
FROM (SELECT number, cityHash64(number, {{day}}) AS hash FROM numbers({{events}}))
WHERE {{day}} * {DAY_MS} + intDiv(number * {DAY_MS}, {{events}}) < {NOW_MS}"""


async def fill(stores: Stores, events: int) -> float:
    """Make the events and return how long that took."""
    # First of all: the numbers of labels are 1 to 18, and label N is on one of 2^N events.
    await stores.words.add([(WordKind.LABEL, label) for label in LABELS])
    await stores.words.add([(WordKind.ROUTE, f"/r{number}") for number in range(12)])
    client = stores.segments.session(0)
    assert isinstance(client, ClickhouseClient)
    started_s = time.perf_counter()
    for day in range(FIRST_DAY, FIRST_DAY + DAYS):
        await client.run(FILL.format(day=day, events=events // DAYS))
    return time.perf_counter() - started_s


async def merged(stores: Stores) -> None:
    """Wait until nothing is merged, for two minutes at most."""
    for _ in range(120):
        row = await stores.segments.session(0).one("SELECT count() FROM system.merges")
        if row is None or not row[0]:
            return
        await asyncio.sleep(1)


def reads(stores: Stores, label_of: dict[int, str], visitor: int) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return every read by name."""
    counts, values = stores.traffic.counts, stores.traffic.values
    day, month = TimeRange(NOW_MS - DAY_MS, NOW_MS), MONTH
    visitors, decisions = stores.traffic.visitors, stores.traffic.decisions
    recent, deep = first_id(NOW_MS - 3 * DAY_MS), first_id(NOW_MS - 20 * DAY_MS)

    def page(before: int | None = None, **filters: Any) -> Callable[[], Awaitable[Any]]:
        return lambda: decisions.list_decisions(SITE, month, DecisionFilters(**filters), before=before, limit=50)

    return {
        "decisions, newest": page(),
        "decisions, page of 20 days ago": page(deep),
        "decisions, blocked": page(outcome=Outcome.BLOCK),
        "decisions, challenges": page(kind=DecisionKind.CHALLENGE),
        "decisions, common label": page(label=label_of[1]),
        "decisions, rare label": page(label=label_of[17]),
        "decisions, one visitor": page(visitor=visitor),
        "decision by ID": lambda: decisions.find_decision(SITE, deep),
        "by request ID": lambda: stores.evidence.find_by_request(1, "none"),
        "visitors of a day": lambda: visitors.list_visitors(1, day, before=None, limit=50),
        "visitors of 30 days": lambda: visitors.list_visitors(1, month, before=None, limit=50),
        "visitors of 30 days, 3 days ago": lambda: visitors.list_visitors(1, month, before=recent, limit=50),
        "visitors of 30 days, deep page": lambda: visitors.list_visitors(1, month, before=deep, limit=50),
        "one visitor": lambda: visitors.find_visitor(1, month, visitor),
        "hours of 30 days": lambda: counts.list_hours(1, month),
        "days": lambda: counts.list_days(1, FIRST_DAY, FIRST_DAY + DAYS - 1),
        "durations": lambda: counts.list_durations_us(1, month, 10_000),
        "different visitors of 30 days": lambda: counts.count_sources(1, month),
        "values of a day": lambda: values.count_values(1, day),
        "values of 30 days": lambda: values.count_values(1, month),
        "solve times": lambda: values.list_solve_times_ms(1, month, 1_000),
        "feed": lambda: stores.feed.list_after(
            SITE, after=first_id(NOW_MS - HOUR_MS), until=first_id(NOW_MS), limit=100
        ),
    }


async def measure(server: ClickhouseServer, folder: Path, events: int) -> None:
    """Fill and print."""
    clock = FixedClock(NOW_MS)
    stores = await open_stores(
        msgspec.structs.replace(Settings(), data_dir=folder, events_url=server.new_database()), clock
    )
    try:
        for name, database in stores.databases.items():
            await apply(database, name, clock=clock)
        assert isinstance(stores.segments, ClickhouseDays)
        await stores.segments.migrate(clock)
        if not await stores.events.list_days():
            print(f"{events} events made in {await fill(stores, events):.0f} s")
        await merged(stores)
        texts = await stores.words.texts(range(1, 19))
        newest = await stores.traffic.visitors.list_visitors(1, MONTH, before=None, limit=1)
        for name, read in reads(stores, dict(texts), int(newest.items[0].id, 16)).items():
            took, cpu_s = [], 0.0
            for _ in range(WARM + 1):
                cpu_s, started_s = server.cpu_s() if len(took) == 1 else cpu_s, time.perf_counter()
                await read()
                took.append((time.perf_counter() - started_s) * 1000)
            # The first query is cold. The CPU time covers the whole engine, including concurrent merges.
            cpu_ms = (server.cpu_s() - cpu_s) * 1000 / WARM
            print(f"{name:34} {statistics.median(took[1:]):8.1f} ms, processor time {cpu_ms:8.1f} ms", flush=True)
    finally:
        await stores.close()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path, help="keep the events here, or read what is there already")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        server = stack.enter_context(clickhouse_server(free_port(), folder))
        asyncio.run(measure(server, folder, given.events))


if __name__ == "__main__":
    main()
