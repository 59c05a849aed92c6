"""A service for the doctor to look at, and sites with whole-site protection behind real proxies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate_tools.adapters.render import Installation as AdapterInstallation
from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.examine import examine
from agentgate_tools.doctor.findings import Finding, State
from tests.proxies.running import running_proxy
from tests.site_server.gateway_apps import serving_asgi
from tests.support.browser_client import create_site
from tests.support.service import ADMIN_KEY, RunningService, running_service

ORIGIN = "https://shop.example"
Change = Callable[[str], str]
ATTENTION = (State.FAIL, State.WARN)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("doctor") / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
    )
    with running_service(settings, SystemClock()) as running:
        yield running


async def page(_scope: Any, _receive: Any, send: Any) -> None:
    """A site of one page."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": b"<!doctype html><h1>Welcome</h1>"})


class Whole:
    """A site with whole-site protection in enforce mode, as `agentgate site protect` makes it."""

    def __init__(self, service: RunningService, **settings: Any) -> None:
        self.service = service
        self.application: Any = page
        self.site_key = create_site(service, **{"mode": "enforce", "wholeSite": True, **settings})
        made = service.operator.post(f"/v1/admin/sites/{self.site_key}/credentials", json={"name": "gate"})
        self.secret, self.credential = made.json()["secret"], made.json()["credential"]["id"]

    @contextmanager
    def behind(self, proxy: str, change: Change = lambda text: text, **other: str) -> Iterator[int]:
        """Run the site behind a proxy; the proxy's port is the value."""
        with serving_asgi(self.application) as upstream:
            usual = {"service": self.service.public_url, "origin": ORIGIN, "secret": self.secret, "upstream": upstream}
            filled = {"mode": "enforce", **usual, **other}
            with running_proxy(proxy, AdapterInstallation(site=self.site_key, **filled), change=change) as port:
                yield port


def examined(port: int, host: str = "shop.example", **given: Any) -> list[Finding]:
    site = Site(f"http://127.0.0.1:{port}")
    site.authority = host or site.authority
    return examine(Installation(site=site, clock=SystemClock(), **given))


def in_server(*lines: str) -> Change:
    """Return a change of nginx's file that puts lines into the server's block."""
    return lambda text: text.replace("    location / {", "\n".join([*lines, "    location / {"]), 1)
