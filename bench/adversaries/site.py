"""The service that is attacked: the real one in enforce mode with the default rules and the embedded store."""

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from bench.adversaries.front import Lane, open_lane
from tests.support.service import ADMIN_KEY, RunningService, running_service

SITE_KEY = "site_adversaries"
ACTION = "contact"
WAIT_S = 20
ATTEMPTS = 8
UNAVAILABLE = 503


class Laboratory:
    """The service, its site, and the lanes that visitors come through."""

    def __init__(self, service: RunningService, lanes: list[Lane]) -> None:
        self.service = service
        self.lanes = lanes
        self.secret = ""
        self._numbers = itertools.count(1)

    def new_address(self) -> str:
        """Return an address that was never used before, in a separate network."""
        number = next(self._numbers)
        return f"81.{16 + number // 200}.{number % 200 + 1}.{7 + number % 90}"

    def redeem(self, token: str, address: str) -> dict[str, Any]:
        """Validate a token as the site's server does, with the address that it saw."""
        body = {"token": token, "expectedAction": ACTION, "secret": self.secret, "remoteAddress": address}
        for _ in range(ATTEMPTS):
            reply = self.service.public.post("/v1/siteverify", json=body)
            if reply.status_code != UNAVAILABLE:
                break
            # The machine is busy. A site retries, as the documentation recommends.
            time.sleep(1)
        answer: dict[str, Any] = reply.json()
        return answer

    def open_site(self, widget: str, assistants: str) -> None:
        """Create the site, and a credential for its server."""
        operator = self.service.operator
        body = {
            "siteKey": SITE_KEY,
            "name": "Lab",
            "mode": "enforce",
            "widgetMode": widget,
            "assistants": assistants,
            "allowedOrigins": [lane.origin for lane in self.lanes],
            "actions": {ACTION: {"browserRequired": True}},
        }
        made = operator.post("/v1/admin/sites", json=body)
        assert made.status_code == 201, made.text
        made = operator.post(f"/v1/admin/sites/{SITE_KEY}/credentials")
        assert made.status_code == 201, made.text
        self.secret = made.json()["secret"]
        made = operator.put(f"/v1/admin/sites/{SITE_KEY}/feature-capture", json={"enabled": True, "retentionDays": 30})
        assert made.status_code == 200, made.text

    def decision(self, decision_id: str) -> dict[str, Any]:
        """Return a decision, once the recorder has written it; empty when it never comes."""
        until_s = time.monotonic() + WAIT_S
        while time.monotonic() < until_s:
            reply = self.service.operator.get(f"/v1/admin/decisions/{decision_id}", params={"siteKey": SITE_KEY})
            if reply.status_code == 200:
                found: dict[str, Any] = reply.json()["decision"]
                return found
            time.sleep(0.1)
        return {}


@contextmanager
def laboratory(
    folder: Path, lanes: int = 2, widget: str = "managed", probes: str = "", assistants: str = "block"
) -> Iterator[Laboratory]:
    """Start the service and its site; stop it afterwards.

    With an `interactive` widget every visitor gets an interactive challenge; `probes` is a folder with the
    installation's own pools.
    """
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(folder / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
            "AGENTGATE_PROBES_DIR": probes,
        }
    )
    with running_service(settings, SystemClock()) as service, ExitStack() as stack:
        opened = [stack.enter_context(open_lane(service.public_url, SITE_KEY, ACTION)) for _ in range(lanes)]
        lab = Laboratory(service, opened)
        lab.open_site(widget, assistants)
        yield lab
