"""PostgreSQL schemas with every table of the service, made once and emptied after each test.

Applying all migrations takes ten times as long as most tests. Tests of migrations ask for an empty schema instead.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import asyncpg

from agentgate.events.storage.days.sqlite import EVENTS
from agentgate.lib.clock import FixedClock
from agentgate.server.stores.open import SETS
from agentgate.storage.migrate import apply
from agentgate.storage.postgres.database import PostgresDatabase
from tests.support.servers import PostgresServer, run_elsewhere

# Changes that a test may have made to the tables themselves: their set, columns, constraints and triggers.
SHAPE = """
SELECT 'table', c.oid, c.relname, c.relnatts, c.relhastriggers, c.relhasrules FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace
UNION ALL SELECT 'column', a.attrelid, a.attname, a.attnum, a.attnotnull, a.atthasdef FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = current_schema()::regnamespace
UNION ALL SELECT 'constraint', k.oid, k.conname, 0, k.convalidated, k.condeferred FROM pg_constraint k
WHERE k.connamespace = current_schema()::regnamespace
UNION ALL SELECT 'trigger', t.oid, t.tgname, 0, t.tgenabled = 'O', false FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal
UNION ALL SELECT 'function', f.oid, f.proname, 0, false, false FROM pg_proc f
WHERE f.pronamespace = current_schema()::regnamespace
ORDER BY 1, 2, 3
"""
TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY relname
"""
# Days of events are separate tables. Foreign keys are not checked while all rows are deleted.
EMPTY = """
SET session_replication_role = replica;
DO $$ DECLARE name regclass; BEGIN
    FOR name IN SELECT oid::regclass FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relispartition
    LOOP EXECUTE format('DROP TABLE %s', name); END LOOP;
    FOR name IN SELECT oid::regclass FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
    LOOP EXECUTE format('DELETE FROM %s', name); END LOOP;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid
        WHERE c.relnamespace = current_schema()::regnamespace;
END $$;
"""


@dataclass(frozen=True)
class MigratedSchema:
    """One schema, and what it was like when no test had used it."""

    url: str
    shape: list[Any]
    tables: tuple[str, ...]
    # What migrations themselves put in, by table.
    rows: dict[str, list[asyncpg.Record]]


class MigratedSchemas:
    """The schemas of one server that no test uses just now."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._free: list[MigratedSchema] = []

    @contextlib.contextmanager
    def one(self) -> Iterator[str]:
        """Lend a schema in which only the migrations were applied; its URL is the value."""
        schema = self._free.pop() if self._free else run_elsewhere(_make(self._server.create_schema()))
        try:
            yield schema.url
        finally:
            if run_elsewhere(_empty(schema)):
                self._free.append(schema)
            else:
                self._server.drop_schema(schema.url)


async def _make(url: str) -> MigratedSchema:
    database = PostgresDatabase(url, acquire_timeout_s=5)
    try:
        for name in (*SETS, EVENTS):
            await apply(database, name, clock=FixedClock(0))
    finally:
        await database.close()
    connection = await asyncpg.connect(url)
    try:
        tables = tuple(row[0] for row in await connection.fetch(TABLES))
        found = {name: await connection.fetch(f"SELECT * FROM {name}") for name in tables}
        return MigratedSchema(
            url=url,
            shape=await connection.fetch(SHAPE),
            tables=tables,
            rows={name: rows for name, rows in found.items() if rows},
        )
    finally:
        await connection.close()


async def _empty(schema: MigratedSchema) -> bool:
    """Restore the schema, and return whether that worked: a test may have changed more than rows."""
    connection = await asyncpg.connect(schema.url)
    try:
        if not set(schema.tables) <= {row[0] for row in await connection.fetch(TABLES)}:
            return False
        async with connection.transaction():
            # A transaction that a test left open makes this fail, and so shows.
            await connection.execute(f"SET lock_timeout = '3s'; LOCK TABLE {', '.join(schema.tables)}; {EMPTY}")
            for name, rows in schema.rows.items():
                await connection.copy_records_to_table(name, records=rows)
        return await connection.fetch(SHAPE) == schema.shape
    finally:
        await connection.close()
