"""The writer thread of SQLite: groups, limits, what a unit may not do, and the settings of a connection."""

import asyncio
import threading

import apsw
import pytest

from agentgate.lib.database import Conflict, StoreUnavailable
from agentgate.storage.sqlite.connection import check_library, statement
from tests.store.sqlite_files import COUNT, INSERT, opened

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(tmp_path):
    async with opened(tmp_path / "test.db") as database:
        yield database


class Gate:
    """A unit of work that holds the writer thread until it is opened, so that others must queue behind it."""

    def __init__(self, database):
        self._entered = threading.Event()
        self._opened = threading.Event()
        self.unit = asyncio.ensure_future(database.transaction(self._wait))

    async def _wait(self, transaction):
        self._entered.set()
        assert self._opened.wait(10)

    async def entered(self):
        await asyncio.to_thread(self._entered.wait, 10)

    def open(self):
        self._opened.set()


async def test_all_units_that_wait_are_committed_together(database):
    commits = []
    database._writer._connection.set_commit_hook(lambda: bool(commits.append(1)))
    gate = Gate(database)
    await gate.entered()
    units = [asyncio.ensure_future(database.run(INSERT, number, b"")) for number in range(200)]
    await asyncio.sleep(0)

    gate.open()
    await asyncio.gather(gate.unit, *units)

    # One for the gate itself, one for all that waited behind it.
    assert len(commits) == 2
    assert await database.one(COUNT) == (200,)


async def test_a_group_has_a_limit(tmp_path):
    async with opened(tmp_path / "test.db", group_limit=50) as database:
        commits = []
        database._writer._connection.set_commit_hook(lambda: bool(commits.append(1)))
        gate = Gate(database)
        await gate.entered()
        units = [asyncio.ensure_future(database.run(INSERT, number, b"")) for number in range(200)]
        await asyncio.sleep(0)

        gate.open()
        await asyncio.gather(gate.unit, *units)

        # One for the gate itself, then four times fifty.
        assert len(commits) == 5


async def test_a_unit_whose_caller_was_cancelled_while_it_waited_is_not_run(database):
    gate = Gate(database)
    await gate.entered()
    unit = asyncio.ensure_future(database.run(INSERT, 1, b""))
    await asyncio.sleep(0)

    unit.cancel()
    await asyncio.sleep(0)
    gate.open()
    await gate.unit

    await database.ping()
    assert await database.one(COUNT) == (0,)


async def test_more_waiting_units_than_the_queue_holds_are_rejected_at_once(tmp_path):
    async with opened(tmp_path / "test.db", queue_limit=5) as database:
        gate = Gate(database)
        await gate.entered()
        units = [asyncio.ensure_future(database.run(INSERT, number, b"")) for number in range(8)]
        await asyncio.sleep(0)

        gate.open()
        await gate.unit
        outcomes = await asyncio.gather(*units, return_exceptions=True)

        assert outcomes[:5] == [1] * 5
        assert [type(outcome) for outcome in outcomes[5:]] == [StoreUnavailable] * 3


async def yield_once(database):
    await asyncio.sleep(0)


async def sleep(database):
    await asyncio.sleep(0.01)


async def wait_for_a_future(database):
    await database.waiting


async def read_outside(database):
    await database.one(COUNT)


async def write_outside(database):
    await database.run(INSERT, 2, b"")


@pytest.mark.parametrize("mistake", [yield_once, sleep, wait_for_a_future, read_outside, write_outside])
async def test_a_unit_that_awaits_anything_but_its_transaction_is_rejected_and_undone(database, mistake):
    database.waiting = asyncio.get_running_loop().create_future()

    async def work(transaction):
        await transaction.run(INSERT, 1, b"")
        await mistake(database)

    with pytest.raises(RuntimeError, match="a unit of work may await only its transaction"):
        await database.transaction(work)

    assert await database.one(COUNT) == (0,)


async def test_a_script_that_ends_its_transaction_is_an_error_and_leaves_the_writer_usable(database):
    with pytest.raises(RuntimeError, match="may not end its transaction"):
        await database.transaction(lambda transaction: transaction.script("COMMIT"))

    assert await database.run(INSERT, 1, b"") == 1


async def test_what_does_not_fit_fails_alone_and_what_fits_is_kept(database):
    await database.run(INSERT, 0, b"")
    (pages,) = await database.one("PRAGMA page_count")
    database._writer._connection.pragma("max_page_count", pages + 8)
    gate = Gate(database)
    await gate.entered()
    units = [
        asyncio.ensure_future(database.run(INSERT, n, bytes(1_000_000) if n == 3 else b"small")) for n in range(1, 6)
    ]
    await asyncio.sleep(0)

    gate.open()
    await gate.unit
    outcomes = await asyncio.gather(*units, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [int, int, StoreUnavailable, int, int]
    assert await database.all("SELECT id FROM item ORDER BY id") == [(0,), (1,), (2,), (4,), (5,)]
    database._writer._connection.pragma("max_page_count", pages + 1_000)
    assert await database.run(INSERT, 3, bytes(1_000_000)) == 1


async def test_the_settings_are_those_that_keep_what_was_committed(database):
    connection = database._writer._connection

    assert [connection.pragma(name) for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")] == [
        "wal",
        2,
        1,
        0,
    ]


async def test_a_less_careful_commit_can_be_requested(tmp_path):
    async with opened(tmp_path / "test.db", synchronous="NORMAL") as database:
        assert database._writer._connection.pragma("synchronous") == 1


async def test_a_conflict_keeps_its_cause_for_the_log(database):
    await database.run(INSERT, 1, b"")

    with pytest.raises(Conflict) as caught:
        await database.run(INSERT, 1, b"")

    assert isinstance(caught.value.__cause__, apsw.ConstraintError)


def test_a_library_with_the_wal_reset_bug_is_rejected():
    check_library("3.51.3")
    check_library("3.54.1")
    with pytest.raises(RuntimeError, match=r"3\.51\.2 .* at least 3\.51\.3"):
        check_library("3.51.2")


def test_places_for_values_are_translated_and_a_dollar_in_a_literal_is_rejected():
    assert statement("SELECT $1, $12 WHERE a = 'it''s'").text == "SELECT ?1, ?12 WHERE a = 'it''s'"
    with pytest.raises(AssertionError):
        statement("SELECT 'costs $1'")


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("select 1", True),
        (" \n SELECT 1", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("WITH a AS (SELECT 1) DELETE FROM item", False),
        ("INSERT INTO item VALUES (1) RETURNING id", False),
        ("UPDATE item SET id = 2", False),
    ],
)
def test_reading_is_reported_from_writing(sql, reads):
    assert statement(sql).reads is reads
