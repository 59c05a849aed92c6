"""`agentgate fleet`: a secret for a hosting provider, and sites for the servers of its nginx."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import Result, agentgate
from tests.support.cast import add_account
from tests.support.service import ADMIN_KEY, RunningService

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
Command = Callable[..., Result]


@pytest.fixture
def run(service: RunningService, tmp_path: Path) -> Command:
    add_account(service, "Hosting")
    return lambda *given: agentgate(
        tmp_path, "fleet", *given, "--url", service.admin_url, AGENTGATE_ADMIN_KEY=ADMIN_KEY
    )


def servers(tmp_path: Path, count: int) -> str:
    """Write what `nginx -T` prints, and return the file."""
    path = tmp_path / "nginx.txt"
    blocks = "".join(
        f"server {{ listen 443 ssl; server_name s{each}.example www.s{each}.example; }}\n" for each in range(count)
    )
    path.write_text(f"http {{ {blocks} }}")
    return str(path)


def test_a_fleet_credential_is_created_listed_and_revoked(run: Command) -> None:
    secret = run("create", "Hosting", "--name", "Web 1", "--unknown-hosts", "block")
    assert secret.stdout.startswith("ags_")
    (made,) = json.loads(run("list", "Hosting", "--json").stdout)
    assert (made["name"], made["unknownHosts"]) == ("Web 1", "block")

    ended = run("revoke", "Hosting", made["id"])

    assert ended.stdout == f"{made['id']} is revoked\n"
    assert "revokedAt" in json.loads(run("list", "Hosting", "--json").stdout)[0]


def test_sync_creates_sites_in_monitor_mode_once(run: Command, service: RunningService, tmp_path: Path) -> None:
    source = servers(tmp_path, 3)
    assert "Would create 3 sites" in run("sync", "Hosting", "--from", source, "--dry-run").stdout
    assert service.operator.get("/v1/admin/sites").json()["items"] == []

    first = run("sync", "Hosting", "--from", source)
    second = run("sync", "Hosting", "--from", source)

    assert first.stdout.startswith("Created 3 sites in monitor mode; 0 existed already.")
    assert second.stdout.startswith("Created 0 sites in monitor mode; 3 existed already.")
    sites = service.operator.get("/v1/admin/sites").json()["items"]
    assert {each["mode"] for each in sites} == {"monitor"}
    assert ["https://s0.example", "https://www.s0.example"] in [each["allowedOrigins"] for each in sites]


def test_sync_does_not_exceed_the_accounts_limit_of_sites(
    run: Command, service: RunningService, tmp_path: Path
) -> None:
    source = servers(tmp_path, 6)

    refused = run("sync", "Hosting", "--from", source)

    assert refused.returncode == 2
    assert "its limit is 5" in refused.stderr
    assert service.operator.get("/v1/admin/sites").json()["items"] == []
    assert run("create", "Hosting", "--site-limit", "6").returncode == 0
    assert run("sync", "Hosting", "--from", source).stdout.startswith("Created 6 sites")


def test_sync_with_a_shared_host_creates_nothing(run: Command, service: RunningService, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("server { server_name a.example x.example; } server { server_name b.example x.example; }")

    refused = run("sync", "Hosting", "--from", str(path))

    assert refused.returncode == 2
    assert "have the same host" in refused.stderr
    assert service.operator.get("/v1/admin/sites").json()["items"] == []


def test_an_unknown_account_is_an_error(run: Command) -> None:
    assert "no accounts are named Unknown" in run("list", "Unknown").stderr
