"""Mode, rules, routes and credentials that one worker changes are obeyed by every other within a second."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import AdminConnection, ServeProcess, serving
from tests.whole.test_workers import ROOT_SECRET, two_workers

SITE = "/v1/admin/sites/site_shop"
# The kernel deals out connections; that all of so many go to one of two workers does not happen.
CONNECTIONS = 16
OBEYED_S = 1.0
BLOCK_ALL = {"version": "1", "rules": [], "default_action": "block"}


class Servers:
    """Two workers or two servers, and connections to both."""

    def __init__(self, processes: tuple[ServeProcess, ...], stack: contextlib.ExitStack) -> None:
        self.operator = stack.enter_context(processes[0].admin())
        self.call("POST", "/v1/admin/sites", 201, self._site())
        made = self.call("POST", f"{SITE}/credentials", 201, {"name": "gate"})
        self.credential, self.headers = made["credential"]["id"], _question(made["secret"])
        self.gates = [
            stack.enter_context(AdminConnection(processes[number % len(processes)].public_url, self.headers))
            for number in range(CONNECTIONS)
        ]

    def call(self, method: str, path: str, status: int, body: Any = None) -> Any:
        answer = self.operator.call(method, path, body)
        assert answer.status == status, answer.body
        return answer.body

    def wait_until(self, expected: Callable[[tuple[int, str]], bool]) -> None:
        """Every worker must answer so within the time that a change may take."""
        changed_s = time.monotonic()
        for gate in self.gates:
            while not expected(_ask(gate)):
                assert time.monotonic() - changed_s < OBEYED_S, f"{_ask(gate)} a second after the change"
                time.sleep(0.02)

    def _site(self) -> dict[str, Any]:
        return {
            "name": "Shop",
            "siteKey": "site_shop",
            "mode": "enforce",
            "allowedOrigins": ["https://shop.example"],
            "actions": {"login": {"browserRequired": True}},
            "routes": [{"method": "GET", "path": "/login", "action": "login"}],
        }


def _question(secret: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {secret}",
        "X-Original-Method": "GET",
        "X-Original-URL": "https://shop.example/login",
        "X-Original-Address": "203.0.113.20",
    }


def _ask(gate: AdminConnection) -> tuple[int, str]:
    answer = gate.call("GET", "/v1/gateway/check")
    return answer.status, answer.headers["x-service-reason"]


@pytest.fixture(params=["two workers, embedded", "two servers"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Servers]:
    with contextlib.ExitStack() as stack:
        if request.param == "two workers, embedded":
            processes = stack.enter_context(two_workers(tmp_path))
        else:
            common = {
                "AGENTGATE_ROOT_SECRET": ROOT_SECRET,
                "AGENTGATE_DRAIN_SECONDS": "0",
                "AGENTGATE_DATABASE_URL": request.getfixturevalue("postgres_url"),
                "AGENTGATE_REDIS_URL": request.getfixturevalue("redis_url"),
            }
            processes = tuple(stack.enter_context(serving(tmp_path / name, **common)) for name in ("one", "two"))
        yield Servers(processes, stack)


def test_every_worker_obeys_a_change_within_a_second(servers: Servers) -> None:
    servers.wait_until(lambda said: said == (401, "receipt_required"))
    servers.call("PATCH", SITE, 200, {"mode": "monitor"})
    servers.wait_until(lambda said: said == (204, "monitor"))
    servers.call("PATCH", SITE, 200, {"mode": "enforce", "routes": []})
    # Enforcing again, the rules decide about a client without headers of its own.
    servers.wait_until(lambda said: said[1] not in {"monitor", "receipt_required"})
    servers.call("PUT", f"{SITE}/rules", 200, {"ruleSet": BLOCK_ALL, "revision": 0})
    servers.wait_until(lambda said: said == (403, "policy"))
    servers.call("POST", f"{SITE}/credentials/{servers.credential}/revoke", 200)
    servers.wait_until(lambda said: said == (403, "invalid_credential"))
