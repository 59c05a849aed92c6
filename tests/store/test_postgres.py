"""Features of PostgreSQL alone: a server that can deadlock, run out of time and come back."""

import asyncio
import re
from socket import gaierror

import asyncpg
import pytest

from agentgate.lib.database import NewRows, StoreUnavailable
from agentgate.lib.moment import Moment
from agentgate.storage.postgres.database import PostgresDatabase, changed_rows, lock_number
from agentgate.storage.postgres.pool import reason

pytestmark = pytest.mark.anyio


class Text(str):
    """A text of a separate class."""

    __slots__ = ()


@pytest.fixture
async def database(postgres_url):
    database = PostgresDatabase(postgres_url, max_connections=4)
    await database.open()
    await database.run("CREATE TABLE item (id BIGINT PRIMARY KEY, count BIGINT NOT NULL)")
    await database.run_many("INSERT INTO item (id, count) VALUES ($1, $2)", [(1, 0), (2, 0)])
    yield database
    await database.close()


async def test_units_that_meet_in_a_deadlock_are_both_done_in_the_end(database):
    tries = []
    both = asyncio.Barrier(2)

    async def work(transaction, first, second):
        tries.append(first)
        await transaction.script("SET LOCAL deadlock_timeout = '20ms'")
        await transaction.run("UPDATE item SET count = count + 1 WHERE id = $1", first)
        if len(tries) <= 2:
            await both.wait()
        await transaction.run("UPDATE item SET count = count + 1 WHERE id = $1", second)

    await asyncio.gather(
        database.transaction(lambda transaction: work(transaction, 1, 2)),
        database.transaction(lambda transaction: work(transaction, 2, 1)),
    )

    assert len(tries) == 3
    assert await database.all("SELECT count FROM item") == [(2,), (2,)]


async def test_a_unit_is_tried_four_times_and_then_the_store_is_unavailable(database):
    tries = []

    async def work(transaction):
        tries.append(1)
        await transaction.script("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")

    with pytest.raises(StoreUnavailable):
        await database.transaction(work)

    assert len(tries) == 4


async def test_a_statement_that_takes_too_long_is_unavailable_and_its_connection_continues(postgres_url):
    database = PostgresDatabase(postgres_url, max_connections=1, command_timeout_s=0.3)
    try:
        with pytest.raises(StoreUnavailable):
            await database.one("SELECT pg_sleep(5)")

        assert await database.one("SELECT 1") == (1,)
    finally:
        await database.close()


async def test_a_lock_that_is_not_given_in_time_is_unavailable(postgres_url):
    database = PostgresDatabase(postgres_url, max_connections=2, command_timeout_s=0.2)
    held = asyncio.Event()
    release = asyncio.Event()

    async def hold(transaction):
        await transaction.lock("a", "b")
        held.set()
        await release.wait()

    try:
        holder = asyncio.ensure_future(database.transaction(hold))
        await held.wait()
        with pytest.raises(StoreUnavailable):
            await database.transaction(lambda transaction: transaction.lock("a", "b"))
        await database.transaction(lambda transaction: transaction.lock("ab"))
        release.set()
        await holder
    finally:
        await database.close()


async def test_waiting_for_a_connection_is_bounded(postgres_url):
    database = PostgresDatabase(postgres_url, max_connections=1, acquire_timeout_s=0.1)
    held = asyncio.Event()
    release = asyncio.Event()

    async def hold(transaction):
        held.set()
        await release.wait()

    try:
        await database.open()
        holder = asyncio.ensure_future(database.transaction(hold))
        await held.wait()
        with pytest.raises(StoreUnavailable):
            await database.one("SELECT 1")
        release.set()
        await holder
    finally:
        await database.close()


async def test_a_connection_the_server_ended_is_replaced(database):
    async def work(transaction):
        await transaction.one("SELECT pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(StoreUnavailable):
        await database.transaction(work)

    assert await database.one("SELECT 1") == (1,)


async def test_a_unit_survives_a_change_of_the_table_under_its_prepared_statements(database, postgres_url):
    async def work(transaction):
        return await transaction.one("SELECT * FROM item WHERE id = $1", 1)

    await database.transaction(work)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("ALTER TABLE item ADD COLUMN more TEXT")
    await connection.close()

    assert await database.transaction(work) == (1, 0, None)


async def test_a_server_that_is_not_there_is_unavailable(tmp_path):
    database = PostgresDatabase(f"postgresql://postgres@/none?host={tmp_path}")

    with pytest.raises(StoreUnavailable):
        await database.open()

    await database.close()


def test_the_parts_of_a_lock_do_not_run_into_each_other():
    numbers = {lock_number("ab", "c"), lock_number("a", "bc"), lock_number("abc"), lock_number("abc", "")}

    assert len(numbers) == 4
    assert all(-(2**63) <= number < 2**63 for number in numbers)


@pytest.mark.parametrize(
    ("status", "rows"),
    [("INSERT 0 3", 3), ("UPDATE 2", 2), ("DELETE 0", 0), ("SELECT 5", 0), ("CREATE TABLE", 0), ("", 0)],
)
def test_the_row_count_is_read_from_the_status(status, rows):
    assert changed_rows(status) == rows


async def test_anyone_who_comes_next_has_the_connection_that_was_given_back(database):
    asked = [await database.one("SELECT pg_backend_pid()") for _ in range(5)]

    assert len(set(asked)) == 1


async def test_no_one_in_line_waits_for_a_connection_that_is_kept_at_hand(postgres_url):
    database = PostgresDatabase(postgres_url, max_connections=1)
    try:
        asking = [database.one("SELECT pg_sleep(0.01)") for _ in range(20)]
        async with asyncio.timeout(0.9):
            assert len(await asyncio.gather(*asking)) == 20
    finally:
        await database.close()


async def test_closing_lets_go_of_the_connection_at_hand_and_does_not_wait_for_it(postgres_url):
    database = PostgresDatabase(postgres_url)
    [process_id] = await database.one("SELECT pg_backend_pid()")

    async with asyncio.timeout(5):
        await database.close()

    other = await asyncpg.connect(postgres_url)
    try:
        count = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
        async with asyncio.timeout(5):
            while await other.fetchval(count, process_id):  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
    finally:
        await other.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.one("SELECT 1")


async def test_a_connection_at_hand_that_the_server_ended_is_not_handed_out(database, postgres_url):
    [process_id] = await database.one("SELECT pg_backend_pid()")
    other = await asyncpg.connect(postgres_url)
    try:
        assert await other.fetchval("SELECT pg_terminate_backend($1, 5000)", process_id)
    finally:
        await other.close()
    # The end of the connection has arrived, and the connection was not used since.
    await asyncio.sleep(0.05)

    assert await database.one("SELECT pg_backend_pid()") != (process_id,)


async def test_two_connections_given_back_at_once_are_both_let_go_of(database):
    await asyncio.gather(*(database.one("SELECT pg_sleep(0.05)") for _ in range(3)))

    async with asyncio.timeout(5):
        await database.close()


async def test_attempts_that_fail_keep_no_place(tmp_path):
    database = PostgresDatabase(f"postgresql://nobody@/nothing?host={tmp_path}", max_connections=2)
    for _ in range(5):
        with pytest.raises(StoreUnavailable, match="gave no connection"):
            await database.one("SELECT 1")

    async with asyncio.timeout(5):
        await database.close()


async def test_a_missing_database_and_an_unknown_user_are_shown_in_plain_text(postgres_url):
    missing = PostgresDatabase(re.sub(r"@/\w+", "@/nowhere", postgres_url))
    nobody = PostgresDatabase(re.sub(r"//[^@]*@", "//nobody:secret@", postgres_url))
    try:
        with pytest.raises(StoreUnavailable, match="no database 'nowhere'; create it with `createdb"):
            await missing.one("SELECT 1")
        with pytest.raises(StoreUnavailable, match="rejects the user 'nobody'") as refused:
            await nobody.one("SELECT 1")
    finally:
        await missing.close()
        await nobody.close()

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (asyncpg.InvalidPasswordError("password authentication failed"), "rejects the user 'ann'"),
        (ConnectionRefusedError(111, "Connection refused"), "no response from db:5433 (Connection refused)"),
        (gaierror(-2, "Name or service not known"), "no host is named 'db'"),
        (TimeoutError(), "db:5433 did not respond in time"),
        (asyncpg.TooManyConnectionsError("sorry, too many clients"), "TooManyConnectionsError: sorry"),
    ],
)
def test_why_there_is_no_connection_is_shown_without_the_password(error, words):
    told = reason(error, "postgresql://ann:secret@db:5433/gate?sslmode=require")

    assert words in told
    assert "secret" not in told


async def test_rows_of_which_some_are_there_say_which_are_new(database):
    table = NewRows(
        "given", key=("a", "b"), types=(("a", "text"), ("b", "bytea"), ("c", "text"), ("d", "bytea"), ("e", "bigint"))
    )
    await database.run("CREATE TABLE given (a TEXT, b BYTEA, c TEXT, d BYTEA, e BIGINT, PRIMARY KEY (a, b))")
    odd = 'q"\\\x1f\n\u2028é'
    rows = [(odd, bytes(range(256)), None, None, -(2**63)), ("b", b"", odd, b"\0\xff", 2**63 - 1)]
    moment = ("c", b"c", Text(""), b"", Moment(1_800_000_000_000))

    assert await database.insert_new(table, []) == []
    with pytest.raises(ValueError, match="NUL"):
        await database.insert_new(table, [("a\0", b"", None, None, 1)])
    assert await database.insert_new(table, rows[:1]) == [rows[0][:2]]
    assert await database.insert_new(table, rows) == [rows[1][:2]]
    assert await database.insert_new(table, rows) == []
    assert await database.transaction(lambda transaction: transaction.insert_new(table, rows)) == []
    assert await database.insert_new(table, [*rows, moment]) == [moment[:2]]
    assert sorted(await database.all("SELECT a, b, c, d, e FROM given")) == sorted([*rows, moment])
