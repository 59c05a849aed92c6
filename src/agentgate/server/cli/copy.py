"""`agentgate copy`: move an embedded installation to PostgreSQL, or events to ClickHouse, and compare what arrived."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import msgspec

from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.lib.settings.schema import Settings
from agentgate.lib.settings.values import Unfit, servers_url
from agentgate.server.cli.opened import continued_clock, opened_stores
from agentgate.server.cli.restore import is_in_use
from agentgate.server.stores.moving import copy_events, copy_stores
from agentgate.server.stores.open import STATS, open_clickhouse
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, read_file
from agentgate_tools.commands.parameters import Option
from agentgate_tools.commands.progress import Progress

SCHEMES = ("clickhouse", "clickhouses")
CLICKHOUSE = tuple(f"{scheme}://" for scheme in SCHEMES)

# Told the name of a table or a day, and how many rows it has.
CopiedRows = Callable[[str, int], None]


def copy(
    settings: Settings,
    to: Annotated[str, Option("--to", help="Address of the target. It contains a password, so prefer --to-file.")] = "",
    to_file: Annotated[Path | None, Option("--to-file", help="File with the target's address.")] = None,
) -> CommandAnswer:
    """Copy the embedded databases to an empty PostgreSQL, or the events of either to an empty ClickHouse.

    Stop the service first. If interrupted, run the command again to continue.
    """
    if bool(to) == (to_file is not None):
        raise CommandRefused("give the target's address with either --to-file or --to")
    url = to if to_file is None else read_file(to_file).strip()
    if url.startswith(CLICKHOUSE):
        return _copy_events(settings, url)
    if settings.database_url:
        raise CommandRefused("the store is already PostgreSQL; unset AGENTGATE_DATABASE_URL to copy the embedded one")
    if not url.startswith(("postgresql://", "postgres://")):
        raise CommandRefused("the address begins with neither postgresql:// nor clickhouse://")
    _check_source(settings)
    rows = _run(copy_to, settings, url)
    counted = f"{sum(rows.values())} rows in {len(rows)} tables and days copied and verified by counts and checksums."
    following = "Now set AGENTGATE_DATABASE_URL, keep the root secret and the data directory unchanged, and start the"
    return CommandAnswer({"rows": rows}, [counted, f"{following} service."])


def _copy_events(settings: Settings, url: str) -> CommandAnswer:
    try:
        servers_url(*SCHEMES).parse(url)
    except Unfit as wrong:
        raise CommandRefused(f"the address of ClickHouse cannot be used: {wrong}") from wrong
    if not settings.database_url:
        _check_source(settings)
    rows = _run(copy_events_to, settings, url)
    counted = f"{sum(rows.values())} rows of {len(rows)} days copied and verified by counts and checksums."
    following = "Now set AGENTGATE_EVENTS_URL, keep the other settings unchanged, and start the service."
    return CommandAnswer({"rows": rows}, [counted, following])


def _run(
    work: Callable[[Settings, str, CopiedRows], Awaitable[dict[str, int]]], settings: Settings, url: str
) -> dict[str, int]:
    with Progress() as progress:

        async def run() -> dict[str, int]:
            return await work(settings, url, lambda name, rows: progress.show(f"{name}: {rows} rows"))

        return asyncio.run(run())


async def copy_events_to(settings: Settings, url: str, progress: CopiedRows) -> dict[str, int]:
    """Copy events to ClickHouse and return the rows per day; report the same to `progress` during the copy."""
    clock = continued_clock(settings)
    async with opened_stores(msgspec.structs.replace(settings, events_url="", redis_url=""), clock) as source:
        client = open_clickhouse(url, settings.events_cluster)
        target = ClickhouseDays(client, settings.events_cluster)
        try:
            await source.migrate(clock)
            await target.migrate(clock)
            compared = await copy_events(source.databases[STATS], source.segments, client, target, progress)
        finally:
            await target.close()
    return {name: found.rows for name, found in compared.items()}


def _check_source(settings: Settings) -> None:
    # Opening the stores would create what is missing, and the copy of a mistyped folder would look like a success.
    if not (settings.data_dir / "config.db").is_file():
        raise CommandRefused(f"there is no installation in {settings.data_dir}; set AGENTGATE_DATA_DIR")
    for path in settings.data_dir.glob("*.db"):
        if is_in_use(path):
            raise CommandRefused(f"{path} is in use; stop the service first")


async def copy_to(settings: Settings, url: str, progress: CopiedRows) -> dict[str, int]:
    """Copy to a database and return the rows per table and day; report the same to `progress` during the copy."""
    clock = continued_clock(settings)
    moved = msgspec.structs.replace(settings, database_url=url, redis_url="", events_url="")
    async with (
        opened_stores(msgspec.structs.replace(settings, events_url=""), clock) as source,
        opened_stores(moved, clock) as target,
    ):
        for stores in (source, target):
            await stores.migrate(clock)
        compared = await copy_stores(source, target, progress)
    return {name: found.rows for name, found in compared.items()}
