"""`agentgate protect`: files of one site are never used for another one."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgate_tools.adapters.render import FILES
from tests.cli.commands import Result, agentgate
from tests.support.http_receiver import make_certificate
from tests.support.service import ADMIN_KEY, RunningService

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
Command = Callable[..., Result]


@pytest.fixture
def protect(service: RunningService, tmp_path: Path) -> Command:
    """Return what runs `agentgate protect` against the service, without waiting."""

    def run(*given: str) -> Result:
        where = ("--no-watch", "--service", service.public_url, "--url", service.admin_url)
        return agentgate(tmp_path, "protect", *given, *where, AGENTGATE_ADMIN_KEY=ADMIN_KEY)

    return run


def texts_in(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_each_site_has_a_folder(protect: Command, tmp_path: Path) -> None:
    for name in ("one", "two"):
        told = protect(f"https://{name}.folders.example", "--proxy", "nginx", "--site-key", f"site_folder_{name}")
        assert told.returncode == 0, told.stderr

    for name in ("one", "two"):
        text = (tmp_path / "agentgate-proxy" / f"site_folder_{name}" / "agentgate.conf").read_text()
        assert f"{name}.folders.example" in text


@pytest.mark.parametrize("proxy", FILES)
def test_files_of_another_site_stop_the_command_and_remain(
    protect: Command, tmp_path: Path, proxy: str, service: RunningService
) -> None:
    first = protect(f"https://a.{proxy}.example", "--proxy", proxy, "--out", "gate")
    before = texts_in(tmp_path / "gate")
    sites = service.operator.get("/v1/admin/sites").json()["items"]

    unknown = protect(f"https://b.{proxy}.example", "--proxy", proxy, "--out", "gate")
    assert service.operator.get("/v1/admin/sites").json()["items"] == sites
    protect(f"https://b.{proxy}.example", "--proxy", proxy)
    known = protect(f"https://b.{proxy}.example", "--proxy", proxy, "--out", "gate")

    assert first.returncode == 0, first.stderr
    assert (unknown.returncode, known.returncode) == (2, 2)
    assert "files of another one" in unknown.stderr
    assert f"a.{proxy}.example" in known.stderr
    assert f"b.{proxy}.example" in known.stderr
    assert "ags_..." in known.stderr or "ags_" not in known.stderr
    assert texts_in(tmp_path / "gate") == before


@pytest.mark.parametrize("proxy", FILES)
@pytest.mark.parametrize("other", [("--upstream", "http://127.0.0.1:4000"), ("--listen", "127.0.0.1:8999")])
def test_other_addresses_stop_the_command(protect: Command, tmp_path: Path, proxy: str, other: tuple[str, str]) -> None:
    origin = f"https://{proxy}-{other[0].strip('-')}.example"
    given = (origin, "--proxy", proxy, "--out", "gate")
    if (proxy, other[0]) == ("traefik", "--listen"):
        pytest.skip("Traefik listens on the addresses of its static configuration")
    assert protect(*given).returncode == 0
    before = texts_in(tmp_path / "gate")

    again, changed = protect(*given), protect(*given, *other)

    assert again.returncode == 0, again.stderr
    assert "Kept existing files" in again.stdout
    assert changed.returncode == 2
    assert other[1].rpartition(":")[2] in changed.stderr
    assert texts_in(tmp_path / "gate") == before


def test_edited_files_of_the_same_site_are_kept(protect: Command, tmp_path: Path) -> None:
    given = ("https://edited.example", "--proxy", "nginx", "--out", "gate")
    protect(*given)
    file = tmp_path / "gate" / "agentgate.conf"
    text = (
        file.read_text()
        .replace("@agentgate_open;", "@agentgate_closed;")
        .replace("http2", "")
        .replace("4 32k", "8 32k")
    )
    file.write_text(text)

    told = protect(*given)

    assert told.returncode == 0, told.stderr
    assert file.read_text() == text


def test_a_missing_file_is_written_with_the_same_secret(protect: Command, tmp_path: Path) -> None:
    given = ("https://missing.example", "--proxy", "nginx", "--out", "gate")
    protect(*given)
    before = texts_in(tmp_path / "gate")
    (tmp_path / "gate" / "agentgate-server.conf").unlink()

    told = protect(*given)

    assert "Wrote" in told.stdout
    assert texts_in(tmp_path / "gate") == before


def test_a_secret_that_the_service_does_not_know_stops_the_command(protect: Command, tmp_path: Path) -> None:
    given = ("https://unknown.example", "--proxy", "caddy", "--out", "gate")
    protect(*given)
    file = tmp_path / "gate" / "Caddyfile"
    file.write_text(re.sub(r"ags_[A-Za-z0-9_-]+", "ags_" + "w" * 43, file.read_text()))

    told = protect(*given)

    assert told.returncode == 2
    assert "does not know the secret" in told.stderr


def test_files_of_another_proxy_stop_the_command(protect: Command, tmp_path: Path) -> None:
    protect("https://moved.example", "--proxy", "nginx", "--out", "gate")

    told = protect("https://moved.example", "--proxy", "apache", "--out", "gate")

    assert told.returncode == 2
    assert "nothing was written" in told.stderr


def test_values_that_cannot_be_written_create_no_site(protect: Command, service: RunningService) -> None:
    told = protect("https://wrong.example", "--proxy", "nginx", "--upstream", "ftp://x", "--site-key", "site_wrong_up")

    assert told.returncode == 2
    assert service.operator.get("/v1/admin/sites/site_wrong_up").status_code == 404


def test_the_certificate_is_named_or_how_to_get_one(protect: Command, tmp_path: Path) -> None:
    file = make_certificate(tmp_path, "cert.example")[1]
    absent = protect("https://nocert.example", "--proxy", "haproxy")
    given = protect("https://cert.example", "--proxy", "nginx", "--certificate", str(file))
    key_only = protect("https://cert.example", "--proxy", "nginx", "--certificate-key", str(file))
    plain = json.loads(protect("http://plain.example", "--proxy", "nginx", "--json").stdout)

    assert "certbot certonly --standalone -d nocert.example" in absent.stdout
    assert "/etc/haproxy/certs/nocert.example.pem" in absent.stdout
    assert f"Certificate: {file}" in given.stdout
    assert key_only.returncode == 2
    assert "ssl" not in (tmp_path / plain["files"][0]).read_text()


def test_the_authorities_of_the_service_can_be_named(tmp_path: Path, service: RunningService) -> None:
    given = (
        "--proxy",
        "nginx",
        "--no-watch",
        "--url",
        service.admin_url,
        "--service",
        "https://gate.example",
        "--json",
    )
    told = agentgate(
        tmp_path, "protect", "https://ca.example", *given, "--service-ca", "/etc/own.pem", AGENTGATE_ADMIN_KEY=ADMIN_KEY
    )

    assert told.returncode == 0, told.stderr
    text = (tmp_path / json.loads(told.stdout)["files"][0]).read_text()
    assert "proxy_ssl_trusted_certificate /etc/own.pem;" in text


def test_the_application_is_set_with_the_site(protect: Command, service: RunningService) -> None:
    told = protect("https://git.apps.example", "--proxy", "nginx", "--site-key", "site_apps_git", "--app", "forgejo")

    assert told.returncode == 0, told.stderr
    assert service.operator.get("/v1/admin/sites/site_apps_git/rules").json()["preset"] == "forgejo"
    again = protect("https://git.apps.example", "--proxy", "nginx", "--site-key", "site_apps_git")
    assert again.returncode == 0, again.stderr
    assert service.operator.get("/v1/admin/sites/site_apps_git/rules").json()["preset"] == "forgejo"
