"""A node with a site that enforces, which is restarted while clients ask it."""

import contextlib
import http.client
import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.gateway import ORIGIN, VISITOR
from tests.support.processes import ServeProcess, serving

DRAIN = {"AGENTGATE_DRAIN_SECONDS": "8"}
RULES = {"version": "1", "rules": [], "default_action": "allow"}


class Node:
    """A running node with a site that enforces, and its restarts."""

    def __init__(self, process: ServeProcess) -> None:
        self.process = process
        self.port = urlsplit(process.public_url).port or 0
        self._current = process.process_id
        self._numbers = itertools.count(1)
        with process.admin() as admin:
            site = {"name": "Shop", "siteKey": "site_shop", "mode": "enforce"}
            assert admin.call("POST", "/v1/admin/sites", site).status == 201
            path = "/v1/admin/sites/site_shop"
            assert admin.call("PUT", f"{path}/rules", {"ruleSet": RULES, "revision": 0}).status == 200
            self.secret = admin.call("POST", f"{path}/credentials", {"name": "gate"}).body["secret"]
        time.sleep(1.2)

    def check(self, connection: http.client.HTTPConnection) -> None:
        """Send one gateway check."""
        number = next(self._numbers)
        address = f"10.1.{number // 250 % 250}.{number % 250}"
        original = {"X-Original-Method": "GET", "X-Original-URL": f"{ORIGIN}/", "X-Original-Address": address}
        headers = {**VISITOR, **original, "Authorization": f"Bearer {self.secret}"}
        connection.request("GET", "/v1/gateway/check", headers=headers)

    def restart(self) -> None:
        """Restart by signal, and wait until the successor serves and the process before it has ended."""
        served = len(self.process.events("serving"))
        before = self._current
        os.kill(before, signal.SIGUSR2)
        self.process.wait_for_events("serving", served + 1)
        self._current = self.process.events("successor started")[-1]["pid"]
        deadline_s = time.monotonic() + 30
        while is_alive(before):
            assert time.monotonic() < deadline_s, "the predecessor does not end"
            time.sleep(0.02)


def is_alive(process_id: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextlib.contextmanager
def running_node(folder: Path, **settings: str) -> Iterator[Node]:
    with serving(folder, **DRAIN, **settings) as process:
        yield Node(process)
