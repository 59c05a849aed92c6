"""The small examples, each as a separate program: with a token, with none, and with a used one."""

import os
import shutil
import sys

import httpx
import pytest

from tests.examples.programs import EXAMPLES, running, wait_for
from tests.support.ports import free_port

PYTHON = sys.executable
PORT = "{port}"
PROGRAMS = {
    "fastapi": [PYTHON, "-m", "uvicorn", "app:app", "--port", PORT, "--log-level", "warning"],
    "flask": [PYTHON, "-m", "flask", "run", "--port", PORT],
    "django": [PYTHON, "app.py", "runserver", "--noreload", f"127.0.0.1:{PORT}"],
    "node": ["node", "app.js"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_lets_a_visitor_with_a_token_in_once(gate, name, tmp_path):
    if name == "node" and shutil.which("node") is None and not os.environ.get("REQUIRE_NODE"):
        pytest.skip("Node.js is not installed")
    port = str(free_port())
    url = f"http://127.0.0.1:{port}/signup"
    command = [part.replace(PORT, port) for part in PROGRAMS[name]]
    settings = {"GATE_URL": gate.url, "GATE_SECRET": gate.secret, "PORT": port}
    headers = {"X-AgentGate-Token": gate.token()}

    with running(command, EXAMPLES / name, tmp_path / "log", **settings) as process:
        wait_for(url, process)
        without = httpx.post(url)
        first = httpx.post(url, headers=headers)
        second = httpx.post(url, headers=headers)

    assert (without.status_code, without.json()["error"]) == (401, "receipt_required")
    assert first.status_code == 200, first.text
    assert first.json() == {"welcome": "you", "decision": "dec_0000000000000"}
    assert (second.status_code, second.json()["error"]) == (403, "token_used")
