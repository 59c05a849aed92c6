"""`agentgate migrate`: bring the schema of every database up to this release."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.server.cli.options import ConfigOption, JsonOption, print_json


def migrate(
    config: ConfigOption = None,
    check: Annotated[bool, typer.Option("--check", help="Only tell; exit code 1 when something is pending.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Show the migrations that are pending and apply them."""
    pending = asyncio.run(_migrate(read_process_settings(config), check=check, quiet=as_json))
    if as_json:
        print_json({"pending": pending, "applied": bool(pending) and not check})
    elif not pending:
        print("nothing is pending")
    elif not check:
        print(f"{len(pending)} applied")
    return 1 if check and pending else 0


async def _migrate(settings: Settings, *, check: bool, quiet: bool) -> list[str]:
    """Apply what is pending, unless it is only to be told; return its names."""
    from agentgate.server.stores.open import open_stores  # noqa: PLC0415 - likewise
    from agentgate.storage import migrate as migrations  # noqa: PLC0415 - keeps the rest of the command line quick

    stores = await open_stores(settings, SystemClock())
    try:
        pending = {
            set_name: await migrations.pending(database, set_name) for set_name, database in stores.databases.items()
        }
        names = [f"{set_name} {migration.name}" for set_name, files in pending.items() for migration in files]
        # Of events in ClickHouse, which have a schema of their own.
        names += [f"clickhouse {name}" for name in await stores.segments.pending()]
        if not quiet:
            print("".join(f"pending: {name}\n" for name in names), end="")
        if names and not check:
            await _apply(stores.databases, pending, count=len(names))
            await stores.segments.migrate(SystemClock())
        return names
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
