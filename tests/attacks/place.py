"""A running service with a site behind a real proxy, for attacks that last as long as the clock runs."""

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.proxies.backend import EchoSite, Tap
from tests.proxies.running import running_proxy
from tests.proxies.visiting import Installed, install
from tests.support.service import ADMIN_KEY, running_service


@contextlib.contextmanager
def attacked_site(proxy: str) -> Iterator[Installed]:
    """Run a service and a proxy in front of a site, with the rules of a new site in enforce mode."""
    with tempfile.TemporaryDirectory(prefix="agentgate-attacks-") as folder, contextlib.ExitStack() as ends:
        environ = {
            "AGENTGATE_DATA_DIR": str(Path(folder) / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
        service = ends.enter_context(running_service(read_settings(environ), SystemClock()))
        echo, tap = EchoSite(), Tap(urlsplit(service.public_url).port or 0)
        for each in (echo, tap):
            each.open()
            ends.callback(each.close)
        site = install(service, echo, tap)
        port = ends.enter_context(running_proxy(proxy, site.installation))
        yield dataclasses.replace(site, proxy=proxy, port=port)
