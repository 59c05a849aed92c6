"""The programs that docs/build-agent.md prints make requests that are verified."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from agentgate.agents.signing.fields import matches
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.lib.enums import AgentVerdict
from tests.unit.agents.verifying import AGENT, KnownKeys, message_of, policy_with, verify

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "build-agent.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```(?:python|js)\n(?:#|//) (\S+)\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE))
BODY = '{"message": "Good day"}'
LONGEST_S = 60


class Received(NamedTuple):
    method: str
    url: str
    headers: dict[str, str]
    body: bytes


class Site(NamedTuple):
    url: str
    received: list[Received]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    received: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append(Received(self.command, f"http://{headers['host']}{self.path}", headers, body))
            self.send_response(204)
            self.end_headers()

        do_POST = do_GET  # noqa: N815 - the name that the server looks for

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Site(f"http://127.0.0.1:{server.server_port}", received)
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the programs of the guide and the key that the first of them makes."""
    folder = tmp_path_factory.mktemp("agent")
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    keyid = run([sys.executable, "make_key.py"], folder)
    assert keyid == json.loads((folder / "directory.json").read_text())["keys"][0]["kid"]
    return folder


def run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONGEST_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def program(name: str) -> list[str]:
    if name.endswith(".py"):
        return [sys.executable, name]
    node = shutil.which("node")
    if node is None and not os.environ.get("REQUIRE_NODE"):
        pytest.skip("Node.js is not installed")
    return [node or "node", name]


@pytest.mark.parametrize("body", [None, BODY], ids=["fetch", "post"])
@pytest.mark.parametrize("target", ["/list?page=2", "/list", "/"])
@pytest.mark.parametrize("name", ["fetch.py", "fetch.mjs"])
def test_a_program_of_the_guide_is_verified(name: str, target: str, body: str | None, folder: Path, site: Site) -> None:
    said = run([*program(name), site.url + target, *([] if body is None else [body])], folder)
    assert said == "204"
    method, url, headers, sent = site.received[-1]
    policy = policy_with(json.loads((folder / "directory.json").read_text()))
    identity = verify(AgentVerifier(KnownKeys({})), message_of(method, url, headers), now_s=time.time(), policy=policy)
    assert (identity.verdict, identity.agent) == (AgentVerdict.VERIFIED, AGENT), identity.why
    whole = {"@target-uri"} if "@target-uri" in identity.covered else {"@authority", "@path", "@query"}
    assert identity.covered.issuperset({"@method", "signature-agent", *whole})
    assert identity.has_nonce
    if body is not None:
        assert "content-digest" in identity.covered
        assert (sent, matches(headers["content-digest"].encode(), sent)) == (body.encode(), True)
