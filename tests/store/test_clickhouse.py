"""Events in ClickHouse while it is killed, silent or wrong: none is lost and none is counted twice."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from agentgate.events.recorder import Recorder
from agentgate.events.records import Dimension
from agentgate.events.storage.clickhouse import schema
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.clickhouse.events import ClickhouseEvents
from agentgate.events.storage.clickhouse.spool import Spool
from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.lib.database import StoreUnavailable
from agentgate.server.stores.moving import CopyRefused, copy_events
from agentgate.storage.clickhouse.client import ClickhouseClient, RowsRefused
from agentgate.storage.migrate import MigrationRefused
from tests.support.clickhouse_server import ClickhouseServer
from tests.support.events import DAY, NOON_MS, EventPlace, clickhouse_events, events_on, many_events, new_event

pytestmark = pytest.mark.anyio


async def counted(place: EventPlace) -> list[int]:
    """Return the number of events by each of the ways to count them."""
    session = place.segments.session(DAY)
    challenges = "challenges_issued + challenges_passed + challenges_failed"
    routes = f"SELECT sum(events) FROM dimension_hour WHERE dimension = {Dimension.ROUTE:d}"
    statements = (
        "SELECT count(*) FROM event",
        f"SELECT sum(requests + {challenges}) FROM site_hour",
        # Each request has one route, a browser check has none.
        f"SELECT ({routes}) + sum({challenges}) FROM site_hour",
    )
    return [int((await session.all(statement))[0][0]) for statement in statements]


def spool_files(folder: Path) -> list[Path]:
    return sorted((folder / "spool").glob("*.gz"))


async def test_what_was_written_while_it_was_unavailable_arrives_once(
    clickhouse: ClickhouseServer, clickhouse_url: str, tmp_path: Path
) -> None:
    async with clickhouse_events(clickhouse_url, tmp_path / "events") as place:
        events = place.events
        assert isinstance(events, ClickhouseEvents)
        await events.write(many_events(50, span_ms=1_000_000))
        with clickhouse.away():
            await events.write(many_events(70, seed=2, span_ms=2_000_000))
            await events.write(many_events(30, seed=3, span_ms=3_000_000))
            with pytest.raises(StoreUnavailable):
                await events.deliver()
        assert events.spooled[0] == 100

        # Simulate that the process was killed between the response and the removal of the file.
        kept = {path: path.read_bytes() for path in spool_files(tmp_path / "events")}
        assert await events.deliver() == 100
        for path, data in kept.items():
            path.write_bytes(data)
        await events.deliver()

        assert spool_files(tmp_path / "events") == []
        assert await counted(place) == [150, 150, 150]


async def test_a_batch_whose_response_was_lost_is_there_once(clickhouse_url: str, tmp_path: Path) -> None:
    async with clickhouse_events(clickhouse_url, tmp_path / "events") as place:
        batch = many_events(40)
        await place.events.write(batch)
        # Of another process, which knows nothing of the first attempt.
        async with clickhouse_events(clickhouse_url, tmp_path / "other") as other:
            other.events._words = place.words
            await other.events.write(batch, again=True)

        assert await counted(place) == [40, 40, 40]


async def test_events_are_neither_lost_nor_doubled_while_it_is_killed_again_and_again(
    clickhouse: ClickhouseServer, clickhouse_url: str, tmp_path: Path
) -> None:
    async with clickhouse_events(clickhouse_url, tmp_path / "events") as place:
        events = place.events
        assert isinstance(events, ClickhouseEvents)
        recorder = Recorder(events, stop_s=60, batching=events.batching._replace(flush_s=0.05, enough=100, most=200))
        await recorder.start()
        made = many_events(900)
        for start in range(0, 900, 300):
            for event in made[start : start + 300]:
                recorder.put(event)
            clickhouse.kill()
            clickhouse.start()
        await recorder.stop()
        await events.deliver()

        assert recorder.ledger() == {"sent": 900, "stored": 900, "failed": 0, "waiting": 0}
        assert await counted(place) == [900, 900, 900]


async def test_a_full_spool_makes_events_wait_in_memory(
    clickhouse: ClickhouseServer, clickhouse_url: str, tmp_path: Path
) -> None:
    async with clickhouse_events(clickhouse_url, tmp_path / "events", spool_bytes=2_000) as place:
        with clickhouse.away():
            await place.events.write([new_event(1)])
            with pytest.raises(StoreUnavailable, match="full"):
                await place.events.write(many_events(500))
        assert isinstance(place.events, ClickhouseEvents)
        assert await place.events.deliver() == 1
        await place.events.write(many_events(500), again=True)
        assert await counted(place) == [501, 501, 501]


async def test_a_file_that_cannot_be_read_is_set_aside_and_the_others_arrive(
    clickhouse_url: str, tmp_path: Path
) -> None:
    async with clickhouse_events(clickhouse_url, tmp_path / "events") as place:
        assert isinstance(place.events, ClickhouseEvents)
        spool = Spool(tmp_path / "events" / "spool", most_bytes=10**6)
        spool.put("broken", 3, b'["this is no event"]\n')

        assert await place.events.deliver() == 0

        assert [path.name for path in (tmp_path / "events" / "spool").glob("*.refused")] == [
            "broken.3.events.gz.refused"
        ]


async def test_only_one_worker_delivers_at_a_time(tmp_path: Path) -> None:
    first, second = (Spool(tmp_path / "spool", most_bytes=10**6) for _ in range(2))
    first.put("token", 1, b"[]\n")

    with first.alone() as is_first, second.alone() as is_second:
        assert (is_first, is_second) == (True, False)


async def test_visitors_are_discarded_with_their_events_also_within_a_partition(
    clickhouse_url: str, tmp_path: Path
) -> None:
    async with clickhouse_events(clickhouse_url, tmp_path / "events") as place:
        first = DAY // schema.VISITOR_DAY.days * schema.VISITOR_DAY.days
        days = (first - 1, first, first + 1)
        for number, day in enumerate(days):
            # One visitor comes on all days, and each day has one that comes on no other.
            for visitor in (7, 100 + number):
                await place.events.write([new_event(visitor, time_ms=day * DAY_MS, visitor=visitor)])

        await place.events.forget(events_before_day=first + 1, metrics_before_day=first - 1)

        session = place.segments.session(DAY)
        kept = await session.all("SELECT day, visitor FROM visitor_part GROUP BY day, visitor ORDER BY visitor")
        assert kept == [(first + 1, 7), (first + 1, 102)]
        assert await session.all("SELECT DISTINCT visitor FROM visitor_last ORDER BY visitor") == [(7,), (102,)]
        assert await session.all("SELECT DISTINCT day FROM source_part ORDER BY day") == [(day,) for day in days]


async def test_the_schema_is_made_once_and_one_of_another_release_is_rejected(clickhouse_url: str) -> None:
    client = ClickhouseClient(clickhouse_url, answer_s=60, insert_s=60)
    days, clock = ClickhouseDays(client), FixedClock(NOON_MS)
    try:
        assert await days.pending() == ["0001_events"]
        await days.migrate(clock)
        await days.migrate(clock)
        assert await days.pending() == []
        await client.insert("schema_migration", ("name", "checksum", "applied_ms"), b'["0002_later","x",1]', token="x")
        with pytest.raises(MigrationRefused):
            await days.pending()
    finally:
        await days.close()


async def test_the_statements_of_a_cluster_are_read_by_the_engine(clickhouse_url: str) -> None:
    client = ClickhouseClient(clickhouse_url, answer_s=60, insert_s=60)
    made = schema.statements("events")
    try:
        for statement in made:
            row = await client.one("SELECT formatQuery($1)", statement)
            assert row is not None
            assert "ON CLUSTER events" in row[0].replace("`", "")
    finally:
        await client.close()
    assert sum("ENGINE = Replicated" in statement for statement in made) == len(schema.TABLES)
    assert sum("ENGINE = Distributed" in statement for statement in made) == len(schema.TABLES)


async def test_retention_drops_whole_days_of_events_and_later_their_aggregates(
    clickhouse_url: str, tmp_path: Path
) -> None:
    async with clickhouse_events(clickhouse_url, tmp_path / "events") as place:
        for day in (DAY - 9, DAY - 5, DAY):
            await place.events.write(many_events(20, day=day))

        await place.events.forget(events_before_day=DAY - 4, metrics_before_day=DAY - 8)

        assert await place.events.list_days() == [DAY]
        rows = await place.segments.session(DAY).all(
            "SELECT DISTINCT intDiv(hour, 24) AS day FROM site_hour ORDER BY day"
        )
        assert [day for (day,) in rows] == [DAY - 5, DAY]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_copy_that_was_interrupted_continues_and_is_compared(
    kind: str, request: pytest.FixtureRequest, clickhouse_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with events_on(kind, request, tmp_path / "source") as source:
        monkeypatch.setattr("agentgate.server.stores.moving.ROWS", 100)
        for day in (DAY - 40, DAY - 1, DAY):
            await source.events.write(many_events(250, day=day))
        # A day of which only the aggregates are left.
        await source.events.forget(events_before_day=DAY - 30, metrics_before_day=DAY - 60)
        client = ClickhouseClient(clickhouse_url, answer_s=60, insert_s=60)
        days = ClickhouseDays(client)
        await days.migrate(FixedClock(NOON_MS))

        class Failing(ClickhouseClient):
            left = 4

            async def insert(self, *values: Any, **named: Any) -> None:
                if self.left == 0:
                    raise StoreUnavailable("for the test")
                self.left -= 1
                await super().insert(*values, **named)

        failing = Failing(clickhouse_url, insert_s=60)
        try:
            with pytest.raises(StoreUnavailable):
                await copy_events(source.stats, source.segments, failing, days, lambda *_: None)
            told: list[tuple[str, int]] = []
            compared = await copy_events(
                source.stats, source.segments, client, days, lambda name, rows: told.append((name, rows))
            )
            again = await copy_events(source.stats, source.segments, client, days, lambda *_: None)

            assert [compared[name].rows for name in sorted(compared)][-2:] == [250, 250]
            assert len(told) == 3
            assert {name: compared[name] for name in again} == again
            copy = dataclasses.replace(source, segments=days)
            for day in (DAY - 1, DAY):
                assert await copy.read(day) == await source.read(day)
            old = "SELECT sum(requests), sum(blocked), max(last_event_ms) FROM site_day WHERE day = $1"
            assert await client.all(old, DAY - 40) == [
                tuple(map(int, row)) for row in await source.stats.all(old, DAY - 40)
            ]
        finally:
            await failing.close()
            await days.close()


async def test_a_copy_over_other_events_is_rejected(
    clickhouse_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with (
        events_on("sqlite", request, tmp_path / "source") as source,
        clickhouse_events(clickhouse_url, tmp_path / "target") as target,
    ):
        await source.events.write([new_event(1), new_event(2), new_event(4)])
        await target.events.write([new_event(3)])
        client, days = target.segments.session(DAY), target.segments
        assert isinstance(client, ClickhouseClient)
        assert isinstance(days, ClickhouseDays)
        with pytest.raises(CopyRefused, match="empty database"):
            await copy_events(source.stats, source.segments, client, days, lambda *_: None)


async def test_values_travel_next_to_the_statement(clickhouse_url: str) -> None:
    client = ClickhouseClient(clickhouse_url, answer_s=60, insert_s=60)
    odd = ["a\\b", "tab\there", "line\nend", "quote'\"", "ü\\N", "'; DROP TABLE event; --", ""]
    try:
        for text in odd:
            assert await client.all("SELECT $1, $2", text, -5) == [(text, -5)]
        assert await client.all("SELECT $1 IN $2", 3, [1, 2, 3]) == [(1,)]
        assert await client.all("SELECT $1", None) == [(None,)]
        assert await client.all("SELECT 9223372036854775807, [1, 2]") == [(2**63 - 1, "[1,2]")]
    finally:
        await client.close()


async def test_the_next_server_is_queried_when_one_is_gone_and_a_wrong_password_is_reported(
    clickhouse_url: str,
) -> None:
    two = ClickhouseClient(clickhouse_url.replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1"), insert_s=60)
    wrong = ClickhouseClient(clickhouse_url.replace("gate:", "gate:x"))
    try:
        assert await two.all("SELECT 1") == [(1,)]
        with pytest.raises(StoreUnavailable, match="403"):
            await wrong.ping()
        await two.run("CREATE TABLE number (n Int64) ENGINE = MergeTree ORDER BY n")
        with pytest.raises(RowsRefused):
            await two.insert("number", ("n",), b'["x"]', token="t")
    finally:
        await two.close()
        await wrong.close()


async def test_a_silent_server_is_not_waited_for_twice(clickhouse: ClickhouseServer, clickhouse_url: str) -> None:
    client = ClickhouseClient(clickhouse_url, answer_s=1.5)
    await client.ping()
    try:
        with clickhouse.frozen(), pytest.raises(StoreUnavailable, match="TimeoutError"):
            await client.ping()
    finally:
        await client.close()
