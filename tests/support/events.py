"""Events made up for tests and measurements, and the stores to put them into."""

import contextlib
import random
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Dimension, Event
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.clickhouse.events import ClickhouseEvents
from agentgate.events.storage.clickhouse.spool import Spool
from agentgate.events.storage.days.days import EventDays, SegmentDays, day_bounds
from agentgate.events.storage.days.postgres import PostgresSegments
from agentgate.events.storage.days.sqlite import EVENTS, SqliteSegments
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import SqlEvents, read_events
from agentgate.lib.clock import DAY_MS, Clock, FixedClock
from agentgate.lib.enums import ChallengeStage, DecisionKind, Mode, Outcome, SolveType
from agentgate.server.stores.open import READING_THREADS, STATS
from agentgate.storage.clickhouse.client import ClickhouseClient
from agentgate.storage.migrate import MigratedDatabase, apply
from agentgate.storage.postgres.database import PostgresDatabase
from agentgate.storage.sqlite.database import SqliteDatabase

NOON_MS = 1_794_744_000_000  # 2026-11-15T12:00:00Z
DAY = NOON_MS // DAY_MS

OUTCOMES = (Outcome.ALLOW,) * 7 + (Outcome.CHALLENGE, Outcome.BLOCK, Outcome.DROP)
LABELS = tuple(f"http.shape.{number}" for number in range(40)) + tuple(f"net.asn.{number}" for number in range(200))


@dataclass(frozen=True, kw_only=True)
class EventPlace:
    """A place for events: the store, and its databases."""

    stats: MigratedDatabase
    segments: EventDays
    words: KnownWords
    events: SqlEvents | ClickhouseEvents

    async def read(self, day: int = DAY, *, site: int | None = None) -> list[Event]:
        """Return the events of a day as they were stored, oldest first."""
        sql = f"SELECT {', '.join(EVENT_COLUMNS)} FROM event WHERE id >= $1 AND id < $2 ORDER BY id"
        rows = await self.segments.session(day).all(sql, *day_bounds(day))
        wanted = [row for row in rows if site in {None, row[1]}]
        return await read_events(wanted, self.words, lambda event: event)

    async def count(self, day: int = DAY) -> int:
        """Return how many events a day has."""
        row = await self.segments.session(day).one(
            "SELECT count(*) FROM event WHERE id >= $1 AND id < $2", *day_bounds(day)
        )
        return int(row[0]) if row else 0


@contextlib.asynccontextmanager
async def embedded_events(folder: Path, *, clock: Clock | None = None) -> AsyncIterator[EventPlace]:
    """Keep events in a folder."""
    clock = clock or FixedClock(NOON_MS)
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240 - nobody waits for this loop
    reads = ThreadPoolExecutor(READING_THREADS)
    stats = SqliteDatabase(folder / "stats.db", reads=reads)
    segments = SqliteSegments(folder / EVENTS, clock, reads)
    try:
        await apply(stats, STATS, clock=clock)
        yield _place(stats, segments)
    finally:
        await segments.close()
        await stats.close()
        reads.shutdown()


@contextlib.asynccontextmanager
async def postgres_events(url: str, *, clock: Clock | None = None) -> AsyncIterator[EventPlace]:
    """Keep events in PostgreSQL."""
    database = PostgresDatabase(url, acquire_timeout_s=5)
    try:
        for name in (STATS, EVENTS):
            await apply(database, name, clock=clock or FixedClock(NOON_MS))
        yield _place(database, PostgresSegments(database))
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def clickhouse_events(url: str, folder: Path, *, spool_bytes: int = 10**7) -> AsyncIterator[EventPlace]:
    """Keep events in ClickHouse, and everything else in a folder."""
    clock = FixedClock(NOON_MS)
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240 - nobody waits for this loop
    stats = SqliteDatabase(folder / "stats.db")
    # Patient, because a slow machine is not what the tests are about.
    client = ClickhouseClient(url, answer_s=60, insert_s=60)
    days = ClickhouseDays(client)
    words = KnownWords(stats)
    spool = Spool(folder / "spool", most_bytes=spool_bytes)
    try:
        await apply(stats, STATS, clock=clock)
        await days.migrate(clock)
        events = ClickhouseEvents(stats, client, days, words, spool=spool, clock=clock)
        yield EventPlace(stats=stats, segments=days, words=words, events=events)
    finally:
        await days.close()
        await stats.close()


@contextlib.asynccontextmanager
async def events_on(kind: str, request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[EventPlace]:
    """Keep events on the store of this kind, for fixtures that take several."""
    if kind == "sqlite":
        async with embedded_events(folder) as place:
            yield place
    elif kind == "clickhouse":
        async with clickhouse_events(request.getfixturevalue("clickhouse_url"), folder) as place:
            yield place
    else:
        async with postgres_events(request.getfixturevalue("migrated_url")) as place:
            yield place


def _place(stats: Any, segments: SegmentDays) -> EventPlace:
    words = KnownWords(stats)
    return EventPlace(stats=stats, segments=segments, words=words, events=SqlEvents(stats, segments, words))


def new_event(number: int = 0, *, time_ms: int = NOON_MS, **changes: Any) -> Event:
    """Return a plain allowed request; `number` keeps the IDs of one millisecond apart."""
    usual: dict[str, Any] = {
        "id": first_id(time_ms) + number,
        "site": 1,
        "visitor": 0xFEED_0000_0000_0000 + number,
        "kind": DecisionKind.REQUEST,
        "mode": Mode.ENFORCE,
        "outcome": Outcome.ALLOW,
        "method": "GET",
        "route": "/login",
        "action": "login",
        "status": 200,
        "duration_us": 300,
        "labels": ("http.shape.1", "net.asn.7"),
    }
    return Event(**usual | changes)


def many_events(count: int, *, seed: int = 1, day: int = DAY, span_ms: int = DAY_MS) -> list[Event]:
    """Return events like real traffic, oldest first, spread over the first part of a day.

    Visitors keep their browser and network, so their labels occur in a few hundred combinations.
    """
    chance = random.Random(seed)
    profiles = [tuple(sorted({chance.choice(LABELS) for _ in range(6)})) for _ in range(500)]
    moments = sorted(day * DAY_MS + chance.randrange(span_ms) for _ in range(count))
    return [_some_event(chance, number % (1 << 22), moment_ms, profiles) for number, moment_ms in enumerate(moments)]


def _some_event(chance: random.Random, number: int, time_ms: int, profiles: list[tuple[str, ...]]) -> Event:
    is_challenge = chance.random() < 0.1
    outcome = chance.choice(OUTCOMES)
    monitored = chance.random() < 0.2
    blocked = outcome is not Outcome.ALLOW
    # Numbers spread over all 64 bits, as hashes are.
    visitor = chance.randrange(1, 20_000) * 0x9E37_79B9_7F4A_7C15 % 2**64
    return new_event(
        number,
        time_ms=time_ms,
        site=min(20, int(chance.paretovariate(0.7))),
        visitor=visitor,
        kind=DecisionKind.CHALLENGE if is_challenge else DecisionKind.REQUEST,
        mode=Mode.MONITOR if monitored else Mode.ENFORCE,
        outcome=Outcome.ALLOW if monitored else outcome,
        would=outcome if monitored and blocked else None,
        route=f"/route/{chance.randrange(12)}",
        action=chance.choice(("login", "checkout", "search", None)),
        duration_us=chance.randrange(50, 3_000),
        reasons=("rule:" + chance.choice("abcdef"),) if blocked else (),
        labels=profiles[visitor % len(profiles)],
        rule=f"rule-{chance.randrange(30)}" if blocked else None,
        rule_set_version="3-1f2e3d4c",
        scores={"agent": round(chance.random(), 4), "bot": round(chance.random(), 4)},
        model_versions={"agent": "1.0.0", "bot": "1.0.0"},
        agent="GPTBot" if chance.random() < 0.03 else None,
        request_id=f"req_{chance.getrandbits(80):020x}",
        stage=chance.choice(list(ChallengeStage)) if is_challenge else None,
        solve_type=chance.choice(list(SolveType)) if is_challenge else None,
        solve_ms=chance.randrange(5_000) if is_challenge else None,
    )


def values_of(event: Event) -> list[tuple[Dimension, str | None]]:
    """Return what an event counts for: routes, agents and reasons of requests only, and checks apart."""
    pairs: list[tuple[Dimension, str | None]] = [
        (Dimension.ACTION, event.action),
        (Dimension.RULE, event.rule),
        (Dimension.SOLVE_TYPE, event.solve_type),
        *((Dimension.LABEL, label) for label in event.labels),
    ]
    if event.kind is DecisionKind.CHALLENGE:
        return [
            *pairs,
            (Dimension.CHECK_ACTION, event.action),
            *((Dimension.CHECK_LABEL, each) for each in event.labels),
        ]
    pairs += [(Dimension.ROUTE, event.route), (Dimension.AGENT, event.agent)]
    pairs += [(Dimension.REASON, reason) for reason in event.reasons]
    for counts, by_rule, by_reason in (
        (event.outcome is not Outcome.ALLOW, Dimension.REFUSED_RULE, Dimension.REFUSED_REASON),
        (event.would is not None, Dimension.WOULD_RULE, Dimension.WOULD_REASON),
    ):
        if counts:
            pairs += [(by_reason, each) for each in event.reasons] if event.rule is None else [(by_rule, event.rule)]
    return pairs
