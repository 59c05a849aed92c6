"""The schemas that tests lend each other: what one test did there, the next one does not find."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from agentgate.events.storage.days.sqlite import EVENTS
from agentgate.server.stores.open import CONFIG
from tests.support.migrated_schemas import MigratedSchemas
from tests.support.servers import PostgresServer, run_elsewhere

ADD_ROW = f"INSERT INTO schema_migration VALUES ('{CONFIG}', 9999, 'x', 'x', 0)"


@pytest.fixture
def schemas(postgres: PostgresServer) -> Iterator[MigratedSchemas]:
    """Schemas of this test alone."""
    made = MigratedSchemas(postgres)
    yield made
    with made.one() as url:
        # Drop a table, so that the pool drops the schema instead of lending it again.
        ask(url, "DROP TABLE schema_migration")


def ask(url: str, sql: str) -> list[asyncpg.Record]:
    async def work() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetch(sql)
        finally:
            await connection.close()

    return run_elsewhere(work())


def test_a_schema_is_lent_again_without_the_rows_of_the_test_before(schemas: MigratedSchemas) -> None:
    with schemas.one() as first:
        before = ask(first, "SELECT * FROM schema_migration ORDER BY set_name, number")
        ask(first, ADD_ROW)
        ask(first, f"DELETE FROM schema_migration WHERE set_name = '{EVENTS}'")
    with schemas.one() as second:
        after = ask(second, "SELECT * FROM schema_migration ORDER BY set_name, number")

    assert (second, after) == (first, before)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE left_behind (id BIGINT)",
        "ALTER TABLE account ADD COLUMN left_behind TEXT",
        "CREATE INDEX left_behind ON account (name)",
        "ALTER TABLE account ADD CONSTRAINT left_behind CHECK (name <> 'x')",
        "DROP TABLE job_run",
    ],
)
def test_a_schema_whose_tables_were_changed_is_not_lent_again(schemas: MigratedSchemas, change: str) -> None:
    with schemas.one() as first:
        ask(first, change)
    with schemas.one() as second:
        pass

    assert second != first


def test_a_transaction_left_open_shows(schemas: MigratedSchemas) -> None:
    async def leave_open(url: str) -> asyncpg.Connection:
        connection = await asyncpg.connect(url)
        await connection.execute("BEGIN; LOCK TABLE account IN ROW EXCLUSIVE MODE")
        return connection

    with asyncio.Runner() as runner:
        with pytest.raises(asyncpg.LockNotAvailableError), schemas.one() as url:
            connection = runner.run(leave_open(url))
        runner.run(connection.close())
