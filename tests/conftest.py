"""What every test may ask for: real servers, and the whole service on either store."""

import asyncio
import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.events.ports import Batching
from agentgate.events.storage.events import SqlEvents
from agentgate.lib.clock import FixedClock
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.server.application import Application
from tests.support.clickhouse_server import ClickhouseServer, clickhouse_server
from tests.support.migrated_schemas import MigratedSchemas
from tests.support.ports import free_port
from tests.support.servers import PostgresServer, RedisServer, empty_database, postgres_server, redis_server
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService, running_service
from tests.support.store_owner import StoreOwner, store_owner

# Until all tests are collected there is no garbage, and repeated garbage collections would take 20% of the time.
gc.disable()
# Number of new objects that starts a garbage collection. High, because a service creates thousands at its start.
GC_THRESHOLDS = (50_000, 20, 50)

# Short delays: tests do not need to batch many events.
SqlEvents.batching = Batching(flush_s=0.05, counts_s=0.05)

# Tests of the API that run on PostgreSQL too, where the two stores could differ: one call of every route, races and
# limits, which are kept by locks, and queries over many rows. The others differ in what is sent; their SQL is that of
# `tests/store`, which runs on both.
ON_BOTH_STORES = (
    *("test_every_route.py", "test_races.py", "test_state_machine.py", "test_store_away.py", "test_outbox_mail.py"),
    *("account/test_invite.py", "account/test_mfa.py"),
    *("admin/test_analytics.py", "admin/test_decisions.py", "admin/test_export.py", "admin/test_health.py"),
    *("admin/test_labels.py", "admin/test_metrics.py", "admin/test_visitors.py"),
    *("console/test_audit.py", "console/test_credentials.py", "console/test_lists.py", "console/test_members.py"),
    *("console/test_tokens.py", "console/test_traffic.py"),
    *("public/test_agent_replays.py", "public/test_agent_submit.py", "public/test_browser_races.py"),
    "public/test_siteverify.py",
)

# The console's main journeys.
BY_MOUSE = "tests/browser/console/test_journeys.py"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select tests: on PostgreSQL only those API tests that the list above names, and of each test its first case.

    The console's journeys are made by keyboard, and only the main ones by mouse too: a page that can be used by keys
    has the same buttons. With `EVERY_CASE=1`, as `make soak` has it, everything is run.
    """
    # The longest go first: were one of them the last, all other processes would wait for it.
    items.sort(key=lambda item: not item.nodeid.startswith("tests/whole/"))
    if os.environ.get("EVERY_CASE") == "1":
        return
    seen: set[str] = set()
    kept, dropped = [], []
    for item in items:
        cases = getattr(getattr(item, "callspec", None), "params", {})
        name = item.nodeid.partition("[")[0]
        is_further = cases.get("settings") == "postgres" and (
            (len(cases) > 1 and name in seen) or not _is_on_both_stores(name)
        )
        is_further |= getattr(cases.get("hand"), "name", cases.get("hand")) == "mouse" and not name.startswith(BY_MOUSE)
        (dropped if is_further else kept).append(item)
        if cases.get("settings") == "postgres":
            seen.add(name)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def _is_on_both_stores(name: str) -> bool:
    path = name.partition("::")[0]
    return not path.startswith("tests/api/") or path.removeprefix("tests/api/") in ON_BOTH_STORES


def pytest_collection_finish() -> None:
    """Take the collected tests out of the garbage collector's rounds: none of them is garbage before the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of this test run."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """An empty database."""
    with empty_database(postgres) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_schemas(postgres: PostgresServer) -> MigratedSchemas:
    """The schemas that tests use one after the other."""
    return MigratedSchemas(postgres)


@pytest.fixture
def migrated_url(migrated_schemas: MigratedSchemas) -> Iterator[str]:
    """A database to which every migration was applied, and which holds nothing else."""
    with migrated_schemas.one() as url:
        yield url


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    """A Redis server of this test run."""
    with redis_server() as server:
        yield server


@pytest.fixture
def owner() -> Iterator[StoreOwner]:
    """A process that owns an empty shared cache."""
    with store_owner() as process:
        yield process


@pytest.fixture
def redis_url(redis: RedisServer) -> str:
    """An empty Redis."""
    redis.flush()
    return redis.url


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[ClickhouseServer]:
    """A ClickHouse of this test run."""
    with clickhouse_server(free_port()) as server:
        yield server


@pytest.fixture
def clickhouse_url(clickhouse: ClickhouseServer) -> str:
    """An empty ClickHouse."""
    return clickhouse.new_database()


@pytest.fixture(scope="session")
def opened_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory that a service has opened once. A copy of it saves a test the migrations and new keys."""
    folder = tmp_path_factory.mktemp("opened") / "data"

    async def open_once() -> None:
        settings = read_settings({"AGENTGATE_DATA_DIR": str(folder), "AGENTGATE_ADMIN_KEY": ADMIN_KEY})
        await (await Application.open(settings, clock=FixedClock(NOON_MS))).close()

    asyncio.run(open_once())
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings for a service on SQLite and memory, then for one on PostgreSQL and Redis."""
    return settings_on(request.param, request, tmp_path)


def settings_on(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Return settings for a service on stores of a kind."""
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    if kind != "postgres":
        shutil.copytree(request.getfixturevalue("opened_folder"), tmp_path / "data")
    if kind == "clickhouse":
        environ["AGENTGATE_EVENTS_URL"] = request.getfixturevalue("clickhouse_url")
    if kind == "postgres":
        environ["AGENTGATE_DATABASE_URL"] = request.getfixturevalue("migrated_url")
        environ["AGENTGATE_REDIS_URL"] = request.getfixturevalue("redis_url")
    return read_settings(environ)


@pytest.fixture
def service(settings: Settings) -> Iterator[RunningService]:
    """The running service."""
    with running_service(settings) as running:
        yield running
