"""`agentgate backup`: copy every database while the service runs, and prove that the copies are sound."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from agentgate.events.storage.days.sqlite import EVENTS
from agentgate.lib.settings.schema import Settings
from agentgate.server.cli.postgres_dump import dump
from agentgate.server.stores.files import check_files, sync
from agentgate.storage.sqlite.database import SqliteDatabase
from agentgate_tools.commands.command import CommandAnswer, CommandRefused
from agentgate_tools.commands.parameters import Argument
from agentgate_tools.commands.progress import Progress

UNFINISHED = ".unfinished"

# Told the name of a database, pages copied and pages in all.
CopyProgress = Callable[[str, int, int], None]


def backup(
    folder: Annotated[Path, Argument(help="An empty or new folder for the backup.")], settings: Settings
) -> CommandAnswer:
    """Back up every database into a folder and verify each copy. The service may keep running.

    With PostgreSQL, the copy is a dump created by pg_dump.
    """
    check_empty(folder)
    if settings.database_url:
        file = dump(settings, folder)
        told = (
            "Database dumped and verified. The dump does not contain the root secret and the admin key."
            " Back them up separately."
        )
        return CommandAnswer({"files": [str(file)]}, [str(file), told])
    if not settings.data_dir.is_dir():
        raise CommandRefused(f"there is no data directory {settings.data_dir}; set AGENTGATE_DATA_DIR")
    databases = _find_databases(settings)

    with Progress() as progress:
        copies = asyncio.run(
            _copy(databases, folder, lambda name, done, total: progress.show(f"{name}: {done} of {total} pages"))
        )
    files = [str(copy) for copy in copies]
    people = [
        *files,
        f"{len(files)} databases copied and verified.",
        # A person with both could open every sealed key, so keep them in different places.
        f"Back up the root secret and the admin key in {settings.data_dir} separately. They are not in the backup.",
    ]
    return CommandAnswer({"files": files}, people)


def _find_databases(settings: Settings) -> dict[str, Path]:
    """Return the embedded databases in the order in which they are copied, by the names of the copies."""
    folder = settings.data_dir
    check_files(folder, "config.db", "stats.db", "hot.db", days=EVENTS)
    days = [] if settings.events_url else sorted((folder / EVENTS).glob("*.db"))
    # Copy events first, then the words that encode them, then the sites that they belong to: each copy is then at least
    # as new as the records that refer to it. Copy redeemed tokens last: without the redemption, a restored service
    # would accept the token again.
    return {f"{EVENTS}/{day.stem}": day for day in days} | {
        name: folder / f"{name}.db" for name in ("stats", "config", "hot")
    }


def check_empty(folder: Path) -> None:
    """Raise CommandRefused if a folder is not empty: a mixture of two backups restores to neither."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandRefused(f"{folder} is not an empty folder; give a new one")


async def _copy(databases: Mapping[str, Path], folder: Path, progress: CopyProgress) -> list[Path]:
    """Copy the databases and check every copy; only then do the copies get their names."""
    unfinished = _make_unfinished(folder)
    try:
        for name, path in databases.items():
            copy, database = unfinished / f"{name}.db", SqliteDatabase(path)
            copy.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                await database.backup(copy, partial(progress, name))
            finally:
                await database.close()
            await check_copy(copy)
        return [_keep(unfinished, name, folder) for name in databases]
    finally:
        shutil.rmtree(unfinished)
        sync(folder)


def _make_unfinished(folder: Path) -> Path:
    # The copies hold everything that the service knows, so only the owner may read the folder.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = folder / UNFINISHED
    unfinished.mkdir(mode=0o700)
    return unfinished


async def check_copy(path: Path) -> None:
    """Raise an error if a copy is damaged."""
    copy = SqliteDatabase(path)
    try:
        problems = await copy.integrity()
    finally:
        await copy.close()
    if problems:
        raise CommandRefused(f"the copy of {path.name} is damaged ({problems[0]}); nothing was kept or changed")


def _keep(unfinished: Path, name: str, folder: Path) -> Path:
    copy, kept = unfinished / f"{name}.db", folder / f"{name}.db"
    # Otherwise, a power cut after the rename could leave a complete name on incomplete content.
    sync(copy)
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    return copy.rename(kept)
