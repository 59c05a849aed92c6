"""Fixtures of the identity tests: keys, an embedded store and a user in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentgate.lib.clock import FixedClock
from agentgate.lib.keyring import PURPOSES, Keyring, StoredKey
from agentgate.people.identity.records import StoredUser
from agentgate.people.identity.users import find_or_create_user
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.unit.people.identity.calls import NOW_MS, make_call


@pytest.fixture
def keyring() -> Keyring:
    return Keyring(
        [
            (
                StoredKey(id=purpose, purpose=purpose, sealed=b"", created_ms=0, active_ms=0),
                purpose.encode().ljust(32, b"."),
            )
            for purpose in PURPOSES
        ],
        NOW_MS,
    )


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    database = SqliteDatabase(tmp_path / "config.db")
    await database.open()
    await apply(database, "config", clock=FixedClock(NOW_MS))
    yield SqlStore(database)
    await database.close()


@pytest.fixture
async def ann(store: SqlStore) -> StoredUser:
    """A user."""
    return await store.change(lambda stores: find_or_create_user(stores, make_call(), "ann@example.com", name="Ann"))


@pytest.fixture
async def bob(store: SqlStore) -> StoredUser:
    """Another user."""
    return await store.change(lambda stores: find_or_create_user(stores, make_call(), "bob@example.com"))
