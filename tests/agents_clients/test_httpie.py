"""HTTPie with its Web Bot Auth plug-in, run as people run it, against a server that keeps what it was sent."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agentgate.agents.signing.verify import AgentVerifier
from agentgate.lib.enums import AgentVerdict
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from tests.agents_clients.clients import SEED, private_jwk
from tests.unit.agents.verifying import AGENT, KnownKeys, message_of, policy_with, verify

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("httpie_web_bot_auth") is None, reason="HTTPie's plug-in needs Python 3.12"
)


def test_a_request_of_httpie_is_verified(tmp_path: Path) -> None:
    kept: list[tuple[str, dict[str, str]]] = []

    class Keeper(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kept.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Keeper)
    threading.Thread(target=server.handle_request, daemon=True).start()
    (tmp_path / "key.json").write_text(json.dumps(private_jwk(SEED)))
    where = f"127.0.0.1:{server.server_port}/news?page=2"
    command = [sys.executable, "-m", "httpie", "--ignore-stdin", f"http+wba://{where}", f'Signature-Agent:"{AGENT}"']
    environ = {**os.environ, "HTTPIE_WBA_KEY": str(tmp_path / "key.json"), "HOME": str(tmp_path)}

    done = subprocess.run(command, env=environ, capture_output=True, check=False, timeout=60)
    server.server_close()

    assert done.returncode == 0, done.stderr.decode()
    [(path, headers)] = kept
    assert path == "/news?page=2"
    message = message_of("GET", f"http://{where}", headers)
    policy = policy_with(AgentSigningKey(SEED).jwks)
    identity = verify(AgentVerifier(KnownKeys({})), message, now_s=time.time(), policy=policy)
    assert (identity.verdict, identity.agent, identity.why) == (AgentVerdict.VERIFIED, AGENT, None)
