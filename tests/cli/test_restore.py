"""`agentgate restore` on real files: rejected backups, files that remain, and files that are replaced.

tests/whole/test_restore.py tests that no token is accepted twice. Also here: files of a store that do not belong
together.
"""

import json
import shutil
from pathlib import Path

import apsw
import pytest

from tests.cli.commands import agentgate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a used data directory, with a backup in it."""
    assert agentgate(tmp_path, "keys", "list").returncode == 0
    assert agentgate(tmp_path, "backup", "copy").returncode == 0
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder without journals, which are empty while the databases are closed."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_databases_that_are_there_are_not_overwritten_unasked(folder: Path) -> None:
    before = contents(folder / "data")

    refused = agentgate(folder, "restore", "copy")

    assert refused.returncode == 2
    assert "with --overwrite they are moved aside" in refused.stderr
    assert contents(folder / "data") == before


def test_what_was_there_is_kept_aside_and_the_service_continues_with_the_backup(folder: Path) -> None:
    before = agentgate(folder, "keys", "list").stdout
    agentgate(folder, "keys", "rotate", "clearance")

    restored = agentgate(folder, "restore", "copy", "--overwrite")

    assert restored.returncode == 0, restored.stderr
    assert "Tokens issued until now can no longer be redeemed" in restored.stdout
    (aside,) = (folder / "data").glob("replaced-*")
    assert {"config.db", "hot.db", "stats.db"} <= {path.name for path in aside.iterdir()}
    assert sorted(path.name for path in (folder / "data").glob("*.db")) == ["config.db", "hot.db", "stats.db"]
    assert (folder / "data" / "config.db").stat().st_mode & 0o777 == 0o600
    assert not (folder / "data" / ".restoring").exists()
    assert agentgate(folder, "keys", "list").stdout == before


def test_programs_are_shown_what_was_restored_and_where_the_rest_is(folder: Path) -> None:
    told = json.loads(agentgate(folder, "restore", "copy", "--overwrite", "--json").stdout)

    assert sorted(Path(each).name for each in told["files"]) == ["config.db", "hot.db", "stats.db"]
    assert Path(told["replaced"]).is_dir()


def test_a_backup_goes_to_a_new_machine_with_its_root_secret(folder: Path) -> None:
    (folder / "new").mkdir()
    shutil.copytree(folder / "copy", folder / "new" / "copy")

    without = agentgate(folder / "new", "restore", "copy")
    (folder / "new" / "data").mkdir(mode=0o700, exist_ok=True)
    shutil.copy(folder / "data" / "root.secret", folder / "new" / "data" / "root.secret")
    restored = agentgate(folder / "new", "restore", "copy")

    assert without.returncode == 2
    assert "root.secret is missing; first put the root secret of the backup there" in without.stderr
    assert restored.returncode == 0, restored.stderr
    assert agentgate(folder / "new", "keys", "list").returncode == 0


def test_another_root_secret_is_reported_before_anything_changes(folder: Path) -> None:
    before = contents(folder / "data")
    (folder / "data" / "root.secret").write_text("ab" * 32)

    refused = agentgate(folder, "restore", "copy", "--overwrite")

    assert refused.returncode == 2
    assert "cannot be opened with this root secret" in refused.stderr
    assert contents(folder / "data") == {**before, "root.secret": b"ab" * 32}


def add_damaged_day(copy: Path) -> None:
    (copy / "events").mkdir(exist_ok=True)
    (copy / "events" / "2026-11-17.db").write_bytes(b"not a database" * 1000)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda copy: (copy / "hot.db").unlink(), "not a complete backup: hot.db is missing"),
        (lambda copy: (copy / "stats.db").write_bytes(b"not a database" * 1000), "stats.db"),
        # A day of events: only the check of each copy opens it before the copy is in place.
        (add_damaged_day, "2026-11-17.db"),
        (shutil.rmtree, "there is no folder copy"),
    ],
)
def test_what_is_no_sound_backup_changes_nothing(folder: Path, damage, told: str) -> None:
    before = contents(folder / "data")
    damage(folder / "copy")

    refused = agentgate(folder, "restore", "copy", "--overwrite")

    assert refused.returncode == 2
    assert told in refused.stderr
    assert contents(folder / "data") == before


def test_while_the_service_runs_nothing_is_restored(folder: Path) -> None:
    # As a worker has it: open, in WAL mode.
    connection = apsw.Connection(str(folder / "data" / "config.db"))
    connection.pragma("journal_mode", "WAL")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    try:
        refused = agentgate(folder, "restore", "copy", "--overwrite")
    finally:
        connection.close()

    assert refused.returncode == 2
    assert "config.db is in use; stop the service first" in refused.stderr


def empty(path: Path) -> None:
    path.write_bytes(b"")


def clear(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 1)
    connection.close()


@pytest.mark.parametrize(
    ("damage", "state", "command"),
    [
        (Path.unlink, "missing", ("serve",)),
        (empty, "empty", ("serve",)),
        (clear, "empty", ("keys", "list")),
        (Path.unlink, "missing", ("migrate",)),
    ],
)
def test_without_its_main_database_a_store_does_not_begin_again(
    folder: Path, damage, state: str, command: tuple[str, ...]
) -> None:
    damage(folder / "data" / "config.db")

    refused = agentgate(folder, *command)

    assert refused.returncode == 2
    assert f"{folder / 'data' / 'config.db'} is {state}" in refused.stderr
    assert "agentgate restore" in refused.stderr
    assert "Traceback" not in refused.stderr
    # The remedy works.
    assert agentgate(folder, "restore", "copy", "--overwrite").returncode == 0
    assert agentgate(folder, "keys", "list").returncode == 0


@pytest.mark.parametrize("name", ["config.db", "hot.db", "stats.db"])
def test_a_file_that_is_no_database_is_named_with_the_remedy(folder: Path, name: str) -> None:
    (folder / "data" / name).write_bytes(b"This is not a database. " * 500)

    refused = agentgate(folder, "keys", "list")

    assert refused.returncode == 2
    assert f"{folder / 'data' / name}: " in refused.stderr
    assert "file is not a database" in refused.stderr
    assert "agentgate restore" in refused.stderr
