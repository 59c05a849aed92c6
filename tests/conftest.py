"""What every test may ask for: real servers, and the whole service on either store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.config import Settings, read_settings
from tests.running import ADMIN_KEY, RunningService, running_service
from tests.servers import PostgresServer, RedisServer, empty_database, postgres_server, redis_server


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
def redis() -> Iterator[RedisServer]:
    """A Redis server of this test run."""
    with redis_server() as server:
        yield server


@pytest.fixture
def redis_url(redis: RedisServer) -> str:
    """An empty Redis."""
    redis.flush()
    return redis.url


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings for a service on SQLite and memory, then for one on PostgreSQL and Redis."""
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    if request.param == "postgres":
        environ["AGENTGATE_DATABASE_URL"] = request.getfixturevalue("postgres_url")
        environ["AGENTGATE_REDIS_URL"] = request.getfixturevalue("redis_url")
    return read_settings(environ)


@pytest.fixture
def service(settings: Settings) -> Iterator[RunningService]:
    """The running service."""
    with running_service(settings) as running:
        yield running
