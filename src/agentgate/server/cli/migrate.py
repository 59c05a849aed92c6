"""`agentgate migrate`: bring the schema of every database up to this release."""

import asyncio
from functools import partial
from typing import Annotated

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import Settings
from agentgate.server.cli.opened import opened_stores
from agentgate.storage import migrate as migrations
from agentgate_tools.commands.command import CommandAnswer
from agentgate_tools.commands.parameters import Option
from agentgate_tools.commands.progress import Progress


def migrate(
    settings: Settings,
    check: Annotated[
        bool, Option("--check", help="List pending migrations without applying them; exit 1 if any.")
    ] = False,
) -> CommandAnswer:
    """Show pending migrations and apply them."""
    pending = asyncio.run(_migrate(settings, check=check))
    people = [f"pending: {name}" for name in pending]
    if not pending:
        people.append("no pending migrations")
    elif not check:
        people.append(f"{len(pending)} applied")
    value = {"pending": pending, "applied": bool(pending) and not check}
    return CommandAnswer(value, people, code=1 if check and pending else 0)


async def _migrate(settings: Settings, *, check: bool) -> list[str]:
    """Apply pending migrations, or only find them if `check` is set; return their names."""
    clock = SystemClock()
    async with opened_stores(settings, clock) as stores:
        pending = {name: await migrations.pending(database, name) for name, database in stores.databases.items()}
        names = [f"{set_name} {migration.name}" for set_name, files in pending.items() for migration in files]
        # Migrations of events in ClickHouse, which have a separate schema.
        names += [f"clickhouse {name}" for name in await stores.segments.pending()]
        if names and not check:
            with Progress() as progress:
                for name, files in pending.items():
                    if files:
                        note = partial(_show, progress, name)
                        await migrations.apply(stores.databases[name], name, clock=clock, progress=note)
                await stores.segments.migrate(clock)
        return names


def _show(progress: Progress, set_name: str, migration: migrations.Migration) -> None:
    progress.show(f"applied {set_name} {migration.name}")
