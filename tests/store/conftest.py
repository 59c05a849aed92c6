"""Fixtures of the store tests: both databases behind one face, and the shared caches' server."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from agentgate.lib.clock import FixedClock
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.open import CONFIG
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import apply
from agentgate.storage.postgres.database import PostgresDatabase
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.conftest import settings_on
from tests.support.servers import PostgresServer

AnyDatabase = SqliteDatabase | PostgresDatabase


@dataclass(frozen=True)
class Backend:
    """One store: how to make a Database object on it, and how to make it go away for a while."""

    dialect: str
    make: Callable[[], AnyDatabase]
    away: Callable[[], AbstractContextManager[None]]


@pytest.fixture(params=["sqlite", "postgres"])
def empty_backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A store without tables, for tests that make their own."""
    return _backend(request, tmp_path, url_fixture="postgres_url")


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A store for tests that apply the service's migrations, which has been done before on PostgreSQL."""
    return _backend(request, tmp_path, url_fixture="migrated_url")


def _backend(request: pytest.FixtureRequest, tmp_path: Path, *, url_fixture: str) -> Backend:
    if request.param == "sqlite":
        path = tmp_path / "test.db"
        return Backend("sqlite", lambda: SqliteDatabase(path), lambda: _held(path))
    url = request.getfixturevalue(url_fixture)
    server = request.getfixturevalue("postgres")
    # Patient, because a slow machine is not what these tests are about.
    return Backend("postgres", lambda: PostgresDatabase(url, acquire_timeout_s=5), lambda: _stopped(server))


@pytest.fixture(params=["sqlite", "postgres", "clickhouse"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings for stores on SQLite, on PostgreSQL, and with events in ClickHouse."""
    return settings_on(request.param, request, tmp_path)


@pytest.fixture
async def database(empty_backend: Backend) -> AsyncIterator[AnyDatabase]:
    """A database with the table `item`, whose rows may point at others."""
    database = empty_backend.make()
    await database.open()
    await database.run(
        "CREATE TABLE item (id BIGINT PRIMARY KEY, name TEXT, data BYTEA, part_of BIGINT REFERENCES item (id))"
    )
    yield database
    await database.close()


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the file's write lock, as a process that hangs would."""
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@contextlib.contextmanager
def _stopped(server: PostgresServer) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


@pytest.fixture
async def store(backend: Backend) -> AsyncIterator[SqlStore]:
    """Every port over an empty, migrated database."""
    database = backend.make()
    await apply(database, CONFIG, clock=FixedClock(0))
    yield SqlStore(database)
    await database.close()
