"""An SQLite file with one table, for the tests of that driver."""

import contextlib
from pathlib import Path

from agentgate.storage.sqlite.database import SqliteDatabase

INSERT = "INSERT INTO item (id, data) VALUES ($1, $2)"
COUNT = "SELECT count(*) FROM item"


@contextlib.asynccontextmanager
async def opened(path: Path, **options):
    database = SqliteDatabase(path, **options)
    try:
        await database.open()
        await database.run("CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, data BLOB)")
        yield database
    finally:
        await database.close()
