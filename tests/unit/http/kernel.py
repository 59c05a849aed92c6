"""An HttpApp over a surface of a test's own, asked without a network, with the log that it writes."""

import asyncio
import io
import json
from typing import Any

from agentgate.http.address import ClientAddress
from agentgate.http.asgi import HttpApp, Reach
from agentgate.http.surface import Surface
from agentgate.lib.clock import FixedClock
from agentgate.lib.telemetry import logs
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.lib.telemetry.requests import RequestObserver
from agentgate.lib.telemetry.tracing import open_tracer


class Steps(list[str]):
    """The steps that were reached, in order. A handler with this parameter may add to it."""


class Kernel:
    """An HttpApp with the log that it writes."""

    def __init__(self, surface: Surface, *more: object, allowed_hosts: frozenset[str] | None = None) -> None:
        self.log = io.StringIO()
        logs.configure("json", "info", self.log)
        self.steps = Steps()
        self.started = asyncio.Event()
        self.metrics = MetricRegistry(version="0", worker="test")
        self.app = HttpApp(
            (surface,),
            {Steps: self.steps, asyncio.Event: self.started, **{type(each): each for each in more}},
            clock=FixedClock(1_000),
            client_address=ClientAddress(["127.0.0.1"]),
            reach=Reach(allowed_hosts=allowed_hosts),
            observer=RequestObserver("test", metrics=self.metrics, tracer=open_tracer("")),
        )

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The log's lines."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    async def call(self, method: str, target: str, body: bytes | None = b"", **headers: str) -> "Answered":
        """Send a request; a body of None is a client that goes away before its body is whole."""
        path, _, query = target.partition("?")
        pairs = {"host": "test.example", "content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()],
            "client": ("127.0.0.1", 4711),
            "scheme": "http",
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"} if body is None else {"type": "http.request", "body": body}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return Answered(sent)


class Answered:
    """What was sent."""

    def __init__(self, sent: list[dict[str, Any]]) -> None:
        self.sent = sent
        self.status = sent[0]["status"] if sent else None
        self.headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]} if sent else {}
        self.body = b"".join(message.get("body", b"") for message in sent)

    @property
    def outcome(self) -> tuple[int, str | None]:
        """The status, and the error code if the request was rejected."""
        return self.status, json.loads(self.body).get("error")
