"""What restarts, restores and idle connections of a running service cost or give away."""

import contextlib
import http.client
import shutil
import socket
import tempfile
import time
from pathlib import Path

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.attacks.gains import Gain
from tests.cli.commands import agentgate
from tests.support.gateway import Gate
from tests.support.processes import serving
from tests.support.service import running_service
from tests.support.strict_clients import StrictClients
from tests.whole.gateway_process import environ
from tests.whole.restarted_node import running_node
from tests.whole.restored_tokens import ALLOWED, ask, new_tokens

CONNECTIONS = 64
LONG_S, SHORT_S = 3600, 120


def attack_nodes(restarts: int, tokens: int) -> list[Gain]:
    """Run all of these, each on a separate service."""
    gains = []
    for act in (lambda folder: _restart(folder, restarts), _keep_idle, lambda folder: _restore(folder, tokens)):
        with tempfile.TemporaryDirectory(prefix="agentgate-attacks-") as folder:
            gains.append(act(Path(folder)))
    return gains


def _restart(folder: Path, restarts: int) -> Gain:
    with (
        running_node(folder) as node,
        StrictClients(lambda: http.client.HTTPConnection("127.0.0.1", node.port, timeout=30), node.check) as clients,
    ):
        for _ in range(restarts):
            node.restart()
    return Gain(f"{restarts} restarts under load", len(clients.lost), "requests lost", f"of {clients.asked}", most=0)


def _keep_idle(folder: Path) -> Gain:
    """Hold as many idle connections as the service keeps; then other clients come."""
    limit = str(CONNECTIONS)
    with (
        serving(folder, AGENTGATE_DRAIN_SECONDS="0", AGENTGATE_MAX_CONNECTIONS=limit) as process,
        contextlib.ExitStack() as held,
    ):
        port = int(process.public_url.rpartition(":")[2])
        for _ in range(CONNECTIONS):
            held.enter_context(socket.create_connection(("127.0.0.1", port)))
        time.sleep(0.5)
        refused = sum(not _is_answered(port) for _ in range(CONNECTIONS))
    return Gain(f"{CONNECTIONS} idle connections, the limit", refused, "clients refused", f"of {CONNECTIONS}", most=0)


def _is_answered(port: int) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(client), contextlib.suppress(OSError, http.client.HTTPException):
        client.request("GET", "/healthz")
        return client.getresponse().status == http.HTTPStatus.OK
    return False


def _restore(folder: Path, count: int) -> Gain:
    """Redeem tokens after a backup, restore it with another lifetime of tokens, and send them again."""
    with running_service(read_settings(environ(folder, AGENTGATE_TOKEN_SECONDS=str(LONG_S))), SystemClock()) as service:
        gate = Gate(service)
        tokens = new_tokens(gate, count, lifetime_s=LONG_S)
        assert agentgate(folder, "backup", "copy").returncode == 0
        assert ask(gate, tokens) == {ALLOWED}
    root = (folder / "data" / "root.secret").read_bytes()
    shutil.rmtree(folder / "data")
    shutil.copytree(folder / "copy", folder / "data")
    (folder / "data" / "root.secret").write_bytes(root)
    with running_service(
        read_settings(environ(folder, AGENTGATE_TOKEN_SECONDS=str(SHORT_S))), SystemClock()
    ) as service:
        gate.service = service
        accepted = sum(ask(gate, [token]) == {ALLOWED} for token in tokens)
    return Gain("redeemed tokens after a restore", accepted, "tokens accepted again", f"of {count}", most=0)
