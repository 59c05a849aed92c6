"""The commands on a real embedded store: migrate, backup, keys, routes, openapi."""

import json

import apsw
import pytest

from agentgate.routes import SURFACES
from tests.cli.commands import agentgate


def test_migrate_check_tells_and_changes_nothing(tmp_path):
    first = agentgate(tmp_path, "migrate", "--check")
    second = agentgate(tmp_path, "migrate", "--check")

    assert (first.returncode, second.returncode) == (1, 1)
    assert "pending: config " in first.stdout
    assert first.stdout == second.stdout


def test_migrate_applies_what_is_pending_and_then_there_is_nothing(tmp_path):
    applied = agentgate(tmp_path, "migrate")
    again = agentgate(tmp_path, "migrate", "--check")

    assert (applied.returncode, again.returncode) == (0, 0)
    assert " applied" in applied.stdout
    assert again.stdout == "no pending migrations\n"


def test_a_backup_holds_every_database_and_each_is_sound(tmp_path):
    agentgate(tmp_path, "migrate")

    result = agentgate(tmp_path, "backup", "copy")

    assert result.returncode == 0, result.stderr
    copies = sorted((tmp_path / "copy").iterdir())
    assert [path.name for path in copies] == sorted(path.name for path in (tmp_path / "data").glob("*.db"))
    for path in copies:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM schema_migration").fetchall()[0][0] > 0
        connection.close()


def test_programs_read_what_was_applied_and_what_was_copied(tmp_path):
    applied = json.loads(agentgate(tmp_path, "migrate", "--json").stdout)
    again = json.loads(agentgate(tmp_path, "migrate", "--check", "--json").stdout)
    copied = json.loads(agentgate(tmp_path, "backup", "copy", "--json").stdout)

    assert applied["applied"]
    assert applied["pending"]
    assert again == {"pending": [], "applied": False}
    assert sorted(copied["files"]) == sorted(f"copy/{path.name}" for path in (tmp_path / "copy").iterdir())


def test_a_backup_into_a_folder_with_something_in_it_is_rejected(tmp_path):
    agentgate(tmp_path, "migrate")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "old.db").touch()

    result = agentgate(tmp_path, "backup", "copy")

    assert result.returncode == 2
    assert "not an empty folder" in result.stderr
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["old.db"]


def test_a_damaged_database_leaves_no_backup_behind(tmp_path):
    agentgate(tmp_path, "migrate")
    database = tmp_path / "data" / "config.db"
    content = bytearray(database.read_bytes())
    content[4096 : 8 * 4096] = b"\xa5" * (7 * 4096)
    database.write_bytes(content)

    result = agentgate(tmp_path, "backup", "copy")

    assert result.returncode == 2
    assert list((tmp_path / "copy").iterdir()) == []


def test_a_backup_without_a_data_directory_is_rejected(tmp_path):
    result = agentgate(tmp_path, "backup", "copy")

    assert result.returncode == 2
    assert "there is no data directory" in result.stderr


def test_rotating_a_key_makes_a_new_one_and_keeps_the_old(tmp_path):
    before = json.loads(agentgate(tmp_path, "keys", "list", "--json").stdout)

    rotated = json.loads(agentgate(tmp_path, "keys", "rotate", "clearance", "--json").stdout)

    after = json.loads(agentgate(tmp_path, "keys", "list", "--json").stdout)
    assert len(after) == len(before) + 1
    assert {key["id"] for key in after} - {key["id"] for key in before} == {rotated[0]["id"]}
    assert rotated[0]["purpose"] == "clearance"


def test_routes_lists_every_row_with_the_place_of_its_handler(tmp_path):
    rows = json.loads(agentgate(tmp_path, "routes", "--json").stdout)

    assert [(row["method"], row["path"]) for row in rows] == [
        (row.method, row.path) for surface in SURFACES for row in surface.rows
    ]
    assert all(row["handler"].startswith("agentgate/") and row["handler"].split(":")[1].isdigit() for row in rows)


@pytest.mark.parametrize("surface", [surface.name for surface in SURFACES])
def test_routes_can_be_narrowed_to_a_surface(tmp_path, surface):
    rows = json.loads(agentgate(tmp_path, "routes", "--surface", surface, "--json").stdout)

    assert {row["surface"] for row in rows} == {surface}


def test_routes_prints_a_table_in_which_no_path_is_cut(tmp_path):
    printed = agentgate(tmp_path, "routes").stdout

    assert all(f" {row.path} " in printed for surface in SURFACES for row in surface.rows)


@pytest.mark.parametrize("name", ["routes --surface nope", "openapi nope"])
def test_an_unknown_surface_is_rejected_with_the_known_ones(tmp_path, name):
    result = agentgate(tmp_path, *name.split())

    assert result.returncode == 2
    assert "give one of " in result.stderr
    assert "admin" in result.stderr


def test_openapi_prints_or_writes_the_same_document(tmp_path):
    printed = agentgate(tmp_path, "openapi", "admin").stdout

    agentgate(tmp_path, "openapi", "admin", "--out", "admin.json")

    assert json.loads(printed)["openapi"] == "3.1.0"
    assert (tmp_path / "admin.json").read_text() == printed
