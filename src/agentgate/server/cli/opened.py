"""The stores, or the whole application, opened for as long as a command needs them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agentgate.lib.clock import Clock
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.clock_mark import ClockMark, continue_clock
from agentgate.server.stores.open import Stores, open_stores

if TYPE_CHECKING:
    from agentgate.server.application import Application


@asynccontextmanager
async def opened_application(settings: Settings) -> "AsyncIterator[Application]":
    """Open the application without its listeners."""
    # Half of all modules, which the commands that open the stores alone do not need, and no `--help` does.
    from agentgate.server.application import Application  # noqa: PLC0415

    application = await Application.open(settings)
    try:
        yield application
    finally:
        await application.close()


@asynccontextmanager
async def opened_stores(settings: Settings, clock: Clock) -> AsyncIterator[Stores]:
    """Open the stores that the settings name. Nothing is migrated."""
    stores = await open_stores(settings, clock)
    try:
        yield stores
    finally:
        await stores.close()


def continued_clock(settings: Settings) -> Clock:
    """Return a clock that continues from the highest time that the service has recorded."""
    return continue_clock(ClockMark(settings.data_dir))
