"""Agents with published headers and keys of the tests, and the key directories that they name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.agent_client import SigningAgent
from tests.support.gateway import ORIGIN, VISITOR, Gate
from tests.support.service import RunningService
from tests.unit.agents.key_server import World, world

FILE = Path(__file__).parents[2] / "vectors" / "agent_header_sets.json"
SETS: dict[str, dict[str, Any]] = {each["name"]: each for each in json.loads(FILE.read_text("utf-8"))["agents"]}
# The 60 subresources of a page.
PARTS = (
    *[("style", "text/css,*/*;q=0.1", f"/static/{number}.css") for number in range(6)],
    *[("script", "*/*", f"/static/{number}.js") for number in range(14)],
    *[("image", "image/avif,image/webp,*/*;q=0.8", f"/pictures/{number}.webp") for number in range(24)],
    *[("font", "*/*", f"/fonts/{number}.woff2") for number in range(4)],
    *[("image", "image/avif,image/webp,*/*;q=0.8", f"/image/{number}") for number in range(10)],
    *[("empty", "*/*", f"/data/{number}") for number in range(2)],
)


class CapturedAgent:
    """An agent with published headers and a key of this test."""

    def __init__(self, name: str, *, seed: bytes = bytes([7] * 32)) -> None:
        captured = SETS[name]
        self.headers = {header.lower(): value for header, value in captured["headers"]}
        label, _, quoted = captured["signature_agent"].rpartition("=")
        self.how: dict[str, Any] = {"form": "member", "label": label} if label else {"form": "string"}
        self.cover = tuple(each.partition(";")[0] for each in captured["covered"])
        self.agent = SigningAgent(quoted.strip('"'), seed=seed)

    def signed(self, url: str, destination: str = "document", accept: str | None = None, **how: Any) -> dict[str, str]:
        """Return the headers of a signed request for a page or a part of one."""
        headers = dict(self.headers)
        if destination != "document":
            headers |= {"accept": str(accept), "sec-fetch-dest": destination, "sec-fetch-site": "same-origin"}
            headers["sec-fetch-mode"] = "cors" if destination in {"empty", "font"} else "no-cors"
            for name in ("sec-fetch-user", "upgrade-insecure-requests"):
                headers.pop(name, None)
        return self.agent.headers("GET", url, headers=headers, cover=self.cover, **self.how, **how)

    def load(self, gate: Gate, path: str, destination: str = "document", accept: str | None = None):
        """Ask about a signed request."""
        sent = self.signed(ORIGIN + path, destination, accept, created=gate.service.clock.now_ms() // 1000)
        # Without the headers of the usual visitor, whose names differ in case.
        unset = {name.replace("-", "_"): None for name in VISITOR}
        given = {name.replace("-", "_"): value for name, value in sent.items()}
        return gate.check("GET", path, **{**unset, **given})


@contextmanager
def directories(service: RunningService, folder: Path, *agents: CapturedAgent) -> Iterator[World]:
    """Serve the key sets of these agents over TLS; their hosts resolve to a public address that leads there."""
    hosts = [urlsplit(agent.agent.url).netloc for agent in agents]
    made = world(folder, *hosts)
    place = service.run(made.__aenter__())
    for host, agent in zip(hosts, agents, strict=True):
        place.serves(host, agent.agent.jwks, headers="Cache-Control: max-age=3600\r\n")
    service.application.agents.key_directories._outbound = place.outbound()
    try:
        yield place
    finally:
        service.run(made.__aexit__(None, None, None))
