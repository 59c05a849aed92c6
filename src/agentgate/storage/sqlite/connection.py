"""One SQLite connection: opening it with our settings, running a statement on it, and naming its errors.

Which thread uses which connection is decided in database.py, readers.py and writer.py.
"""

import contextlib
import functools
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import apsw

from agentgate.lib.database import Conflict, Row, StoreUnavailable, Value

Synchronous = Literal["FULL", "NORMAL"]

WRITER_BUSY_S = 1.0
# A reader runs in the event loop, which must not sleep for long. In WAL mode it is almost never rejected.
READER_BUSY_S = 0.05

# Releases before this one can lose committed pages when a checkpoint and a reset of the WAL cross.
OLDEST_LIBRARY = (3, 51, 3)
WAL_PAGES = 4_000
WAL_KEPT_BYTES = 64 * 1024 * 1024
# The page cache of a writer. With SQLite's own 2 MB, writing events to a large day takes 20% longer.
WRITER_CACHE_KIB = 16 * 1024
STATEMENTS_CACHED = 512
REMEDY = "put the databases of a backup in place with `agentgate restore`, or restore the right file"

CONFLICTS = frozenset(
    {
        apsw.SQLITE_CONSTRAINT_UNIQUE,
        apsw.SQLITE_CONSTRAINT_PRIMARYKEY,
        apsw.SQLITE_CONSTRAINT_ROWID,
        apsw.SQLITE_CONSTRAINT_FOREIGNKEY,
    }
)
# After one of these the connection's own picture of the file is in doubt, so a new one is opened.
BREAKING = (
    apsw.IOError,
    apsw.CorruptError,
    apsw.CantOpenError,
    apsw.NotADBError,
    apsw.ReadOnlyError,
    apsw.ProtocolError,
    apsw.NoMemError,
    apsw.ConnectionClosedError,
)
UNAVAILABLE = (
    *BREAKING,
    apsw.BusyError,
    apsw.LockedError,
    apsw.FullError,
    apsw.PermissionsError,
    apsw.InterruptError,
)


class Statement(NamedTuple):
    """A statement in SQLite's own form."""

    text: str
    reads: bool


def check_library(version: str) -> None:
    """Reject an SQLite library that can lose commits."""
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_LIBRARY:
        oldest = ".".join(str(part) for part in OLDEST_LIBRARY)
        raise RuntimeError(f"SQLite {version} can lose commits (the WAL-reset bug): at least {oldest} is needed")


def connect(path: Path, *, synchronous: Synchronous, write: bool) -> apsw.Connection:
    """Open the file with our settings. A writer creates it, readable by its owner only."""
    check_library(apsw.sqlite_lib_version())
    if write:
        create_private(path)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(str(path), flags=flags, statementcachesize=STATEMENTS_CACHED)
    try:
        _configure(connection, synchronous=synchronous, write=write)
        # Read now, so that the error about a foreign file has its name.
        connection.pragma("schema_version")
    except apsw.Error as error:
        connection.close(True)  # noqa: FBT003 - positional in apsw
        if isinstance(error, apsw.NotADBError | apsw.CorruptError):
            raise type(error)(f"{path}: {error}; {REMEDY}") from error
        raise
    return connection


def create_private(path: Path) -> None:
    """Create an empty file for its owner only. An existing file is not opened.

    Closing a second descriptor of a database file would drop this process's locks on it (POSIX), so only a new one.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def translated(error: apsw.Error) -> Exception:
    """Return the exception for the caller: the same one when the statement itself is wrong."""
    if isinstance(error, apsw.ConstraintError) and getattr(error, "extendedresult", None) in CONFLICTS:
        return Conflict(str(error))
    if isinstance(error, UNAVAILABLE):
        return StoreUnavailable(f"SQLite: {error}")
    return error


@functools.lru_cache(maxsize=4_096)
def statement(sql: str) -> Statement:
    """Turn portable SQL into SQLite's form; return whether it only reads."""
    assert not any("$" in literal for literal in re.findall(r"'(?:[^']|'')*'", sql)), "no $ inside a literal"
    verb = sql.split(None, 1)[0].upper()
    reads = verb in {"SELECT", "VALUES", "EXPLAIN", "PRAGMA"} or (
        verb == "WITH" and not re.search(r"\b(INSERT|UPDATE|DELETE)\b", sql, re.IGNORECASE)
    )
    return Statement(re.sub(r"\$(\d+)", r"?\1", sql), reads)


def fetch_one(connection: apsw.Connection, prepared: Statement, values: Sequence[Value]) -> Row | None:
    cursor = connection.cursor()
    try:
        cursor.execute(prepared.text, values)
        if prepared.reads:
            return cursor.fetchone()
        # Constraints are checked when a changing statement ends, so it must be read to its end.
        rows = cursor.fetchall()
        return rows[0] if rows else None
    finally:
        # A cursor left open would hold its snapshot: later reads stale, checkpoints blocked.
        cursor.close(True)  # noqa: FBT003 - positional in apsw


def fetch_all(connection: apsw.Connection, prepared: Statement, values: Sequence[Value]) -> list[Row]:
    cursor = connection.cursor()
    try:
        return cursor.execute(prepared.text, values).fetchall()
    finally:
        cursor.close(True)  # noqa: FBT003 - positional in apsw


def change(connection: apsw.Connection, prepared: Statement, values: Sequence[Value]) -> int:
    """Run a statement and return how many rows it changed itself, without triggers and cascades."""
    before = connection.total_changes()
    fetch_all(connection, prepared, values)
    # A statement that changes no rows leaves changes() as the one before it set it.
    return connection.changes() if connection.total_changes() != before else 0


def change_many(connection: apsw.Connection, prepared: Statement, rows: Iterable[Sequence[Value]]) -> None:
    cursor = connection.cursor()
    try:
        for _ in cursor.executemany(prepared.text, rows):
            pass
    finally:
        cursor.close(True)  # noqa: FBT003 - positional in apsw


def _configure(connection: apsw.Connection, *, synchronous: Synchronous, write: bool) -> None:
    connection.set_busy_handler(_waiting(WRITER_BUSY_S if write else READER_BUSY_S))
    # A database file may come from elsewhere (a restored copy): its schema must not be able to run anything.
    for setting, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1),
    ):
        connection.config(setting, value)
    connection.pragma("temp_store", "MEMORY")
    connection.pragma("cell_size_check", "ON")
    if write:
        _use_wal(connection)
        connection.pragma("synchronous", synchronous)
        connection.pragma("wal_autocheckpoint", WAL_PAGES)
        connection.pragma("journal_size_limit", WAL_KEPT_BYTES)
        connection.pragma("cache_size", -WRITER_CACHE_KIB)


def _use_wal(connection: apsw.Connection) -> None:
    """Switch to WAL, also while another process does so: SQLite then fails without waiting."""
    wait = _waiting(WRITER_BUSY_S)
    count = 0
    while True:
        try:
            mode = connection.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if not wait(count):
                raise
            count += 1
        else:
            break
    if mode != "wal":
        raise apsw.CantOpenError(f"the file system does not support WAL (journal mode is {mode})")


def _waiting(limit_s: float) -> Callable[[int], bool]:
    """Return a busy handler with short sleeps: SQLite's own grow, and make the slowest commits ten times slower."""
    started_s = 0.0

    def wait(count: int) -> bool:
        nonlocal started_s
        now_s = time.monotonic()
        if count == 0:
            started_s = now_s
        if now_s - started_s >= limit_s:
            return False
        time.sleep(random.uniform(0.0003, 0.0005))  # noqa: S311 - spreads waiters, protects nothing
        return True

    return wait
