"""Backup and restore of an installation on PostgreSQL, by the commands that docs/operations.md prints.

Tokens that were redeemed since the backup open nothing afterwards, and the data of the backup is restored.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.cli.commands import Result, agentgate
from tests.support.gateway import Gate
from tests.support.servers import PostgresServer, postgres_server
from tests.support.service import ADMIN_KEY, running_service
from tests.whole.gateway_process import environ
from tests.whole.restored_tokens import ALLOWED, USED, ask, new_tokens, wait_for_new_tokens

pytestmark = pytest.mark.timeout(180)

DOCS = Path(__file__).parents[2] / "docs" / "operations.md"
PASSWORD = "a:b\\c d"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A separate server, because a restore checks that no other client is connected."""
    with postgres_server() as started:
        yield started


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    """A separate schema, and a password that has to be written with care."""
    made = server.create_schema()
    yield made.replace("postgres@", "postgres:a%3Ab%5Cc%20d@")
    server.drop_schema(made)


def run(folder: Path, url: str, *arguments: str) -> Result:
    return agentgate(folder, *arguments, AGENTGATE_DATABASE_URL=url, AGENTGATE_ADMIN_KEY=ADMIN_KEY)


def printed(name: str) -> list[str]:
    """Return the command of the page's part about PostgreSQL that begins so."""
    part = DOCS.read_text().partition("With PostgreSQL the same commands")[2].partition("\n### ")[0]
    found = re.search(rf"^agentgate ({name} .+)$", part, re.MULTILINE)
    assert found is not None, name
    return found[1].split()


def test_the_drill_brings_back_what_the_backup_has_and_opens_nothing_twice(tmp_path: Path, url: str) -> None:
    settings = read_settings(environ(tmp_path, AGENTGATE_DATABASE_URL=url))
    with running_service(settings, SystemClock()) as service:
        gate = Gate(service)
        tokens = new_tokens(gate, 30)
        assert ask(gate, tokens[:10]) == {ALLOWED}
        made = run(tmp_path, url, *printed("backup")[:1], "copy")
        assert made.returncode == 0, made.stderr
        assert ask(gate, tokens[10:20]) == {ALLOWED}
        late = service.operator.post("/v1/admin/sites", json={"name": "Late", "siteKey": "site_late"})
        assert late.status_code == 201
        in_use = run(tmp_path, url, "restore", "copy", *printed("restore")[2:])
        assert in_use.returncode == 2
        assert "stop the service on every machine" in in_use.stderr

    refused = run(tmp_path, url, "restore", "copy")
    restored = run(tmp_path, url, "restore", "copy", *printed("restore")[2:])

    assert refused.returncode == 2
    assert "with --overwrite" in refused.stderr
    assert restored.returncode == 0, restored.stderr
    assert "_replaced_" in restored.stdout
    with running_service(settings, SystemClock()) as service:
        gate.service = service
        assert ask(gate, tokens) == {USED}
        wait_for_new_tokens(gate)
        assert service.operator.get("/v1/admin/sites/site_late").status_code == 404
        assert service.operator.get(f"/v1/admin/sites/{gate.site_key}").status_code == 200


def test_a_backup_goes_to_an_empty_database_with_its_root_secret(
    tmp_path: Path, url: str, server: PostgresServer
) -> None:
    assert run(tmp_path, url, "migrate").returncode == 0
    assert run(tmp_path, url, "keys", "list").returncode == 0
    assert run(tmp_path, url, "backup", "copy").returncode == 0
    assert (tmp_path / "copy" / "agentgate.dump").stat().st_mode & 0o077 == 0
    new = tmp_path / "new"
    new.mkdir()
    server._administer("CREATE DATABASE elsewhere")
    # The schema of a dump keeps its name.
    name = url.partition("&search_path=")[2]
    target = url.replace("/postgres?", "/elsewhere?")
    server._administer_in("elsewhere", f"CREATE SCHEMA {name}")

    without = run(new, target, "restore", str(tmp_path / "copy"))
    (new / "data").mkdir(mode=0o700)
    (new / "data" / "root.secret").write_bytes((tmp_path / "data" / "root.secret").read_bytes())
    restored = run(new, target, "restore", str(tmp_path / "copy"))

    assert without.returncode == 2
    assert "root.secret is missing" in without.stderr
    assert restored.returncode == 0, restored.stderr
    assert run(new, target, "keys", "list").stdout == run(tmp_path, url, "keys", "list").stdout


def test_a_damaged_dump_changes_nothing(tmp_path: Path, url: str) -> None:
    assert run(tmp_path, url, "keys", "list").returncode == 0
    assert run(tmp_path, url, "backup", "copy").returncode == 0
    path = tmp_path / "copy" / "agentgate.dump"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = run(tmp_path, url, "keys", "list").stdout

    refused = run(tmp_path, url, "restore", "copy", "--overwrite")

    assert refused.returncode == 2
    assert "pg_restore" in refused.stderr
    assert run(tmp_path, url, "keys", "list").stdout == before


def test_a_server_that_is_unavailable_leaves_no_dump(tmp_path: Path) -> None:
    refused = run(tmp_path, "postgresql://127.0.0.1:1/gate", "backup", "copy")

    assert refused.returncode != 0
    assert not (tmp_path / "copy").exists()
