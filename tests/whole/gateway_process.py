"""A real service as a process, a site in each mode, and what a test of faults asks of them."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from agentgate.lib.clock import SystemClock
from tests.support.gateway import ORIGIN, VISITOR
from tests.support.processes import AdminConnection, ServeProcess, serving
from tests.support.service import ADMIN_KEY
from tests.support.tokens import keys_of_process, mint

FIGURE = re.compile(r"^agentgate_event(?:s|_write)_(\w+?)(?:_total)?(?:{[^}]*})? ([\d.]+)$", re.MULTILINE)
DECIDED, NO_TOKEN, USED = (204, "allowed"), (401, "receipt_required"), (401, "token_used")
REFUSED, LET_THROUGH = (503, "service_unavailable"), (204, "service_unavailable")

Said = tuple[int, str]


class Asked(NamedTuple):
    """A decision of the gateway, and its ID."""

    said: Said
    decision_id: str | None


class Door:
    """The proxy in front of a site: one connection that asks about requests."""

    def __init__(self, url: str, site_key: str, secret: str) -> None:
        self.url, self.site_key, self.secret = url, site_key, secret
        self._connection = AdminConnection(url, {})

    def ask(self, token: str | None = None, *, address: str = "203.0.113.20") -> Said:
        """Ask about a login with this token, or about the front page; return status and reason."""
        return self.ask_whole(token, address=address).said

    def ask_whole(self, token: str | None = None, *, path: str = "", address: str = "203.0.113.20") -> Asked:
        """Ask likewise, and return the decision's ID too."""
        headers = {
            **VISITOR,
            "Authorization": f"Bearer {self.secret}",
            "X-Original-Method": "GET",
            "X-Original-URL": f"{ORIGIN}{path or ('/' if token is None else '/login')}",
            "X-Original-Address": address,
        }
        shown = {} if token is None else {"X-AgentGate-Token": token}
        answer = self._connection.call("GET", "/v1/gateway/check", **headers, **shown)
        return Asked((answer.status, answer.headers["x-service-reason"]), answer.headers["x-service-decision-id"])

    def close(self) -> None:
        """Let go of the connection; the next question makes a new one."""
        self._connection.__exit__()


class GatewayProcess:
    """A running service with a site that enforces and one that monitors."""

    def __init__(self, process: ServeProcess, settings: dict[str, str]) -> None:
        self.process = process
        with process.admin() as admin:
            self.enforcing, self.monitoring = (self._door(admin, mode) for mode in ("enforce", "monitor"))
        self._keys = keys_of_process(process.folder, **settings)

    def token(self, door: Door) -> str:
        """Return a token that is good for a login at this site."""
        return mint(self._keys, door.site_key, now_ms=SystemClock().now_ms())

    def ask_with_tokens(self) -> tuple[Said, Said]:
        """Ask with a new token at each site: at the one that enforces, then at the one that monitors."""
        return tuple(door.ask(self.token(door)) for door in (self.enforcing, self.monitoring))  # type: ignore[return-value]

    def ledger(self) -> dict[str, int]:
        """Return the numbers of events that are sent, stored, not stored, and pending."""
        with self.process.admin() as admin:
            shown = admin.call("GET", "/metrics").body.decode()
        return {name: int(float(figure)) for name, figure in FIGURE.findall(shown)}

    def readiness(self) -> tuple[int, str, set[str]]:
        """Return status, state and the checks that failed."""
        with self.process.admin() as admin:
            answer = admin.call("GET", "/readyz")
        failed = {name for name, line in answer.body["checks"].items() if line.startswith("failed")}
        return answer.status, answer.body["status"], failed

    def wait_until_settled(self, within_s: float = 10.0) -> dict[str, int]:
        """Wait until no event is pending; return the ledger."""
        wait_until(lambda: self.ledger()["waiting"] == 0, within_s, "events wait")
        return self.ledger()

    def close(self) -> None:
        """Let go of the connections."""
        for door in (self.enforcing, self.monitoring):
            door.close()

    def _door(self, admin: AdminConnection, mode: str) -> Door:
        site = {
            "name": mode,
            "siteKey": f"site_{mode}",
            "mode": mode,
            "allowedOrigins": [ORIGIN],
            "actions": {"login": {"browserRequired": True}},
            "routes": [{"method": "GET", "path": "/login", "action": "login"}],
        }
        kept = self.process.folder / f"{mode}.secret"
        # After a restart both already exist.
        if not kept.exists():
            assert admin.call("POST", "/v1/admin/sites", site).status == 201
            made = admin.call("POST", f"/v1/admin/sites/{site['siteKey']}/credentials", {"name": "gate"})
            kept.write_text(made.body["secret"])
        return Door(self.process.public_url, f"site_{mode}", kept.read_text())


@contextlib.contextmanager
def gateway_process(folder: Path, **settings: str) -> Iterator[GatewayProcess]:
    """Run the service for as long as the block does."""
    settings = {"AGENTGATE_DRAIN_SECONDS": "0", **settings}
    with serving(folder, **settings) as process:
        gateway = GatewayProcess(process, settings)
        try:
            yield gateway
        finally:
            gateway.close()


def wait_until(holds: Callable[[], bool], within_s: float, complaint: str) -> None:
    """Wait until something holds."""
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, complaint
        time.sleep(0.05)


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {
        "AGENTGATE_DATA_DIR": str(folder / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        **more,
    }
