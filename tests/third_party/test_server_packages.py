"""Third-party server packages: with only the address and the keys changed, each accepts a good token once."""

import contextlib
import json
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.site_server.conftest import gate
from tests.site_server.gate import SITE_KEY, Gate
from tests.support.http_receiver import make_certificate
from tests.third_party.browser_packages import VERIFY
from tests.third_party.install import HERE, debian, node_modules, python
from tests.third_party.server_packages import DEBIAN, NODE, PYTHON, ServerPackage, program_of

__all__ = ["gate"]

# The first test also installs the packages, where they are not in the cache.
pytestmark = pytest.mark.timeout(600)

VENDORS = ("www.google.com", "hcaptcha.com", "api.hcaptcha.com", "challenges.cloudflare.com")
SAMPLE = {"Flask-WTF", "django-recaptcha", "cf-turnstile"}
SECONDS = 60


@pytest.fixture(scope="module")
def front(gate: Gate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run the service behind TLS, with a certificate for localhost and the vendors' host names."""
    authority, certificate = make_certificate(tmp_path_factory.mktemp("tls"), "localhost", *VENDORS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    service = urlsplit(gate.url)

    class Tunnel(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                contextlib.suppress(OSError),
                context.wrap_socket(self.request, server_side=True) as visitor,
                socket.create_connection((service.hostname, service.port)) as behind,
            ):
                back = threading.Thread(target=copied, args=(behind, visitor), daemon=True)
                back.start()
                copied(visitor, behind)
                back.join(SECONDS)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        yield {"port": port, "domain": f"localhost:{port}", "authority": str(authority)}
        server.shutdown()


def copied(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until the source ends."""
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def rows(table: list[ServerPackage]) -> list[object]:
    """Return the packages, most of them for the long run alone."""
    return [pytest.param(row, id=row.name, marks=() if row.name in SAMPLE else pytest.mark.soak) for row in table]


def asked(gate: Gate, front: dict[str, Any], row: ServerPackage, command: list[str], folder: Path) -> list[bool]:
    """Return a package's results for a good token, a forged one, and the good one again."""
    good = gate.token()
    given = {
        "program": program_of(row),
        "url": gate.url + VERIFY[row.service],
        "domain": front["domain"],
        "secret": gate.secret,
        "sitekey": SITE_KEY,
        "tokens": [good, good[:-6] + "AAAAAA", good],
        "names": VENDORS if row.by_name else [],
        "port": front["port"],
    }
    trust = dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), front["authority"])
    ended = subprocess.run(
        [*command, json.dumps(given)],
        cwd=folder,
        env={**os.environ, **trust},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    told: list[bool] = json.loads(ended.stdout.splitlines()[-1])
    assert told == [True, False, False], ended.stderr[-2000:]
    return told


@pytest.mark.parametrize("row", rows(PYTHON))
def test_a_python_package(gate: Gate, front: dict[str, Any], row: ServerPackage, tmp_path: Path) -> None:
    assert asked(gate, front, row, [str(python()), str(HERE / "run_python.py")], tmp_path)


@pytest.mark.parametrize("row", rows(NODE))
def test_a_node_package(gate: Gate, front: dict[str, Any], row: ServerPackage) -> None:
    assert asked(gate, front, row, ["node", str(HERE / "run_node.cjs")], node_modules())


RUNNERS = {
    "PHP": ["php", "run_php.php"],
    "Ruby": ["ruby", "run_ruby.rb"],
}


@pytest.mark.parametrize("row", rows(DEBIAN))
def test_a_package_of_debian(gate: Gate, front: dict[str, Any], row: ServerPackage) -> None:
    program, runner = RUNNERS[row.language]
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    assert asked(gate, front, row, [program, str(HERE / runner)], debian())
