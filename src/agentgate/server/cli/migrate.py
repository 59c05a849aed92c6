"""`agentgate migrate`: bring the schema of every database up to this release."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.server.cli.options import ConfigOption


def migrate(
    config: ConfigOption = None,
    check: Annotated[bool, typer.Option("--check", help="Only tell; exit code 1 when something is pending.")] = False,
) -> int:
    """Show the migrations that are pending and apply them."""
    return asyncio.run(_migrate(read_process_settings(config), check=check))


async def _migrate(settings: Settings, *, check: bool) -> int:
    from agentgate.server.stores.open import open_stores  # noqa: PLC0415 - likewise
    from agentgate.storage import migrate as migrations  # noqa: PLC0415 - keeps the rest of the command line quick

    stores = await open_stores(settings, SystemClock())
    try:
        pending = {
            set_name: await migrations.pending(database, set_name) for set_name, database in stores.databases.items()
        }
        for set_name, files in pending.items():
            for migration in files:
                print(f"pending: {set_name} {migration.name}")
        # Of events in ClickHouse, which have a schema of their own.
        of_events = await stores.segments.pending()
        for name in of_events:
            print(f"pending: clickhouse {name}")
        count = sum(len(files) for files in pending.values()) + len(of_events)
        if not count:
            print("nothing is pending")
        elif not check:
            await _apply(stores.databases, pending, count=count)
            await stores.segments.migrate(SystemClock())
            print(f"{count} applied")
        return 1 if check and count else 0
    finally:
        await stores.close()


async def _apply(databases: Mapping[str, Any], pending: Mapping[str, list[Any]], *, count: int) -> None:
    from rich.progress import Progress  # noqa: PLC0415 - takes longer to import than most commands to run

    from agentgate.storage import migrate as migrations  # noqa: PLC0415 - keeps the rest of the command line quick

    with Progress(transient=True) as progress:
        bar = progress.add_task("Migrating", total=count)
        for set_name, files in pending.items():
            if files:
                await migrations.apply(
                    databases[set_name],
                    set_name,
                    clock=SystemClock(),
                    progress=lambda *_: progress.advance(bar),
                )
