"""Proxies that reach the service through its Unix socket: they check, deny, serve the browser check, forge nothing."""

import dataclasses
import grp
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from agentgate.lib.settings.schema import read_settings
from agentgate_tools.adapters.render import AdapterRefused, render
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import NAVIGATION, Installed, install, new_address
from tests.support.service import ADMIN_KEY, running_service

PROXIES = [name for name in STARTERS if name != "traefik"]


@pytest.fixture(scope="module")
def on_socket(site: Installed) -> Iterator[Installed]:
    """A site of a service with a Unix socket, without a proxy."""
    # Apache changes to a user who could not read pytest's folder.
    folder = Path(tempfile.mkdtemp(prefix="agentgate-socket-"))
    folder.chmod(0o755)
    environ = {
        "AGENTGATE_DATA_DIR": str(folder / "data"),
        "AGENTGATE_PUBLIC_LISTEN": f"127.0.0.1:0,unix:{folder}/public.sock",
        "AGENTGATE_PUBLIC_SOCKET_GROUP": grp.getgrnam("www-data").gr_name if os.geteuid() == 0 else "",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
    }
    try:
        with running_service(read_settings(environ)) as running:
            yield install(running, site.site, site.tap)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module", params=PROXIES)
def behind(request: pytest.FixtureRequest, on_socket: Installed) -> Iterator[Installed]:
    """The site behind each proxy that can use the socket."""
    path = on_socket.service.application.settings.public_listen.path
    installation = structs.replace(on_socket.installation, service=f"unix:{path}")
    with running_proxy(request.param, installation) as port:
        yield dataclasses.replace(on_socket, proxy=request.param, port=port)


def test_requests_are_allowed_denied_and_challenged(behind: Installed) -> None:
    page = behind.visit("GET", "/page", usual=NAVIGATION)
    challenged = behind.visit("GET", "/members", usual=NAVIGATION)
    own = behind.visit("GET", "/.agentgate/sdk/v1/agentgate.js")

    assert (page.status, page.asked.target) == (200, "/page")
    assert challenged.status == 401
    assert b"/.agentgate/" in challenged.body
    assert own.status == 200


def test_the_visitor_has_the_address_of_its_connection_and_cannot_claim_another(behind: Installed) -> None:
    blocked = new_address()
    entry = {"kind": "address", "value": blocked, "outcome": "block"}
    made = behind.service.operator.post(f"/v1/admin/sites/{behind.site_key}/list-entries", json=entry)
    assert made.status_code == 201, made.text
    claims = [("X-Forwarded-For", "127.9.9.9"), ("X-Real-IP", "127.9.9.9"), ("Forwarded", "for=127.9.9.9")]

    assert behind.visit("GET", "/page", address=new_address()).status == 200
    assert behind.visit("GET", "/page", address=blocked).status == 403
    assert behind.visit("GET", "/page", address=blocked, headers=claims).status == 403


def test_traefik_needs_an_address(site: Installed) -> None:
    installation = structs.replace(site.installation, service="unix:/run/agentgate/public.sock")

    with pytest.raises(AdapterRefused, match="traefik cannot use a Unix socket; give an address such as http://"):
        render("traefik", installation)
