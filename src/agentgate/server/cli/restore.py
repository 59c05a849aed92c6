"""`agentgate restore`: replace the databases with a backup, so that no token is accepted a second time."""

import asyncio
import shutil
from pathlib import Path
from typing import Annotated

import apsw
import msgspec

from agentgate.lib.clock import to_rfc3339
from agentgate.lib.keyring import Sealer, load_keys
from agentgate.lib.settings.schema import Settings
from agentgate.server.cli.backup import check_copy
from agentgate.server.cli.opened import continued_clock, opened_application, opened_stores
from agentgate.server.cli.postgres_dump import load
from agentgate.server.secret_files import root_secret
from agentgate.server.stores.clock_mark import ClockMark
from agentgate.server.stores.files import sync
from agentgate.server.stores.restored import raise_floor
from agentgate_tools.commands.command import CommandAnswer, CommandRefused
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.progress import Progress

RESTORING = ".restoring"
NEEDED = ("config.db", "stats.db", "hot.db")
EVENTS = "events"


def restore(
    settings: Settings,
    folder: Annotated[
        Path | None,
        Argument(help="Folder created by `agentgate backup`. Omit it after a restore with PostgreSQL's own tools."),
    ] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Move existing databases aside and replace them with the backup.")
    ] = False,
) -> CommandAnswer:
    """Restore a backup. Stop the service first. Tokens issued until now can no longer be redeemed.

    After a restore of PostgreSQL by other tools (a base backup, a snapshot), run this command without a folder.
    """
    if settings.database_url:
        return _restore_postgres(settings, folder, overwrite=overwrite)
    if folder is None:
        raise CommandRefused("give the folder created by `agentgate backup`")
    names = find_copies(folder)
    _check_target(settings, folder, overwrite=overwrite)
    with Progress() as progress:
        restored, aside = asyncio.run(_restore(settings, folder, names, progress))
    files = [str(path) for path in restored]
    people = [
        *files,
        f"{len(files)} databases restored. Tokens issued until now can no longer be redeemed.",
    ]
    if aside is not None:
        people.insert(0, f"The previous databases are in {aside}. Delete them when you no longer need them.")
    return CommandAnswer({"files": files, "replaced": None if aside is None else str(aside)}, people)


def _restore_postgres(settings: Settings, folder: Path | None, *, overwrite: bool) -> CommandAnswer:
    aside = ""
    if folder is not None:
        _check_root_secret(settings)
        aside = load(settings, folder, overwrite=overwrite)
    asyncio.run(_raise_floor(settings))
    people = ["Tokens issued until now can no longer be redeemed on any machine that uses this database."]
    if aside:
        people.insert(0, f"The previous tables are in the schema {aside}. Drop it when you no longer need it.")
    return CommandAnswer({"files": [], "replaced": aside or None}, people)


def _check_root_secret(settings: Settings) -> None:
    # Without it the restored keys cannot be opened, and a start would make another one.
    if not settings.root_secret and not settings.root_secret_path.exists():
        raise CommandRefused(
            f"{settings.root_secret_path} is missing; first put the root secret of the backup there,"
            " which is not part of the backup"
        )


def find_copies(folder: Path) -> list[str]:
    """Return the names of a backup's databases; raise CommandRefused if the folder is not a complete backup."""
    if not folder.is_dir():
        raise CommandRefused(f"there is no folder {folder}; give one created by `agentgate backup`")
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise CommandRefused(f"{folder} is not a complete backup: {', '.join(missing)} is missing")
    return [*NEEDED, *(f"{EVENTS}/{path.name}" for path in sorted((folder / EVENTS).glob("*.db")))]


def _check_target(settings: Settings, folder: Path, *, overwrite: bool) -> None:
    data = settings.data_dir
    if folder.resolve() == data.resolve():
        raise CommandRefused(f"{folder} is the data directory; give a folder created by `agentgate backup`")
    _check_root_secret(settings)
    present = _databases(data)
    if not present:
        return
    if not overwrite:
        raise CommandRefused(
            f"{data} has databases ({present[0].name}); with --overwrite they are moved aside and replaced by"
            " the backup"
        )
    for path in present:
        if path.suffix == ".db" and is_in_use(path):
            raise CommandRefused(f"{path} is in use; stop the service first")


def _databases(data: Path) -> list[Path]:
    """Return the files and folders that a restore replaces."""
    found = [path for name in NEEDED for path in sorted(data.glob(f"{name}*"))]
    return [*found, data / EVENTS] if (data / EVENTS).is_dir() else found


def is_in_use(path: Path) -> bool:
    """Return whether a process has a database open."""
    connection = apsw.Connection(str(path))
    try:
        # A process that has it open in WAL mode holds a shared lock the whole time.
        connection.pragma("locking_mode", "EXCLUSIVE")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except (apsw.BusyError, apsw.LockedError):
        return True
    except apsw.Error:
        # Whatever is wrong with it, it is to be replaced.
        return False
    finally:
        connection.close()
    return False


async def _restore(
    settings: Settings, folder: Path, names: list[str], progress: Progress
) -> tuple[list[Path], Path | None]:
    """Return the databases that are in use now, and the folder of the previous ones."""
    data = settings.data_dir
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged = data / RESTORING
    # A restore that was interrupted leaves it behind.
    shutil.rmtree(staged, ignore_errors=True)
    (staged / EVENTS).mkdir(mode=0o700, parents=True)
    try:
        for name in names:
            progress.show(f"copying {name}")
            shutil.copyfile(folder / name, staged / name)
            (staged / name).chmod(0o600)
            await check_copy(staged / name)
        progress.show("migrating the copies")
        moved_ms = await _prepare(settings, staged)
        aside = _move_aside(data, moved_ms)
        restored = [_put(staged / name, data / name) for name in names]
        # Without a clock mark, the next start would take the databases for an unknown copy.
        ClockMark(data).note(moved_ms)
        return restored, aside
    finally:
        shutil.rmtree(staged)
        sync(data)


async def _prepare(settings: Settings, staged: Path) -> int:
    """Bring the copies up to this release, see that the root secret opens their keys, and raise the spend floor."""
    clock, sealer = continued_clock(settings), Sealer(root_secret(settings))
    now_ms = clock.now_ms()
    async with opened_stores(msgspec.structs.replace(settings, data_dir=staged), clock) as stores:
        await stores.migrate_databases(clock)
        await load_keys(stores.store, sealer, now_ms)
        await raise_floor(stores, now_ms)
    return now_ms


def _move_aside(data: Path, now_ms: int) -> Path | None:
    present = _databases(data)
    if not present:
        return None
    aside = data / f"replaced-{to_rfc3339(now_ms).replace(':', '')}"
    aside.mkdir(mode=0o700)
    for path in present:
        path.rename(aside / path.name)
    sync(data)
    return aside


def _put(staged: Path, path: Path) -> Path:
    # Otherwise, a power cut after the rename could leave a complete name on incomplete content.
    sync(staged)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    staged.rename(path)
    sync(path.parent)
    return path


async def _raise_floor(settings: Settings) -> None:
    async with opened_application(settings) as application:
        await raise_floor(application.stores, application.clock.now_ms())
