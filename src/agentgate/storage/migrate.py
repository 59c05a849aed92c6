"""Applies numbered SQL files in order, each in one transaction with the row that records it.

Forward only. A file that has been applied is never edited; the checksum kept with it makes sure of that.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar

from agentgate.lib.clock import Clock
from agentgate.lib.database import Database, SqlSession, Transaction
from agentgate.storage.bridge import Files, folded, rename

T = TypeVar("T")

FOLDER = Path(__file__).parent / "migrations"

FILE_NAME = re.compile(r"(?P<number>\d{4})_(?P<what>[a-z0-9_]+?)(?:\.(?P<dialect>sqlite|postgres))?\.sql")
# The words that would end the transaction a file runs in. Inside a trigger, `BEGIN` has no semicolon after it.
ENDS_TRANSACTION = re.compile(
    r"^\s*(BEGIN|COMMIT|ROLLBACK)(\s+(WORK|TRANSACTION|IMMEDIATE|EXCLUSIVE|DEFERRED))*\s*;",
    re.IGNORECASE | re.MULTILINE,
)

CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migration (
    set_name TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_ms BIGINT NOT NULL,
    PRIMARY KEY (set_name, number)
)
"""
COUNT_TABLE = {
    "sqlite": "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'",
    "postgres": "SELECT count(*) FROM pg_catalog.pg_tables"
    " WHERE schemaname = current_schema() AND tablename = 'schema_migration'",
}
# A migration that waits for a lock delays all later statements too, so it gives up soon. A file may raise these.
LIMITS = {"sqlite": "", "postgres": "SET LOCAL lock_timeout = '4s'; SET LOCAL statement_timeout = '5s';"}


class MigrationRefused(Exception):  # noqa: N818 - named after the event, as in lib.database
    """The files and the database do not belong together. Nothing was changed by the attempt that raised this."""


class Migration(NamedTuple):
    """One numbered file, in the variant for the database at hand."""

    set_name: str
    number: int
    name: str
    checksum: str
    sql: str


class MigrationTransaction(Transaction, Protocol):
    """An open transaction that can run a whole file."""

    async def script(self, sql: str) -> None:
        """Run several statements without values."""


class MigratedDatabase(Database, Protocol):
    """A database that migrations can be applied to."""

    @property
    def dialect(self) -> Literal["sqlite", "postgres"]:
        """Which variant of a file is meant for it."""

    async def transaction(self, work: Callable[[MigrationTransaction], Awaitable[T]]) -> T:
        """Run a unit of work."""


async def pending(database: MigratedDatabase, set_name: str, *, folder: Path = FOLDER) -> list[Migration]:
    """Return the migrations that have not been applied yet, in order."""
    migrations = read_migrations(folder / set_name, dialect=database.dialect)
    return _unapplied(migrations, await _applied(database, set_name, migrations, dialect=database.dialect))


async def apply(
    database: MigratedDatabase,
    set_name: str,
    *,
    clock: Clock,
    progress: Callable[[Migration], None] | None = None,
    folder: Path = FOLDER,
) -> list[Migration]:
    """Apply pending migrations and return those that this call applied; `progress` is called after each commit.

    Several processes may do this together: one applies, the others wait and find nothing left to do.
    """
    migrations = read_migrations(folder / set_name, dialect=database.dialect)
    dialect = database.dialect
    done: list[Migration] = []
    # Most starts find nothing to do, and then wait for no lock.
    if not _unapplied(migrations, await _applied(database, set_name, migrations, dialect=dialect)):
        return done

    async def apply_next(transaction: MigrationTransaction) -> Migration | None:
        await transaction.script(LIMITS[dialect])
        await transaction.lock("schema_migration")
        await transaction.run(CREATE_TABLE)
        applied = await _applied(transaction, set_name, migrations, dialect=dialect)
        waiting = _unapplied(migrations, applied)
        if not waiting:
            return None
        await rename(transaction, set_name, applied)
        migration = waiting[0]
        await transaction.script(migration.sql)
        await transaction.run(
            "INSERT INTO schema_migration (set_name, number, name, checksum, applied_ms) VALUES ($1, $2, $3, $4, $5)",
            migration.set_name,
            migration.number,
            migration.name,
            migration.checksum,
            clock.now_ms(),
        )
        return migration

    while (migration := await database.transaction(apply_next)) is not None:
        done.append(migration)
        if progress is not None:
            progress(migration)
    return done


def read_migrations(folder: Path, *, dialect: Literal["sqlite", "postgres"]) -> list[Migration]:
    """Return the migrations of a folder for one dialect, in order. A variant replaces the plain file of its number."""
    if not folder.is_dir():
        raise MigrationRefused(f"there is no migration set named {folder.name!r}")
    plain: dict[int, Path] = {}
    variants: dict[int, Path] = {}
    for path in sorted(folder.glob("*.sql")):
        match = FILE_NAME.fullmatch(path.name)
        if match is None:
            raise MigrationRefused(f"{path.name}: a migration must be named NNNN_what.sql")
        if match["dialect"] not in {None, dialect}:
            continue
        chosen = variants if match["dialect"] else plain
        other = chosen.setdefault(int(match["number"]), path)
        if other != path:
            raise MigrationRefused(f"{other.name} and {path.name} have the same number")
    return [_read(path, number) for number, path in sorted((plain | variants).items())]


def _read(path: Path, number: int) -> Migration:
    data = path.read_bytes()
    sql = data.decode()
    if ENDS_TRANSACTION.search(sql):
        raise MigrationRefused(f"{path.name} begins or ends a transaction, but migrations already run in one")
    return Migration(path.parent.name, number, path.name, hashlib.sha256(data).hexdigest(), sql)


async def _applied(session: SqlSession, set_name: str, migrations: list[Migration], *, dialect: str) -> Files:
    """Return name and checksum of applied migrations, by number."""
    counted = await session.one(COUNT_TABLE[dialect])
    if counted is None or counted[0] == 0:
        return {}
    rows = await session.all("SELECT number, name, checksum FROM schema_migration WHERE set_name = $1", set_name)
    files = {migration.number: (migration.name, migration.checksum) for migration in migrations}
    return folded({number: (name, checksum) for number, name, checksum in rows}, files)


def _unapplied(migrations: list[Migration], applied: Files) -> list[Migration]:
    known = {migration.number: migration for migration in migrations}
    for number, (name, checksum) in sorted(applied.items()):
        if number not in known:
            raise MigrationRefused(f"{name} was applied by a newer release or an early build, unknown here")
        if known[number].checksum != checksum:
            raise MigrationRefused(f"{known[number].name} was changed after it had been applied")
    newest = max(applied, default=-1)
    waiting = [migration for migration in migrations if migration.number not in applied]
    for migration in waiting:
        if migration.number < newest:
            raise MigrationRefused(f"{migration.name} is older than {applied[newest][0]}, which is already applied")
    return waiting
