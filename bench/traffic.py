"""Duration of the traffic read models over 31 days of events on 20 sites: first, warm, and relative to a point read.

`python -m bench.traffic [--events N] [--days 31] [--store sqlite|postgres|both] [--folder DIR] [--keep DIR]`. Reads are
for the busiest site, which has about 28% of all events. Ten million events take some minutes to write; a million on
three days are as dense.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agentgate.events.decision_ids import first_id
from agentgate.events.queries.analytics import read_site_analytics
from agentgate.events.queries.metrics import read_site_metrics
from agentgate.events.queries.ports import DecisionFilters, SiteNumber
from agentgate.events.queries.queries import TrafficTerms
from agentgate.events.records import Count, CounterName, Event
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.lib.enums import ChallengeStage, DecisionKind, Mode, Outcome, SolveType
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.server.stores.open import Stores, open_stores
from agentgate.sites.records import Site
from agentgate.storage.migrate import apply
from bench.events_postgres import durable_server, processor_s
from tests.store.sql_objects import new_site

DAYS = 31
SITES = 20
FIRST_DAY = 20_600
# The last day is still open.
NOW_MS = (FIRST_DAY + DAYS - 1) * DAY_MS + 18 * HOUR_MS
BATCH = 5_000
ROUNDS = 7
SITE = SiteNumber("st_1", 1)
_SITE = new_site("st_1", site_key="site_bench01")

_WEIGHTS = [1 / rank for rank in range(1, SITES + 1)]
_LABELS = [
    f"{source}.{name}" for source in ("ua", "http", "net", "behavior") for name in ("odd", "old", "fast", "bare")
]
_NETWORKS = [f"net.asn.{64_000 + number}" for number in range(800)]
_COUNTRIES = [f"net.country.{a}{b}" for a in "abcdef" for b in "klmnop"]
_RULES = [f"rule-{number}" for number in range(30)]
_ROUTES = [f"/page/{number}" for number in range(60)]

Ask = Callable[[], Awaitable[Any]]


def make_events(total: int, days: int = DAYS) -> Iterator[list[Event]]:
    """Yield batches of events of the last so many days, each of one day, in the order of time."""
    chance = random.Random(7)
    # As many as the whole month would have, so that each comes as often in a day.
    several = max(total * DAYS // days // 50 // SITES, 50)
    visitors = [[chance.getrandbits(64) for _ in range(several)] for _ in range(SITES)]
    per_day = total // days
    for day in range(FIRST_DAY + DAYS - days, FIRST_DAY + DAYS):
        length_ms = min(DAY_MS, NOW_MS - day * DAY_MS)
        batch = []
        for place in range(per_day):
            moment_ms = day * DAY_MS + place * length_ms // per_day
            batch.append(_event(chance, first_id(moment_ms) + place % 4_000, visitors))
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


def _event(chance: random.Random, number: int, visitors: list[list[int]]) -> Event:
    site = chance.choices(range(SITES), _WEIGHTS)[0]
    # A few visitors are behind many events.
    own = visitors[site]
    visitor = own[int(len(own) * chance.random() ** 2)]
    labels = {chance.choice(_LABELS), chance.choice(_LABELS), chance.choice(_NETWORKS), chance.choice(_COUNTRIES)}
    if chance.random() < 0.0005:
        labels.add("list.rare")
    request = chance.random() < 0.9
    outcome = chance.choices(list(Outcome), (80, 8, 10, 2))[0] if request else Outcome.ALLOW
    return Event(
        id=number,
        site=site + 1,
        visitor=visitor,
        kind=DecisionKind.REQUEST if request else DecisionKind.CHALLENGE,
        mode=Mode.ENFORCE,
        outcome=outcome,
        would=Outcome.BLOCK if outcome is Outcome.ALLOW and chance.random() < 0.05 else None,
        method="GET",
        route=chance.choice(_ROUTES),
        action=chance.choice(("login", "submit", "buy", None)),
        status=200,
        duration_us=int(chance.expovariate(1 / 40)),
        reasons=("policy",) if outcome is not Outcome.ALLOW else (),
        labels=tuple(sorted(labels)),
        rule=None if outcome is Outcome.ALLOW else chance.choice(_RULES) if chance.random() < 0.999 else "rare-rule",
        rule_set_version="1-00000000",
        scores={"bot": round(chance.random(), 4)},
        model_versions={"bot": "1"},
        stage=None if request else chance.choice(list(ChallengeStage)),
        solve_type=None if request else SolveType.MANAGED,
        solve_ms=None if request else int(chance.expovariate(1 / 900)),
    )


async def fill(stores: Stores, total: int, days: int, server_s: Callable[[], float]) -> None:
    """Write the events through the usual way, then roll up the days that have ended; print what both took."""
    written = wall_s = own_s = other_s = 0.0
    for batch in make_events(total, days):
        began, began_own_s, began_other_s = time.perf_counter(), time.process_time(), server_s()
        await stores.events.write(batch)
        written += len(batch)
        wall_s += time.perf_counter() - began
        own_s += time.process_time() - began_own_s
        other_s += server_s() - began_other_s
    began, began_own_s, began_other_s = time.perf_counter(), time.process_time(), server_s()
    await stores.events.close_days(now_ms=NOW_MS)
    closing_s = time.process_time() - began_own_s + server_s() - began_other_s
    print(
        f"written: {written / wall_s:,.0f} events/s by the clock, {written / (own_s + other_s):,.0f}"
        f" per processor second ({own_s / written * 1e6:.1f} us an event here,"
        f" {other_s / written * 1e6:.1f} us in the server)\n"
        f"closing the days: {time.perf_counter() - began:.0f} s, {closing_s / written * 1e6:.1f} us an event",
        flush=True,
    )
    hours = range(NOW_MS // HOUR_MS - DAYS * 24, NOW_MS // HOUR_MS)
    names = (CounterName.SITEVERIFY_SUCCESS, CounterName.TOKENS_ISSUED, CounterName.SERVER_CHECK)
    await stores.events.add_counts([Count(SITE.number, hour, name, "", 5) for hour in hours for name in names])


def last(days: float, *, until_ms: int = NOW_MS - 1234) -> TimeRange:
    """Return a range that begins and ends within an hour."""
    return TimeRange(until_ms - int(days * DAY_MS), until_ms)


def reads(stores: Stores, site: Site, a_decision: int, a_visitor: int) -> Mapping[str, Ask]:
    """Return the reads by name."""
    traffic = stores.traffic
    terms = TrafficTerms(event_days=DAYS, metric_days=400, trace_url_template="", count_write_failures=lambda: 0)
    deep = first_id(NOW_MS - 20 * DAY_MS)

    def decisions(span: TimeRange, before: int | None = None, limit: int = 50, **filters: Any) -> Ask:
        return lambda: traffic.decisions.list_decisions(
            SITE, span, DecisionFilters(**filters), before=before, limit=limit
        )

    def visitors(span: TimeRange, before: int | None = None, limit: int = 50) -> Ask:
        return lambda: traffic.visitors.list_visitors(SITE.number, span, before=before, limit=limit)

    def metrics(span: TimeRange) -> Ask:
        return lambda: read_site_metrics(traffic.counts, site, SITE.number, span, terms=terms, now_ms=NOW_MS)

    def analytics(span: TimeRange) -> Ask:
        return lambda: read_site_analytics(traffic, site.site_key, SITE.number, span, terms=terms, now_ms=NOW_MS)

    return {
        "decision by ID (reference)": lambda: traffic.decisions.find_decision(SITE, a_decision),
        "decisions 24 h": decisions(last(1)),
        "decisions 31 d, 200": decisions(last(31), limit=200),
        "decisions deep": decisions(last(31), deep),
        "kind=challenge": decisions(last(31), kind=DecisionKind.CHALLENGE),
        "kind=challenge deep": decisions(last(31), deep, kind=DecisionKind.CHALLENGE),
        "outcome=block": decisions(last(31), outcome=Outcome.BLOCK),
        "outcome=allow": decisions(last(31), outcome=Outcome.ALLOW),
        "wouldDecision=block": decisions(last(31), would=Outcome.BLOCK),
        "wouldDecision=drop (none)": decisions(last(31), would=Outcome.DROP),
        "rule common": decisions(last(31), rule="rule-1"),
        "rule rare": decisions(last(31), rule="rare-rule"),
        "label common": decisions(last(31), label="ua.odd"),
        "label rare": decisions(last(31), label="list.rare"),
        "label absent": decisions(last(31), label="list.never"),
        "visitor": decisions(last(31), visitor=a_visitor),
        "action": decisions(last(31), action="login"),
        "label + rule + action": decisions(last(31), label="list.rare", rule="rule-1", action="login"),
        "visitor + outcome=drop": decisions(last(31), visitor=a_visitor, outcome=Outcome.DROP),
        "outcome=allow + wouldDecision=drop": decisions(last(31), outcome=Outcome.ALLOW, would=Outcome.DROP),
        "queue=labelling": decisions(last(31), labelling=True),
        "visitors 24 h": visitors(last(1)),
        "visitors 31 d": visitors(last(31)),
        "visitors 31 d, 200": visitors(last(31), limit=200),
        "visitors deep, day 20": visitors(last(31), deep),
        "visitors deep, day 3": visitors(last(31), first_id(NOW_MS - 28 * DAY_MS)),
        "visitor detail": lambda: traffic.visitors.find_visitor(SITE.number, last(31), a_visitor),
        "metrics 24 h": metrics(last(1)),
        "metrics 7 d": metrics(last(7)),
        "metrics 30 d": metrics(last(30)),
        "metrics 92 d": metrics(last(92)),
        "analytics 24 h": analytics(last(1)),
        "analytics 30 d": analytics(last(30)),
        "analytics 92 d": analytics(last(92)),
        # Nothing is as far from whole hours.
        "metrics 30 d, half past": metrics(last(30, until_ms=NOW_MS - HOUR_MS // 2)),
        "analytics 30 d, half past": analytics(last(30, until_ms=NOW_MS - HOUR_MS // 2)),
        "health": lambda: stores.site_health.count_health(
            SITE.number, from_ms=NOW_MS - DAY_MS, to_ms=NOW_MS, tokens_to_ms=NOW_MS - 120_000
        ),
        "install": lambda: stores.site_health.find_sighting(SITE.number),
    }


class Took(NamedTuple):
    """Milliseconds: wall-clock and CPU time of the first read, then median and best wall-clock time of some rounds,
    and their CPU time here and in the server."""

    first: float
    first_processor: float
    median: float
    best: float
    processor: float
    server: float


async def timed_ms(ask: Ask, server_s: Callable[[], float]) -> Took:
    """Return what a first read and some rounds after it take."""
    took, used = [], []
    began_server_s = server_s()
    for _ in range(ROUNDS + 1):
        began, began_processor = time.perf_counter(), time.process_time()
        await ask()
        took.append((time.perf_counter() - began) * 1000)
        used.append((time.process_time() - began_processor) * 1000)
    # The server's time has a resolution of 10 ms, so only the mean of all rounds is meaningful.
    server_ms = (server_s() - began_server_s) * 1000 / (ROUNDS + 1)
    median_ms, processor_ms = statistics.median(took[1:]), statistics.median(used[1:])
    return Took(took[0], used[0], median_ms, min(took[1:]), processor_ms, server_ms)


async def measure(
    name: str, settings: Settings, total: int, *, days: int = DAYS, server_s: Callable[[], float] = lambda: 0.0
) -> None:
    """Fill a store and print how long each read takes."""
    clock = FixedClock(NOW_MS)
    stores = await open_stores(settings, clock)
    try:
        for set_name, database in stores.databases.items():
            await apply(database, set_name, clock=clock)
        # A folder may have been filled by an earlier version.
        await stores.segments.migrate(clock)
        if not await stores.events.list_days():
            began = time.perf_counter()
            await fill(stores, total, days, server_s)
            print(f"\n{name}: {total:,} events written in {time.perf_counter() - began:.0f} s", flush=True)
        newest = await stores.traffic.decisions.list_decisions(
            SITE, last(31), DecisionFilters(), before=None, limit=200
        )
        number = first_id(newest.items[0].time)
        busiest = await stores.traffic.visitors.list_visitors(SITE.number, last(1), before=None, limit=200)
        visitor = int(max(busiest.items, key=lambda visitor: visitor.requests).id, 16)
        names = list(reads(stores, _SITE, number, visitor))
    finally:
        await stores.close()
    reference_ms = 0.0
    print(f"{'':38} {'first read':>17} {'warm':>9}")
    print(f"{'read':38} {'ms':>8} {'processor':>8} {'ms':>9} {'best':>8} {'ratio':>8} {'processor':>13} {'server':>8}")
    for what in names:
        # Opened again, so that nothing is cached in the process; the machine has the files in memory.
        stores = await open_stores(settings, clock)
        try:
            took = await timed_ms(reads(stores, _SITE, number, visitor)[what], server_s)
        finally:
            await stores.close()
        reference_ms = reference_ms or took.median
        first = f"{took.first:8.1f} {took.first_processor:9.1f}"
        warm = f"{took.median:9.2f} {took.best:8.2f} {took.median / reference_ms:8.1f}"
        print(f"{what:38} {first} {warm} {took.processor:13.2f} {took.server:8.2f}", flush=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--days", type=int, choices=range(1, DAYS + 1), default=DAYS, metavar="N")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--folder", type=Path, help="keep the embedded store here, or read what is there already")
    parser.add_argument("--keep", type=Path, help="likewise for PostgreSQL")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environ = {"AGENTGATE_DATA_DIR": str(folder / "data")}
        if given.store in {"sqlite", "both"}:
            asyncio.run(measure("SQLite", read_settings(environ), given.events, days=given.days))
        if given.store in {"postgres", "both"}:
            server, environ["AGENTGATE_DATABASE_URL"] = stack.enter_context(durable_server(given.keep))
            settings = read_settings(environ)
            of_server = partial(processor_s, server)
            asyncio.run(measure("PostgreSQL", settings, given.events, days=given.days, server_s=of_server))


if __name__ == "__main__":
    main()
