"""Redemptions in a file of marks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore, SpendMarks
from agentgate.lib.clock import FixedClock
from agentgate.server.stores.open import HOT
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.store.sql_objects import NOW_MS

SITE = "st_0123456789abcdef"

LONGEST_MS = 90_000_000


@asynccontextmanager
async def opened(folder: Path, worker: str = "worker-1", now_ms: int = NOW_MS) -> AsyncIterator[RedemptionStore]:
    """Open the store as a worker does when it starts."""
    database = SqliteDatabase(folder / "hot.db")
    try:
        await apply(database, HOT, clock=FixedClock(NOW_MS))
        marks = SpendMarks(folder, worker)
        redemptions = RedemptionStore(database, marks, clock=FixedClock(now_ms))
        await redemptions.check_marks(now_ms)
        yield redemptions
    finally:
        await database.close()


def spend(redemptions: RedemptionStore, receipt: str, *, issued_ms: int = NOW_MS) -> asyncio.Future[bool]:
    return asyncio.ensure_future(
        redemptions.spend(
            SITE, receipt, Redemption("mine", b"{}"), issued_ms=issued_ms, kept_until_ms=issued_ms + LONGEST_MS
        )
    )


def journal(folder: Path) -> Path:
    return folder / "hot.db-wal"
