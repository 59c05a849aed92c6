"""Events on every store: what is written is read, and every counter equals a count over the events."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgate.events.decision_ids import first_id, id_time_ms
from agentgate.events.records import Count, CounterName, Dimension, Event, Pattern, Repeated
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.clickhouse.schema import TABLES
from agentgate.events.storage.codes import SOLVE_TYPES
from agentgate.events.storage.dictionary import KnownWords, WordKind
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import ChallengeStage, DecisionKind, Mode, Outcome, SolveType
from tests.support.events import DAY, NOON_MS, EventPlace, embedded_events, events_on, many_events, new_event, values_of

pytestmark = pytest.mark.anyio

COUNTED = (
    *("requests", "allowed", "challenged", "blocked", "dropped", "would_challenge", "would_block", "would_drop"),
    *("challenges_issued", "challenges_passed", "challenges_failed", "duration_us", "errors", "last_event_ms"),
)


@pytest.fixture(params=["sqlite", "postgres", "clickhouse"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventPlace]:
    async with events_on(request.param, request, tmp_path / "events") as place:
        yield place


@pytest.fixture(params=["sqlite", "postgres"])
async def sql_place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventPlace]:
    async with events_on(request.param, request, tmp_path / "events") as place:
        yield place


# Neither NUL nor lone surrogates, which no database keeps.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
lists = st.lists(texts, max_size=5, unique=True).map(tuple)
figures = st.dictionaries(st.sampled_from(["agent", "bot", "content"]), st.floats(0, 1).map(lambda x: round(x, 4)))
versions = st.dictionaries(st.sampled_from(["agent", "bot", "content"]), st.text("0123456789.", min_size=1, max_size=6))


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    """Return events of one day, of a few sites, with IDs that differ."""
    offsets = draw(st.lists(st.integers(0, DAY_MS * 1000 - 1), min_size=1, max_size=15, unique=True))
    return [draw(event(DAY * DAY_MS + offset // 1000, offset % 1000)) for offset in sorted(offsets)]


def event(time_ms: int, number: int) -> st.SearchStrategy[Event]:
    """Return any event of a moment: each field that can be there or not, either way."""
    return st.builds(
        Event,
        id=st.just(first_id(time_ms) + number),
        site=st.integers(1, 3),
        visitor=st.none() | st.integers(0, 2**64 - 1),
        kind=st.sampled_from(DecisionKind),
        mode=st.sampled_from(Mode),
        outcome=st.sampled_from(Outcome),
        would=st.none() | st.sampled_from([Outcome.CHALLENGE, Outcome.BLOCK, Outcome.DROP]),
        method=st.sampled_from(["GET", "POST"]),
        route=texts,
        action=st.none() | texts,
        status=st.integers(100, 599),
        duration_us=st.integers(0, 10_000_000),
        reasons=lists,
        labels=lists,
        ruled=st.booleans(),
        rule=st.none() | texts,
        rule_set_version=st.none() | texts,
        scores=figures,
        model_versions=versions,
        shadow_scores=figures,
        shadow_versions=versions,
        agent=st.none() | texts,
        request_id=st.none() | texts,
        trace_id=st.none() | texts,
        stage=st.none() | st.sampled_from(ChallengeStage),
        solve_type=st.none() | st.sampled_from(SolveType),
        solve_ms=st.none() | st.integers(0, 10**9),
        error=st.booleans(),
    )


def reference_hours(made: list[Event]) -> dict[tuple[int, int], dict[str, int]]:
    """Count events the plain way, column by column."""
    hours: dict[tuple[int, int], dict[str, int]] = {}
    for each in made:
        time_ms = id_time_ms(each.id)
        counts = hours.setdefault((each.site, time_ms // HOUR_MS), dict.fromkeys(COUNTED, 0))
        counts["last_event_ms"] = max(counts["last_event_ms"], time_ms)
        if each.kind is DecisionKind.CHALLENGE:
            if each.stage is not None:
                counts[f"challenges_{each.stage}"] += 1
            continue
        counts["requests"] += 1
        counts[
            {"allow": "allowed", "challenge": "challenged", "block": "blocked", "drop": "dropped"}[each.outcome]
        ] += 1
        if each.would is not None:
            counts[f"would_{each.would}"] += 1
        counts["duration_us"] += each.duration_us
        counts["errors"] += each.error
    return hours


def reference_values(made: list[Event]) -> Counter[tuple[int, int, Dimension, str]]:
    """Count the values of dimensions the plain way, as texts."""
    found: Counter[tuple[int, int, Dimension, str]] = Counter()
    for each in made:
        hour = id_time_ms(each.id) // HOUR_MS
        found.update((each.site, hour, dimension, value) for dimension, value in values_of(each) if value is not None)
    return found


async def stored_hours(place: EventPlace) -> dict[tuple[int, int], dict[str, int]]:
    rows = await place.segments.session(DAY).all(f"SELECT site, hour, {', '.join(COUNTED)} FROM site_hour")
    return {(site, hour): dict(zip(COUNTED, counts, strict=True)) for site, hour, *counts in rows}


async def stored_values(place: EventPlace) -> dict[tuple[int, int, Dimension, str], int]:
    rows = await place.segments.session(DAY).all("SELECT site, hour, dimension, value, events FROM dimension_hour")
    words = await place.words.texts([row[3] for row in rows])
    return {
        (site, hour, Dimension(dimension), SOLVE_TYPES[value] if dimension == 7 else words[value]): counted  # type: ignore[misc]
        for site, hour, dimension, value, counted in rows
    }


async def clear(place: EventPlace) -> None:
    """Make room for the next example: nothing of the one before may be counted with it."""
    if isinstance(place.segments, ClickhouseDays):
        # An example may come again, and ClickHouse must not take its batches for repeated ones.
        for table in TABLES:
            await place.segments.drop_partition(table, DAY)
        return
    for site in (1, 2, 3):
        await place.events.forget_site(site)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=events(), seed=st.integers(0, 2**32))
async def test_what_is_written_is_read_and_counted_exactly(place: EventPlace, kinds: list[Event], seed: int) -> None:
    await clear(place)
    chance = Random(seed)
    # Each of them may come again, as itself or as one more of a pattern, within a batch and in later ones.
    patterns = [Pattern(each) for each in kinds]
    moments = sorted(chance.sample(range(DAY_MS), 3 * len(kinds)))
    repeated = [
        Repeated(first_id(DAY * DAY_MS + moment) + 2_000 + place_of, each.event.visitor, 7, each)
        for place_of, moment in enumerate(moments)
        for each in [chance.choice(patterns)]
    ]
    given = sorted([*kinds, *repeated], key=lambda each: each.id)
    made = [each.whole() if isinstance(each, Repeated) else each for each in given]

    middle = chance.randrange(len(given))
    for batch in filter(None, (given[:middle], given[middle:])):
        await place.events.write(
            [chance.choice((each, each.whole())) if isinstance(each, Repeated) else each for each in batch]
        )

    assert await place.read() == made
    assert await stored_hours(place) == reference_hours(made)
    assert await stored_values(place) == dict(reference_values(made))


async def test_each_label_of_an_event_leads_back_to_it(place: EventPlace) -> None:
    await place.events.write([new_event(1, labels=("a", "b")), new_event(2, labels=("b",)), new_event(3, site=2)])

    number = await place.words.find(WordKind.LABEL, "b")
    rows = await place.segments.session(DAY).all("SELECT id FROM event_label WHERE site = 1 AND label = $1", number)

    assert sorted(row[0] for row in rows) == [new_event(1).id, new_event(2).id]


async def test_a_repeated_attempt_writes_nothing_twice(place: EventPlace) -> None:
    batch = [new_event(1), new_event(2)]
    await place.events.write(batch)

    await place.events.write(batch, again=True)

    assert await place.count() == 2
    assert [hour["requests"] for hour in (await stored_hours(place)).values()] == [2]


async def test_a_repeated_attempt_writes_what_the_first_did_not(place: EventPlace) -> None:
    await place.events.write([new_event(1)], again=True)

    assert await place.count() == 1


async def test_a_batch_with_an_event_that_exists_already_leaves_no_trace(sql_place: EventPlace) -> None:
    # ClickHouse knows whole batches again, not single events.
    await sql_place.events.write([new_event(2)])

    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        await sql_place.events.write([new_event(1), new_event(2)])

    assert await sql_place.count() == 1
    assert [hour["requests"] for hour in (await stored_hours(sql_place)).values()] == [1]


async def test_a_batch_of_two_days_is_rejected(place: EventPlace) -> None:
    with pytest.raises(ValueError, match="one UTC day"):
        await place.events.write([new_event(1), new_event(2, time_ms=NOON_MS + DAY_MS)])


async def test_another_process_reads_the_words_of_this_one(place: EventPlace) -> None:
    await place.events.write([new_event(labels=("net.asn.7",), route="/a")])
    other = KnownWords(place.stats)  # type: ignore[arg-type]

    assert await other.find(WordKind.ROUTE, "/a") == await place.words.find(WordKind.ROUTE, "/a")
    assert await other.find(WordKind.ROUTE, "/never") is None
    number = await other.find(WordKind.LABEL, "net.asn.7")
    assert number is not None
    assert (await other.texts([number]))[number] == "net.asn.7"


async def test_two_dictionaries_that_add_the_same_words_agree(place: EventPlace) -> None:
    first, second = KnownWords(place.stats), KnownWords(place.stats)  # type: ignore[arg-type]
    await first.add([(WordKind.LABEL, "a"), (WordKind.LABEL, "b")])
    await second.add([(WordKind.LABEL, "b"), (WordKind.LABEL, "c"), (WordKind.ROUTE, "b")])
    await first.add([(WordKind.LABEL, "c"), (WordKind.LABEL, "a")])

    assert first.numbers(WordKind.LABEL) == second.numbers(WordKind.LABEL)
    assert set(first.numbers(WordKind.LABEL)) == {"a", "b", "c"}
    numbers = [*second.numbers(WordKind.LABEL).values(), *second.numbers(WordKind.ROUTE).values()]
    assert len(set(numbers)) == 4


async def test_past_the_last_number_of_a_kind_words_are_other(place: EventPlace) -> None:
    most = dict.fromkeys(WordKind, 2)
    words = KnownWords(place.stats, most=most)  # type: ignore[arg-type]
    place.events._words = words

    await place.events.write([new_event(1, labels=("a", "b", "c", "d")), new_event(2, labels=("a", "e"))])

    assert [each.labels for each in await place.read()] == [("a", "b", "other"), ("a", "other")]
    assert words.is_full(WordKind.LABEL)
    assert not words.is_full(WordKind.METHOD)


async def test_text_that_no_database_keeps_does_not_stop_an_event(place: EventPlace) -> None:
    await place.events.write([new_event(1, route="/a\0b", request_id="x\0y", trace_id="\ud800", labels=("a" * 700,))])

    (stored,) = await place.read()
    assert (stored.route, stored.request_id, stored.trace_id, stored.labels) == ("other", "xy", "?", ("other",))


async def test_features_are_kept_next_to_the_event_and_discarded_by_site_and_time(place: EventPlace) -> None:
    await place.events.write([new_event(1, features={"x": 0.5}), new_event(2, features={"x": 1.0}), new_event(3)])
    await place.events.write([new_event(4, site=2, features={"x": 2.0})])

    async def kept() -> list[tuple[Any, ...]]:
        return await place.stats.all("SELECT site, id, features FROM feature_vector ORDER BY id")

    assert [(site, features) for site, _, features in await kept()] == [
        (1, '{"x":0.5}'),
        (1, '{"x":1.0}'),
        (2, '{"x":2.0}'),
    ]
    await place.events.forget_features(1, before_id=new_event(2).id)
    assert [row[1] for row in await kept()] == [new_event(2).id, new_event(4).id]


async def test_counts_of_what_leaves_no_event_are_added_up(place: EventPlace) -> None:
    one = Count(1, 500, CounterName.ORIGIN_REFUSED, "https://a.example", 2)
    await place.events.add_counts([one, Count(1, 500, CounterName.SERVER_CHECK, "", 1), one])
    await place.events.add_counts([one])

    rows = await place.stats.all("SELECT site, hour, name, value, counted FROM counter_hour ORDER BY name")
    assert rows == [(1, 500, "origin_refused", "https://a.example", 6), (1, 500, "server_check", "", 1)]


async def test_nothing_of_one_site_is_found_under_another(place: EventPlace) -> None:
    await place.events.write(many_events(300))

    for table in ("event", "event_label"):
        rows = await place.segments.session(DAY).all(f"SELECT site, id FROM {table}")
        owners = {event.id: event.site for event in await place.read()}
        assert all(owners[identifier] == site for site, identifier in rows)


async def test_a_day_without_events_has_no_rows(place: EventPlace) -> None:
    session = place.segments.session(DAY - 3)

    assert await session.all("SELECT id FROM event WHERE id >= $1 AND id < $2", 0, 1) == []
    assert await place.count(DAY - 3) == 0
    assert await place.events.list_days() == []


async def test_days_are_listed_oldest_first(place: EventPlace) -> None:
    for day in (DAY, DAY - 40, DAY - 1):
        await place.events.write(many_events(3, day=day))

    assert await place.events.list_days() == [DAY - 40, DAY - 1, DAY]


async def test_a_dropped_day_is_empty_and_can_be_written_again(place: EventPlace) -> None:
    await place.events.write(many_events(30))
    session = place.segments.session(DAY)
    await session.one("SELECT count(*) FROM event")

    await place.segments.drop(DAY)
    await place.segments.drop(DAY)

    assert await session.all("SELECT id FROM event WHERE id >= $1 AND id < $2", 0, 2**62) == []
    assert await place.events.list_days() == []
    await place.events.write([new_event(7)])
    assert [each.id for each in await place.read()] == [new_event(7).id]


async def test_a_file_that_another_process_dropped_is_noticed(tmp_path: Path) -> None:
    async with embedded_events(tmp_path / "events") as one, embedded_events(tmp_path / "events") as other:
        await one.events.write([new_event(1)])
        assert await other.count() == 1

        await one.segments.drop(DAY)
        assert await other.count() == 0
        await other.events.write([new_event(2)])

        assert [each.id for each in await one.read()] == [new_event(2).id]


async def test_only_a_limited_number_of_days_are_open_at_once(tmp_path: Path) -> None:
    async with embedded_events(tmp_path / "events") as place:
        place.segments._open_days = 2  # type: ignore[attr-defined]
        for day in range(DAY - 5, DAY):
            await place.events.write(many_events(5, day=day))

        assert [await place.count(day) for day in range(DAY - 5, DAY)] == [5] * 5
        assert len(place.segments._open) <= 2  # type: ignore[attr-defined]
