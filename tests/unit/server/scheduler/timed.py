"""What tests of timed jobs share: an empty store, and time that passes."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agentgate.lib.clock import FixedClock
from agentgate.server.scheduler.jobs import JobRunner
from agentgate.server.stores.open import SETS
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase


@contextlib.asynccontextmanager
async def empty_store(folder: Path, clock: FixedClock) -> AsyncIterator[SqlStore]:
    """Open a migrated store in a folder."""
    database = SqliteDatabase(folder / "config.db", synchronous="NORMAL")
    for name in SETS:
        await apply(database, name, clock=clock)
    yield SqlStore(database)
    await database.close()


async def pass_time(running: JobRunner, clock: FixedClock, *, days: int = 0, hours: int = 0) -> None:
    """Let time pass in steps that are too small to be a jump."""
    for step in [24] * days + [1] * hours:
        clock.advance(hours=step)
        await running.run_due()
