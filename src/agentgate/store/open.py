"""From settings to stores: the table of backends, and everything that is opened with them."""

from dataclasses import dataclass

from agentgate.config import Settings
from agentgate.core.clock import Clock
from agentgate.core.fast import FastStore
from agentgate.store.databases.postgres import PostgresDatabase
from agentgate.store.databases.sqlite import SqliteDatabase
from agentgate.store.fast_stores.fallback import FallbackFastStore
from agentgate.store.fast_stores.memory import MemoryFastStore
from agentgate.store.migrate import MigratedDatabase
from agentgate.store.sql.sites import SqlActivity
from agentgate.store.stores import SqlStore

# The sets of migrations. Embedded, each has a file of its own, hence a lock of its own; PostgreSQL holds all of them.
CONFIG, STATS = "config", "stats"
SETS = (CONFIG, STATS)


@dataclass(frozen=True, kw_only=True)
class Stores:
    """What was opened. Several sets may share one database."""

    databases: dict[str, MigratedDatabase]
    store: SqlStore
    activity: SqlActivity
    fast: FastStore

    async def close(self) -> None:
        """Finish what was accepted and let go."""
        for database in {id(database): database for database in self.databases.values()}.values():
            await database.close()
        await self.fast.close()


async def open_stores(settings: Settings, clock: Clock) -> Stores:
    """Open the stores that the settings name. Nothing is migrated here."""
    databases = _postgres(settings) if settings.database_url else _sqlite(settings)
    return Stores(
        databases=databases,
        store=SqlStore(databases[CONFIG]),
        activity=SqlActivity(databases[CONFIG], databases[STATS]),
        fast=_fast_store(settings, clock),
    )


def _sqlite(settings: Settings) -> dict[str, MigratedDatabase]:
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {name: SqliteDatabase(settings.data_dir / f"{name}.db") for name in SETS}


def _postgres(settings: Settings) -> dict[str, MigratedDatabase]:
    return dict.fromkeys(SETS, PostgresDatabase(settings.database_url))


def _fast_store(settings: Settings, clock: Clock) -> FastStore:
    memory = MemoryFastStore(clock, workers=settings.workers)
    if not settings.redis_url:
        return memory
    from agentgate.store.fast_stores.redis import RedisFastStore  # noqa: PLC0415 - a third of the time of a start

    return FallbackFastStore(RedisFastStore(settings.redis_url), memory, clock=clock)
