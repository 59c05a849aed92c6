"""Backup and restore of an installation on PostgreSQL, by its own tools: `pg_dump` and `pg_restore`.

A dump is one snapshot of all tables, taken while the service runs. A restore keeps the schema that was there under
another name, so that a mistake can be undone.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from agentgate.lib.clock import SystemClock, to_rfc3339
from agentgate.lib.settings.schema import Settings
from agentgate.storage.postgres.database import PostgresDatabase
from agentgate_tools.commands.command import CommandRefused

DUMP = "agentgate.dump"
UNFINISHED = ".unfinished.dump"
PACKAGES = Path("/usr/lib/postgresql")
# The schema itself is made before: whether a dump has it depends on who owned it.
SCHEMA_ENTRIES = (" SCHEMA - ", " COMMENT - SCHEMA ", " ACL - SCHEMA ")


def dump(settings: Settings, folder: Path) -> Path:
    """Write a dump into a new folder, read it once to the end, and only then give it its name."""
    schema, _ = asyncio.run(_read_schema(settings))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished, kept = folder / UNFINISHED, folder / DUMP
    options = ["--format=custom", "--no-owner", "--no-privileges", f"--schema={schema}"]
    try:
        unfinished.touch(mode=0o600)
        _run(settings, "pg_dump", *options, "--file", str(unfinished))
        # Unpacks every table: what was cut off or damaged ends here.
        _run(settings, "pg_restore", "--file", os.devnull, str(unfinished), connects=False)
        return unfinished.rename(kept)
    finally:
        unfinished.unlink(missing_ok=True)


def load(settings: Settings, folder: Path, *, overwrite: bool) -> str:
    """Replace the content of the database with a dump; return the name of the kept old content, or nothing."""
    path = folder / DUMP
    if not path.is_file():
        raise CommandRefused(f"{folder} has no {DUMP}; give a folder created by `agentgate backup`")
    _run(settings, "pg_restore", "--file", os.devnull, str(path), connects=False)
    schema, tables = asyncio.run(_read_schema(settings, alone=True))
    if tables and not overwrite:
        raise CommandRefused(
            f"the schema {schema} has {tables} tables; with --overwrite it is renamed and replaced by the backup"
        )
    aside = f"{schema}_replaced_{_stamp()}" if tables else ""
    _script(settings, f'ALTER SCHEMA "{schema}" RENAME TO "{aside}"; CREATE SCHEMA "{schema}"' if aside else "")
    try:
        with _contents(settings, path) as contents:
            options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
            _run(settings, "pg_restore", *options, "--use-list", str(contents), str(path))
    except CommandRefused:
        back = f'DROP SCHEMA "{schema}" CASCADE; ALTER SCHEMA "{aside}" RENAME TO "{schema}"'
        _script(settings, back if aside else "")
        raise
    return aside


@contextmanager
def _contents(settings: Settings, path: Path) -> Iterator[Path]:
    """Write the list of what is restored: everything but the schema."""
    listed = _run(settings, "pg_restore", "--list", str(path), connects=False)
    wanted = [line for line in listed.splitlines() if not any(entry in line for entry in SCHEMA_ENTRIES)]
    with tempfile.TemporaryDirectory() as folder:
        contents = Path(folder) / "contents"
        contents.write_text("\n".join(wanted))
        yield contents


def _stamp() -> str:
    return "".join(letter for letter in to_rfc3339(SystemClock().now_ms()) if letter.isdigit())[:14]


async def _read_schema(settings: Settings, *, alone: bool = False) -> tuple[str, int]:
    """Return the schema in use and its number of tables; `alone`: raise an error if other clients are connected."""
    database = PostgresDatabase(settings.database_url)
    try:
        row = await database.one(
            "SELECT current_schema(), (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()),"
            " (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid())"
        )
    finally:
        await database.close()
    assert row is not None
    schema, tables, others = row
    if schema is None:
        raise CommandRefused("the database has no schema for the tables")
    if alone and others:
        raise CommandRefused(f"{others} connections use the database; stop the service on every machine first")
    return str(schema), int(str(tables))


def _script(settings: Settings, sql: str) -> None:
    if sql:
        asyncio.run(_run_script(settings, sql))


async def _run_script(settings: Settings, sql: str) -> None:
    database = PostgresDatabase(settings.database_url)
    try:
        await database.transaction(lambda unit: unit.script(sql))
    finally:
        await database.close()


def _run(settings: Settings, program: str, *arguments: str, connects: bool = True) -> str:
    """Run one of PostgreSQL's tools and return what it prints; its own words say what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        target = ["--dbname", _target(settings.database_url, Path(folder) / "password")] if connects else []
        command = [_program(program), *target, *arguments]
        done = subprocess.run(  # noqa: S603 - a list, and no shell
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise CommandRefused(f"{program}: {done.stderr.strip() or 'failed'}; nothing was kept or changed")
    return done.stdout


def _target(url: str, password_file: Path) -> str:
    """Return the address as the tools read it. In a command line others could see the password, so a file has it."""
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    query = parse_qsl(parts.query, keep_blank_values=True)
    if parts.password is not None:
        password_file.touch(mode=0o600)
        escaped = unquote(parts.password).replace("\\", "\\\\").replace(":", "\\:")
        password_file.write_text(f"*:*:*:*:{escaped}\n")
        query.append(("passfile", str(password_file)))
    # The driver takes settings of the server as they are; the tools take them as options.
    query = [("options", f"-csearch_path={value}") if name == "search_path" else (name, value) for name, value in query]
    written = urlencode(query, quote_via=quote)
    return urlunsplit(("postgresql", f"{user.partition(':')[0]}{at}{place}", parts.path, written, ""))


def _program(name: str) -> str:
    """Return where a tool is: on the path, or the newest of Debian's packages."""
    packaged = sorted(PACKAGES.glob(f"*/bin/{name}"), key=lambda path: path.parts[-3].zfill(3))
    found = str(packaged[-1]) if packaged else shutil.which(name)
    if found is None:
        raise CommandRefused(f"{name} is not installed; Debian has it in the package postgresql-client")
    return found
