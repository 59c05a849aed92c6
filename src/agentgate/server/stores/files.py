"""Files of the data directory: whether its databases belong together, and what has reached the disk."""

import os
from pathlib import Path

import apsw


class StoreRefused(Exception):  # noqa: N818 - told in one line
    """The files of the store cannot be used as they are. The message names the file and what to do."""


def check_files(folder: Path, main: str, *others: str, days: str) -> None:
    """Raise an error if a folder's main database is missing or empty while other databases are not.

    Otherwise the service would create an empty one and be ready at once, with every account, site and rule gone.
    """
    path = folder / main
    if _has_tables(path):
        return
    beside = [folder / name for name in others] + sorted((folder / days).glob("*.db"))
    used = next((other for other in beside if _has_tables(other)), None)
    if used is not None:
        state = "empty" if path.exists() else "missing"
        raise StoreRefused(
            f"{path} is {state}, but {used} next to it was in use; restore a backup with `agentgate restore`."
            f" To start without accounts, sites and rules, move everything else out of {folder}"
        )


def _has_tables(path: Path) -> bool:
    """Return whether a file is a database with tables, or is not a database: opening it reports that error."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    try:
        # Not read-only: what a crash left in the journal belongs to it.
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return bool(connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0])
        finally:
            connection.close()
    except apsw.Error:
        return True


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
