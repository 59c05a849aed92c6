"""Stores with made-up events in them, and the expected results of the read models, counted the plain way.

Each history has separate days, so that many can follow each other in one store without meeting.
"""

import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck
from hypothesis import settings as examples
from hypothesis import strategies as st

from agentgate.events.decision_ids import first_id, id_day, id_time_ms
from agentgate.events.queries.ports import Counts
from agentgate.events.records import Event
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.lib.enums import ChallengeStage, DecisionKind, Mode, Outcome, SolveType
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.open import Stores, open_stores
from agentgate.storage.migrate import apply

FIRST_DAY = 20_600  # 2026-05-27
DAYS = 4
SITE = 1

# Few examples, because each has separate databases; their content is varied enough.
property_test = examples(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

_VISITORS = (None, 0, 1, 2**63 - 1, 2**63, 2**64 - 1)
_WORDS = ("a", "b", "ü")
_LABELS = ("net.country.de", "net.tor", "ua.library")


def _optional(values: Iterable[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from([None, *values])


# Moments cluster around the hours and midnights where counting could go wrong.
offsets = st.one_of(
    st.integers(0, DAYS * DAY_MS - 1),
    st.builds(
        lambda hour, off: min(max(hour * HOUR_MS + off, 0), DAYS * DAY_MS - 1),
        st.integers(0, DAYS * 24),
        st.integers(-2, 2),
    ),
)

_request = st.fixed_dictionaries(
    {
        "kind": st.just(DecisionKind.REQUEST),
        "outcome": st.sampled_from(Outcome),
        "would": _optional(Outcome),
        "duration_us": st.integers(0, 10_000),
        "error": st.booleans(),
    }
)
_challenge = st.fixed_dictionaries(
    {
        "kind": st.just(DecisionKind.CHALLENGE),
        "outcome": st.sampled_from(Outcome),
        "stage": st.sampled_from(ChallengeStage),
        "solve_type": _optional(SolveType),
        "solve_ms": _optional([0, 5, 700]),
        "duration_us": st.just(7),
    }
)
_anything = st.fixed_dictionaries(
    {
        "site": st.sampled_from([SITE, SITE, SITE, 2]),
        "visitor": st.sampled_from(_VISITORS),
        "mode": st.sampled_from(Mode),
        "route": st.sampled_from(["/login", "/api/*", "*"]),
        "action": _optional(["login", "submit"]),
        "rule": _optional(_WORDS),
        "agent": _optional(_WORDS),
        "reasons": st.lists(st.sampled_from(_WORDS), unique=True, max_size=2).map(tuple),
        "labels": st.lists(st.sampled_from(["net.tor", "ua.library", "net.country.de"]), unique=True, max_size=3).map(
            lambda labels: tuple(sorted(labels))
        ),
    }
)


def dense_history(seed: int) -> list[Any]:
    """Return many events of few visitors over all days, which drawing one by one hardly ever makes."""
    chance = random.Random(seed)
    made = []
    for _ in range(chance.randrange(20, 120)):
        common = {
            "site": chance.choice([SITE, SITE, SITE, 2]),
            "visitor": chance.choice(_VISITORS),
            "mode": chance.choice(list(Mode)),
            "route": chance.choice(["/login", "/api/*", "*"]),
            "action": chance.choice([None, "login", "submit"]),
            "rule": chance.choice([None, *_WORDS]),
            "agent": chance.choice([None, *_WORDS]),
            "reasons": tuple(chance.sample(_WORDS, chance.randrange(3))),
            "labels": tuple(sorted(chance.sample(_LABELS, chance.randrange(4)))),
        }
        request = {
            "kind": DecisionKind.REQUEST,
            "outcome": chance.choice(list(Outcome)),
            "would": chance.choice([None, *Outcome]),
            "duration_us": chance.randrange(10_000),
            "error": chance.random() < 0.2,
        }
        challenge = {
            "kind": DecisionKind.CHALLENGE,
            "outcome": chance.choice(list(Outcome)),
            "stage": chance.choice(list(ChallengeStage)),
            "solve_type": chance.choice([None, *SolveType]),
            "solve_ms": chance.choice([None, 0, 5, 700]),
            "duration_us": 7,
        }
        at_ms = chance.randrange(DAYS * DAY_MS)
        made.append((at_ms, common, request if chance.random() < 0.7 else challenge))
    return made


histories = st.one_of(
    st.lists(st.tuples(offsets, _anything, st.one_of(_request, _request, _challenge)), max_size=20),
    st.integers(0, 2**32).map(dense_history),
    st.integers(0, 2**32).map(dense_history),
)
# How many of the days are rolled up before the reads.
closed_days = st.integers(0, DAYS)


@st.composite
def spans(draw: Any) -> tuple[int, int]:
    """Return a range as two offsets."""
    # Wide ones ask most; drawing two ends freely makes many narrow ones.
    wide = draw(st.booleans())
    first = draw(st.integers(0, DAY_MS) if wide else offsets)
    second = draw(st.integers((DAYS - 1) * DAY_MS, DAYS * DAY_MS) if wide else offsets)
    align = draw(st.sampled_from([1, 1, HOUR_MS, DAY_MS]))
    start, end = min(first, second) // align * align, -(-max(first, second) // align) * align
    return start, max(end, start + 1)


@dataclass
class Traffic:
    """Opened stores, and where the next history begins."""

    stores: Stores
    next_day: int = FIRST_DAY

    async def play(self, history: list[Any], closed: int) -> "Played":
        """Write a history, roll up some of its days, and return what it was."""
        day = self.next_day
        self.next_day += DAYS + 2
        events = [
            Event(
                **{"method": "GET", "status": 200, **common, **particular},
                id=first_id(day * DAY_MS + offset) + place,
            )
            for place, (offset, common, particular) in enumerate(history)
        ]
        events.sort(key=lambda event: event.id)
        for of_day in range(day, day + DAYS):
            batch = [event for event in events if id_day(event.id) == of_day]
            if batch:
                await self.stores.events.write(batch)
        await self.stores.events.close_days(now_ms=(day + closed) * DAY_MS + HOUR_MS)
        return Played(day, events)


@dataclass(frozen=True)
class Played:
    """A history that was written."""

    day: int
    events: list[Event]

    def span(self, ends: tuple[int, int]) -> TimeRange:
        """Return the range between two offsets."""
        return TimeRange(self.day * DAY_MS + ends[0], self.day * DAY_MS + ends[1])

    def within(self, span: TimeRange, site: int = SITE) -> list[Event]:
        """Return the site's events of a range, newest first."""
        found = [e for e in self.events if e.site == site and span.from_ms <= id_time_ms(e.id) < span.to_ms]
        return sorted(found, key=lambda event: -event.id)


@contextlib.asynccontextmanager
async def opened_traffic(settings: Settings) -> AsyncIterator[Traffic]:
    """Open and migrate the stores, and close them afterwards."""
    clock = FixedClock(FIRST_DAY * DAY_MS)
    stores = await open_stores(settings, clock)
    try:
        for name, database in stores.databases.items():
            await apply(database, name, clock=clock)
        await stores.segments.migrate(clock)
        yield Traffic(stores)
    finally:
        await stores.close()


def counts_of(events: Iterable[Event]) -> Counts:
    """Count events the plain way."""
    found: Counter[str] = Counter()
    outcomes = {"allow": "allowed", "challenge": "challenged", "block": "blocked", "drop": "dropped"}
    for event in events:
        if event.kind is DecisionKind.CHALLENGE:
            found[f"challenges_{event.stage}"] += 1
            continue
        found["requests"] += 1
        found[outcomes[event.outcome]] += 1
        if event.would not in {None, Outcome.ALLOW}:
            found[f"would_{event.would}"] += 1
        found["duration_us"] += event.duration_us
        found["errors"] += event.error
    return Counts(**found)
