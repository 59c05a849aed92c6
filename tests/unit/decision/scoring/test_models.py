"""ModelDirectory: starts with the shipped models, follows the store, survives a broken file."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.scoring.records import StoredModel
from agentgate.decision.signals.facts import Observation
from agentgate.lib.clock import FixedClock
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.server.stores.open import CONFIG
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.support.service import NOON_MS
from tests.unit.decision.scoring.made_models import logistic

pytestmark = pytest.mark.anyio

SEEN = Observation(labels=("net.datacenter",), numbers={})


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    database = SqliteDatabase(tmp_path / "config.db")
    await apply(database, CONFIG, clock=FixedClock(NOON_MS))
    yield SqlStore(database)
    await database.close()


async def save(store: SqlStore, role: ModelRole, file: str) -> None:
    model = StoredModel(kind=ModelKind.BOT, role=role, file=file, installed_ms=NOON_MS, installed_by="Olga")
    await store.change(lambda stores: stores.models.save_model(model))


def versions(directory: ModelDirectory) -> tuple[Any, Any]:
    found = directory.view.score(SEEN, content="text")
    return found.versions["bot"], found.shadow_versions.get("bot")


async def test_it_starts_with_the_models_that_are_shipped() -> None:
    found = ModelDirectory().view.score(SEEN, content="text")

    assert set(found.versions) == set(found.values) == {"bot", "content"}
    assert found.shadow_versions == {}


async def test_it_takes_over_what_is_stored_and_drops_what_is_cleared(store: SqlStore) -> None:
    directory = ModelDirectory()
    await save(store, ModelRole.ACTIVE, json.dumps(logistic(version="a")))
    await save(store, ModelRole.CANDIDATE, json.dumps(logistic(version="c")))
    await save(store, ModelRole.PREVIOUS, json.dumps(logistic(version="p")))

    await directory.refresh(store)
    assert versions(directory) == ("a", "c")

    await store.change(lambda stores: stores.models.delete_model(ModelKind.BOT, ModelRole.CANDIDATE))
    await directory.refresh(store)
    assert versions(directory) == ("a", None)


async def test_an_unchanged_store_keeps_the_very_same_view(store: SqlStore) -> None:
    directory = ModelDirectory()
    await save(store, ModelRole.ACTIVE, json.dumps(logistic(version="a")))
    await directory.refresh(store)
    view = directory.view

    await directory.refresh(store)

    assert directory.view is view


@pytest.mark.parametrize("broken", ["", "{", "[]", "{}", json.dumps(logistic(features=["gone.label", "net.tor"]))])
async def test_a_broken_stored_file_leaves_the_last_good_models_and_is_logged(store: SqlStore, broken: str) -> None:
    directory = ModelDirectory()
    await save(store, ModelRole.ACTIVE, json.dumps(logistic(version="a")))
    await directory.refresh(store)
    await save(store, ModelRole.ACTIVE, broken)

    with structlog.testing.capture_logs() as logs:
        await directory.refresh(store)

    assert versions(directory) == ("a", None)
    assert [line["log_level"] for line in logs] == ["error"]
