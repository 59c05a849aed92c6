"""One service and one site behind it for the whole folder, and each of the real proxies in front of it."""

import dataclasses
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.lib.settings.schema import read_settings
from tests.proxies.backend import EchoSite, Tap
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import ORIGIN, STATUSES, Installed, install, new_address
from tests.support.service import ADMIN_KEY, RunningService, running_service


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """The running service."""
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("service") / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    with running_service(read_settings(environ)) as running:
        yield running


@pytest.fixture(scope="session")
def site(gateway: RunningService) -> Iterator[Installed]:
    """A site in the service, without a proxy."""
    port = urlsplit(gateway.public_url).port
    assert port is not None
    echo, tap = EchoSite(), Tap(port)
    echo.open()
    tap.open()
    try:
        yield install(gateway, echo, tap)
    finally:
        tap.close()
        echo.close()


@pytest.fixture(scope="session", params=list(STARTERS))
def installed(request: pytest.FixtureRequest, site: Installed) -> Iterator[Installed]:
    """The site behind each proxy in turn."""
    with running_proxy(request.param, site.installation) as port:
        yield dataclasses.replace(site, proxy=request.param, port=port)


@pytest.fixture(scope="session")
def opened(installed: Installed) -> Iterator[Installed]:
    """The site, which enforces, behind each proxy as it is printed for monitor mode."""
    monitored = dataclasses.replace(installed, mode="monitor")
    with running_proxy(monitored.proxy, monitored.installation) as port:
        yield dataclasses.replace(monitored, port=port)


@pytest.fixture(scope="session")
def limited(site: Installed) -> str:
    """The address of a visitor that has come more often than a minute allows."""
    address = new_address()
    question = (
        f"GET /v1/gateway/check HTTP/1.1\r\nHost: service\r\nAuthorization: Bearer {site.secret}\r\n"
        f"X-Original-Method: GET\r\nX-Original-URL: {ORIGIN}/\r\nX-Original-Address: {address}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", site.service_port), timeout=10) as connection:
        for _ in range(GATEWAY_REQUESTS_PER_MINUTE + 1):
            connection.sendall(question)
            connection.recv(4096)
    return address


@pytest.fixture(scope="session")
def ruled(site: Installed) -> None:
    """Install rules for the site: one with a custom response, one that drops, one on the order of headers."""
    scanner = {"all_labels": ["ua.scanner"]}
    response = {"status": 451, "message": "Not here.", "retry_after": 77}
    rules = [
        {"name": "drop", "match": scanner, "action": "drop", "routes": ["/dropped"]},
        {"name": "told", "match": scanner, "action": "block", "routes": ["/told"], "response": response},
        *(
            {
                "name": f"status-{status}",
                "match": scanner,
                "action": "block",
                "routes": [f"/status/{status}"],
                "response": {"status": status},
            }
            for status in STATUSES
        ),
        {"name": "scanner", "match": scanner, "action": "block"},
        {"name": "order", "match": {"all_labels": ["http.order_mismatch"]}, "action": "block", "routes": ["/ordered"]},
    ]
    path, operator = f"/v1/admin/sites/{site.site_key}/rules", site.service.operator
    # Other modules may have changed the rules before.
    body = {"ruleSet": {"version": "1", "rules": rules, "default_action": "allow"}}
    reply = operator.put(path, json={**body, "revision": operator.get(path).json()["revision"]})
    assert reply.status_code == 200, reply.text
