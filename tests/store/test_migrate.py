"""Migrations: applied once, in order, whole or not at all, and rejected when files and database disagree."""

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest

from agentgate.lib.clock import FixedClock
from agentgate.storage.bridge import LAST_FILES
from agentgate.storage.migrate import FOLDER, MigrationRefused, apply, pending, read_migrations

pytestmark = pytest.mark.anyio

CLOCK = FixedClock(1_700_000_000_000)


@pytest.fixture
def folder(tmp_path):
    """A folder with one set of two files."""
    write(
        tmp_path / "migrations" / "config" / "0001_fruit.sql",
        "CREATE TABLE fruit (id BIGINT PRIMARY KEY, name TEXT);\nINSERT INTO fruit VALUES (1, 'apple; $5');\n",
    )
    write(tmp_path / "migrations" / "config" / "0002_color.sql", "ALTER TABLE fruit ADD COLUMN color TEXT;")
    return tmp_path / "migrations"


def write(path, sql):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sql)


@pytest.fixture
async def empty(empty_backend):
    database = empty_backend.make()
    await database.open()
    yield database
    await database.close()


async def test_pending_files_are_applied_in_order_and_then_no_longer_pending(empty, folder):
    assert [migration.name for migration in await pending(empty, "config", folder=folder)] == [
        "0001_fruit.sql",
        "0002_color.sql",
    ]
    heard = []

    applied = await apply(empty, "config", clock=CLOCK, progress=heard.append, folder=folder)

    assert [migration.number for migration in applied] == [1, 2]
    assert heard == applied
    assert await pending(empty, "config", folder=folder) == []
    assert await empty.all("SELECT id, name, color FROM fruit") == [(1, "apple; $5", None)]
    assert await empty.all("SELECT set_name, number, name, checksum, applied_ms FROM schema_migration") == [
        ("config", migration.number, migration.name, migration.checksum, CLOCK.now_ms()) for migration in applied
    ]


async def test_applying_again_does_nothing(empty, folder):
    await apply(empty, "config", clock=CLOCK, folder=folder)

    assert await apply(empty, "config", clock=CLOCK, folder=folder) == []


async def test_a_file_that_fails_leaves_nothing_of_itself_and_keeps_those_before_it(empty, folder):
    write(folder / "config" / "0003_broken.sql", "CREATE TABLE half (id BIGINT);\nINSERT INTO nowhere VALUES (1);")

    with pytest.raises(Exception, match="nowhere"):
        await apply(empty, "config", clock=CLOCK, folder=folder)

    assert [migration.number for migration in await pending(empty, "config", folder=folder)] == [3]
    write(folder / "config" / "0003_broken.sql", "CREATE TABLE half (id BIGINT);")
    assert [migration.number for migration in await apply(empty, "config", clock=CLOCK, folder=folder)] == [3]


async def test_two_workers_that_start_together_apply_each_file_once(empty_backend, empty, folder):
    second = empty_backend.make()
    try:
        applied = await asyncio.gather(
            *(apply(database, "config", clock=CLOCK, folder=folder) for database in (empty, second, empty, second))
        )
    finally:
        await second.close()

    assert sorted(migration.number for one in applied for migration in one) == [1, 2]


async def test_sets_are_counted_apart(empty, folder):
    write(folder / "stats" / "0001_hours.sql", "CREATE TABLE hours (id BIGINT);")
    await apply(empty, "config", clock=CLOCK, folder=folder)

    applied = await apply(empty, "stats", clock=CLOCK, folder=folder)

    assert [migration.name for migration in applied] == ["0001_hours.sql"]


async def test_a_changed_file_is_rejected(empty, folder):
    await apply(empty, "config", clock=CLOCK, folder=folder)
    write(folder / "config" / "0002_color.sql", "ALTER TABLE fruit ADD COLUMN shade TEXT;")

    with pytest.raises(MigrationRefused, match=r"0002_color\.sql was changed"):
        await apply(empty, "config", clock=CLOCK, folder=folder)


async def test_a_database_of_a_newer_release_is_rejected(empty, folder):
    await apply(empty, "config", clock=CLOCK, folder=folder)
    (folder / "config" / "0002_color.sql").unlink()

    with pytest.raises(MigrationRefused, match=r"0002_color\.sql was applied by a newer release"):
        await pending(empty, "config", folder=folder)


async def test_a_file_put_before_one_already_applied_is_rejected(empty, folder):
    (folder / "config" / "0001_fruit.sql").rename(folder / "config" / "0003_fruit.sql")
    (folder / "config" / "0002_color.sql").unlink()
    await apply(empty, "config", clock=CLOCK, folder=folder)
    write(folder / "config" / "0002_late.sql", "CREATE TABLE late (id BIGINT);")

    with pytest.raises(MigrationRefused, match=r"0002_late\.sql is older than 0003_fruit\.sql"):
        await apply(empty, "config", clock=CLOCK, folder=folder)


async def test_a_variant_replaces_the_plain_file_for_its_dialect(empty, empty_backend, folder):
    write(folder / "config" / "0002_color.postgres.sql", "ALTER TABLE fruit ADD COLUMN color JSONB;")
    write(folder / "config" / "0003_index.sqlite.sql", "CREATE INDEX fruit_name ON fruit (name);")

    applied = await apply(empty, "config", clock=CLOCK, folder=folder)

    assert [migration.name for migration in applied] == {
        "sqlite": ["0001_fruit.sql", "0002_color.sql", "0003_index.sqlite.sql"],
        "postgres": ["0001_fruit.sql", "0002_color.postgres.sql"],
    }[empty_backend.dialect]


async def test_a_trigger_with_several_statements_is_one_statement_of_its_file(empty, empty_backend, folder):
    write(
        folder / "config" / "0003_trigger.sqlite.sql",
        "CREATE TRIGGER shout AFTER INSERT ON fruit\nBEGIN\n  UPDATE fruit SET name = upper(name);\nEND;\n",
    )
    write(
        folder / "config" / "0003_trigger.postgres.sql",
        "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n"
        "  NEW.name := upper(NEW.name);\n  RETURN NEW;\nEND;\n$$;\n"
        "CREATE TRIGGER shout BEFORE INSERT ON fruit FOR EACH ROW EXECUTE FUNCTION shout();\n",
    )
    await apply(empty, "config", clock=CLOCK, folder=folder)

    await empty.run("INSERT INTO fruit (id, name) VALUES ($1, $2)", 2, "pear")

    assert await empty.one("SELECT name FROM fruit WHERE id = $1", 2) == ("PEAR",)


@pytest.mark.parametrize("sql", ["COMMIT;", "begin ;", "CREATE TABLE a (id BIGINT);\n  ROLLBACK;", "BEGIN IMMEDIATE;"])
def test_a_file_that_begins_or_ends_a_transaction_is_rejected(folder, sql):
    write(folder / "config" / "0003_bad.sql", sql)

    with pytest.raises(MigrationRefused, match=r"0003_bad\.sql begins or ends a transaction"):
        read_migrations(folder / "config", dialect="sqlite")


@pytest.mark.parametrize("name", ["3_short.sql", "0003.sql", "0003_what.mysql.sql", "0003_What.sql"])
def test_a_file_with_another_kind_of_name_is_rejected(folder, name):
    write(folder / "config" / name, "")

    with pytest.raises(MigrationRefused, match="NNNN_what"):
        read_migrations(folder / "config", dialect="sqlite")


def test_two_files_of_one_number_are_rejected(folder):
    write(folder / "config" / "0002_again.sql", "")

    with pytest.raises(MigrationRefused, match="same number"):
        read_migrations(folder / "config", dialect="sqlite")


def test_a_set_that_is_not_there_is_rejected(folder):
    with pytest.raises(MigrationRefused, match="nothing_here"):
        read_migrations(folder / "nothing_here", dialect="sqlite")


LAST_OF_CONFIG = "0061_model_versions.sql"


async def applied_earlier(database, names):
    """Create the tables of an earlier build, applied under its names."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (FOLDER / "config").glob("000[12]_*"):
            write(Path(folder) / "config" / path.name, path.read_text())
        await apply(database, "config", clock=CLOCK, folder=Path(folder))
    await database.run("DELETE FROM schema_migration")
    for number, name in enumerate(names, 61 - len(names) + 1):
        await database.run("INSERT INTO schema_migration VALUES ('config', $1, $2, 'another', 0)", number, name)


async def test_a_database_with_every_file_of_an_earlier_build_needs_later_files_only(empty):
    assert LAST_OF_CONFIG in LAST_FILES
    await applied_earlier(empty, ["0060_robots_txt.sql", LAST_OF_CONFIG])

    later = [migration.name for migration in await pending(empty, "config")]
    assert not any(name.startswith(("0001", "0002")) for name in later)
    assert [migration.name for migration in await apply(empty, "config", clock=CLOCK)] == later


async def test_a_database_that_lacks_files_of_an_earlier_build_is_rejected(empty):
    await applied_earlier(empty, ["0059_earlier.sql", "0060_robots_txt.sql"])

    with pytest.raises(MigrationRefused, match="or an early build"):
        await apply(empty, "config", clock=CLOCK)


async def test_a_later_file_is_applied_to_a_database_of_an_earlier_build(empty, tmp_path):
    await applied_earlier(empty, ["0060_robots_txt.sql", LAST_OF_CONFIG])
    later = tmp_path / "later"
    shutil.copytree(FOLDER, later)
    known = [migration.name for migration in await pending(empty, "config")]
    write(later / "config" / "0099_fruit.sql", "CREATE TABLE fruit (id BIGINT);")

    assert [migration.name for migration in await apply(empty, "config", clock=CLOCK, folder=later)] == [
        *known,
        "0099_fruit.sql",
    ]
    assert await pending(empty, "config", folder=later) == []
