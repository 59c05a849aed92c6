"""The recorder on a real store: it never blocks, and its ledger is exact whatever happens to the store."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.lib.clock import DAY_MS, HOUR_MS
from tests.support.events import DAY, NOON_MS, EventPlace, embedded_events, new_event, postgres_events

pytestmark = pytest.mark.anyio


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[EventPlace]:
    async with embedded_events(tmp_path / "data") as place:
        yield place


@contextlib.asynccontextmanager
async def recording(place: EventPlace, **options: Any) -> AsyncIterator[Recorder]:
    recorder = Recorder(place.events, **options)
    await recorder.start()
    try:
        yield recorder
    finally:
        await recorder.stop()
        assert_exact(recorder)
        assert recorder.waiting == 0


def assert_exact(recorder: Recorder) -> None:
    assert recorder.sent == recorder.stored + recorder.failed + recorder.waiting, recorder.ledger()


async def until(condition: Callable[[], bool], recorder: Recorder, *, limit_s: float = 10.0) -> None:
    """Wait for something, and look at the ledger all the while."""
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert_exact(recorder)
        assert time.monotonic() < deadline_s, recorder.ledger()
        await asyncio.sleep(0.005)
    assert_exact(recorder)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a file's write lock, as a process that hangs would."""
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


async def limit_pages(place: EventPlace, pages: int) -> None:
    """Let the day's file grow no further than this, as a full disk would."""
    await place.segments.write(DAY, lambda transaction: transaction.one(f"PRAGMA max_page_count = {pages}"))


async def test_an_event_is_stored_soon_after_it_was_put(place: EventPlace) -> None:
    async with recording(place) as recorder:
        assert recorder.put(new_event(1))
        assert recorder.ledger() == {"sent": 1, "stored": 0, "failed": 0, "waiting": 1}

        await until(lambda: recorder.stored == 1, recorder)

    assert [event.id for event in await place.read()] == [new_event(1).id]


async def test_what_was_put_is_stored_when_the_recorder_has_stopped(place: EventPlace) -> None:
    async with recording(place) as recorder:
        for number in range(2_500):
            assert recorder.put(new_event(number))

    assert recorder.ledger() == {"sent": 2_500, "stored": 2_500, "failed": 0, "waiting": 0}
    assert await place.count() == 2_500


async def test_events_of_two_days_go_to_their_days(place: EventPlace) -> None:
    async with recording(place) as recorder:
        for number in range(10):
            recorder.put(new_event(number, time_ms=NOON_MS + number % 2 * DAY_MS))

    assert [await place.count(day) for day in (DAY, DAY + 1)] == [5, 5]


async def test_an_event_too_many_has_failed_and_is_reported(place: EventPlace) -> None:
    told: list[int] = []
    async with recording(place, queue_limit=3, failed=told.append) as recorder:
        assert [recorder.put(new_event(number)) for number in range(5)] == [True, True, True, False, False]
        assert recorder.ledger() == {"sent": 5, "stored": 0, "failed": 2, "waiting": 3}

    assert recorder.stored == await place.count() == 3
    assert sum(told) == recorder.failed == 2


async def test_an_event_after_the_end_has_failed(place: EventPlace) -> None:
    async with recording(place) as recorder:
        pass

    assert not recorder.put(new_event(1))
    assert recorder.ledger() == {"sent": 1, "stored": 0, "failed": 1, "waiting": 0}


async def test_events_wait_while_the_store_is_still_and_are_then_stored(place: EventPlace) -> None:
    await place.events.write([new_event(0)])
    async with recording(place) as recorder:
        with held(place.segments.path(DAY)):  # type: ignore[attr-defined]
            for number in range(1, 41):
                recorder.put(new_event(number))
                await asyncio.sleep(0.03)
                assert_exact(recorder)
            assert recorder.ledger() == {"sent": 40, "stored": 0, "failed": 0, "waiting": 40}

        await until(lambda: recorder.stored == 40, recorder)

    assert await place.count() == 41


async def test_stopping_gives_up_on_a_store_that_is_still(place: EventPlace) -> None:
    await place.events.write([new_event(0)])
    with held(place.segments.path(DAY)):  # type: ignore[attr-defined]
        async with recording(place, stop_s=0.2) as recorder:
            for number in range(1, 11):
                recorder.put(new_event(number))
            await asyncio.sleep(0.15)
            began_s = time.monotonic()

        assert time.monotonic() - began_s < 5

    assert recorder.ledger() == {"sent": 10, "stored": 0, "failed": 10, "waiting": 0}
    assert await place.count() == 1


async def test_a_full_disk_loses_only_what_the_ledger_shows(place: EventPlace) -> None:
    await place.events.write([new_event(0)])
    await limit_pages(place, 60)
    async with recording(place, stop_s=0.3) as recorder:
        for number in range(1, 6_001):
            recorder.put(new_event(number))
            if number % 500 == 0:
                await asyncio.sleep(0.02)
                assert_exact(recorder)

    assert recorder.failed > 0
    assert recorder.stored > 0
    assert await place.count() == recorder.stored + 1


async def test_events_wait_while_the_disk_is_full_and_are_stored_when_there_is_room(place: EventPlace) -> None:
    await place.events.write([new_event(0)])
    await limit_pages(place, 1)
    async with recording(place) as recorder:
        for number in range(1, 1_001):
            recorder.put(new_event(number))
        await asyncio.sleep(0.3)
        assert recorder.ledger() == {"sent": 1_000, "stored": 0, "failed": 0, "waiting": 1_000}

        await limit_pages(place, 1_000_000)
        await until(lambda: recorder.stored == 1_000, recorder)

    assert await place.count() == 1_001


async def test_an_event_that_cannot_be_written_is_the_only_one_lost(place: EventPlace) -> None:
    async with recording(place) as recorder:
        for number in range(100):
            recorder.put(new_event(number, status=2**70 if number == 37 else 200))

    assert (recorder.stored, recorder.failed) == (99, 1)
    assert {event.id for event in await place.read()} == {new_event(n).id for n in range(100) if n != 37}


async def test_events_wait_while_postgresql_is_unavailable_and_are_stored_when_it_is_back(
    postgres: Any, migrated_url: str
) -> None:
    async with postgres_events(migrated_url) as place, recording(place) as recorder:
        recorder.put(new_event(0))
        await until(lambda: recorder.stored == 1, recorder)
        await asyncio.to_thread(postgres.stop)
        try:
            for number in range(1, 301):
                recorder.put(new_event(number))
            await asyncio.sleep(0.3)
            assert recorder.ledger() == {"sent": 301, "stored": 1, "failed": 0, "waiting": 300}
        finally:
            await asyncio.to_thread(postgres.start)

        await until(lambda: recorder.stored == 301, recorder, limit_s=20)
        assert await place.count() == 301


async def test_counts_are_written_with_the_same_rhythm(place: EventPlace) -> None:
    async with recording(place) as recorder:
        for _ in range(3):
            recorder.count(1, CounterName.SERVER_CHECK, now_ms=NOON_MS)
        recorder.count(1, CounterName.SITEVERIFY_FAILURE, "token_used", 2, now_ms=NOON_MS)

    rows = await place.stats.all("SELECT site, hour, name, value, counted FROM counter_hour ORDER BY name")
    hour = NOON_MS // HOUR_MS
    assert rows == [(1, hour, "server_check", "", 3), (1, hour, "siteverify_failure", "token_used", 2)]


async def test_counts_outlast_a_store_that_is_still(place: EventPlace, tmp_path: Path) -> None:
    async with recording(place) as recorder:
        with held(tmp_path / "data" / "stats.db"):
            recorder.count(1, CounterName.SERVER_CHECK, now_ms=NOON_MS)
            await asyncio.sleep(1.3)
            recorder.count(1, CounterName.SERVER_CHECK, now_ms=NOON_MS)

    assert await place.stats.all("SELECT counted FROM counter_hour") == [(2,)]


async def test_putting_a_thousand_events_takes_a_few_milliseconds(place: EventPlace) -> None:
    events = [new_event(number) for number in range(1_000)]
    async with recording(place) as recorder:
        began_s = time.process_time()
        for event in events:
            recorder.put(event)
        used_s = time.process_time() - began_s

    assert used_s < 0.05


@pytest.fixture
def switch_s() -> Iterator[float]:
    """How long a thread waits for the interpreter while the event loop does not let go of it: twice a worker's."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    yield 0.001
    sys.setswitchinterval(before_s)


async def test_a_busy_event_loop_does_not_keep_events_from_being_stored(place: EventPlace, switch_s: float) -> None:
    count = 5_000
    events = [new_event(number) for number in range(count)]
    async with recording(place) as recorder:
        began_s = time.monotonic()
        for event in events:
            assert recorder.put(event)
        while recorder.waiting:
            # Imitates an event loop under full load: it computes, and occasionally checks for events of the network.
            until_s = time.monotonic() + 5 * switch_s
            while time.monotonic() < until_s:
                pass
            assert_exact(recorder)
            # Waiting for the interpreter once for each event would take longer.
            assert time.monotonic() - began_s < 0.8 * count * switch_s, recorder.ledger()
            await asyncio.sleep(0)

    assert recorder.stored == await place.count() == count
