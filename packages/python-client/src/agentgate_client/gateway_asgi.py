"""The gateway before any ASGI application, for sites without a proxy that asks it. Every request is checked.

The calls run in separate threads, as in `AsyncClient`, so that they never block the event loop.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, Unpack

from agentgate_client.asgi import Application, Message, Receive, Scope, Send
from agentgate_client.gateway import (
    FORM_BYTES,
    OWN_BYTES,
    OWN_PREFIX,
    Denial,
    Gateway,
    GatewayOptions,
    Header,
    Passage,
    Shown,
    Visit,
    believed,
    last_hop,
)
from agentgate_client.verify import log

THREADS = 64

T = TypeVar("T")


class GatewayMiddleware:
    """Passes a request to the application if the service allows it; otherwise returns the service's response."""

    def __init__(
        self,
        app: Application,
        *,
        service: str,
        secret: str,
        origin: str | None = None,
        address_header: str | None = None,
        **options: Unpack[GatewayOptions],
    ) -> None:
        """Take the service's address and the site's secret.

        `origin` is the site's own, for servers that do not know it, such as one behind TLS that ends elsewhere.
        `address_header` names the header in which a proxy in front always writes the visitor's address.
        `timeout_s` and `fail_open` are the gateway's.
        """
        self._app = app
        self._gateway = Gateway(service, secret, **options)
        self._origin = origin.rstrip("/") if origin else None
        self._address_header = address_header.lower() if address_header else None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="agentgate-gateway")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        visit = self._visit(scope, headers)
        if visit is None:
            await _show(Denial(503, "service_unavailable").plain(), scope, receive, send)
        elif scope["path"].startswith(OWN_PREFIX) and scope["type"] == "http":
            await self._pass_on(visit, scope, receive, send)
        else:
            await self._check(visit, scope, receive, send)

    def close(self) -> None:
        """Wait for questions under way, then close the connections."""
        self._threads.shutdown()
        self._gateway.close()

    async def _check(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        deadline_s = self._gateway.new_deadline_s()
        answer = await self._ask(lambda: self._gateway.check(visit, deadline_s=deadline_s), deadline_s)
        if answer is None:
            answer = self._gateway.give_up("no thread was available in time")
        if isinstance(answer, Denial):
            await self._deny(answer, visit, scope, receive, send)
            return
        scope = {**scope, "headers": _for_the_application(scope["headers"], answer)}
        await self._app(scope, receive, _carrying(send, answer) if answer.carried else send)

    async def _deny(self, denial: Denial, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        shown: Shown | None = denial.plain(visit)
        if scope["type"] == "http" and denial.has_page:
            body = await _body(receive, FORM_BYTES) if visit.method == "POST" else None
            deadline_s = self._gateway.new_deadline_s()
            shown = await self._ask(lambda: self._gateway.show(denial, visit, body, deadline_s=deadline_s), deadline_s)
        await _show(shown or denial.plain(), scope, receive, send)

    async def _pass_on(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive, OWN_BYTES)
        if body is None:
            await _show(Denial(413, "payload_too_large").plain(), scope, receive, send)
            return
        deadline_s = self._gateway.new_deadline_s()
        shown = await self._ask(lambda: self._gateway.pass_on(visit, body, deadline_s=deadline_s), deadline_s)
        await _show(shown or Denial(503, "service_unavailable").plain(), scope, receive, send)

    async def _ask(self, question: Callable[[], T], deadline_s: float) -> T | None:
        """Run a question in a thread; None when none was free in time."""
        loop = asyncio.get_running_loop()
        try:
            # The question itself ends at the deadline; a little later it is clear that it never began.
            async with asyncio.timeout_at(loop.time() + max(0.0, deadline_s - time.monotonic()) + 0.25):
                return await loop.run_in_executor(self._threads, question)
        except TimeoutError:
            return None

    def _visit(self, scope: Scope, headers: list[Header]) -> Visit | None:
        found = dict(headers)
        address = last_hop(found.get(self._address_header, "")) if self._address_header else _peer(scope)
        if not address:
            log.error("a request without the visitor's IP address is blocked; set address_header, or serve over TCP")
            return None
        scheme = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
        host = found.get("host") or "{}:{}".format(*(scope.get("server") or ("localhost", 80)))
        return Visit(
            method=scope.get("method", "GET"),
            origin=self._origin or f"{scheme}://{host}",
            path=scope["path"].encode("utf-8", "surrogateescape"),
            query=scope.get("query_string", b"").decode("latin-1"),
            address=address,
            headers=headers,
        )


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _for_the_application(headers: list[tuple[bytes, bytes]], passage: Passage) -> list[tuple[bytes, bytes]]:
    kept = believed((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*kept, *passage.told)]


def _carrying(send: Send, passage: Passage) -> Send:
    async def carry(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in passage.carried]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return carry


async def _body(receive: Receive, most_bytes: int) -> bytes | None:
    """Return the whole body; None when it is too large, or when the visitor is gone."""
    content: bytes = b""
    while True:
        message = await receive()
        content += bytes(message.get("body", b""))
        if message["type"] != "http.request" or len(content) > most_bytes:
            return None
        if not message.get("more_body", False):
            return content


async def _show(shown: Shown, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        # Closed before it was accepted, which the server turns into a 403 response.
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    body = b"" if scope["method"] == "HEAD" else shown.body
    fields = (*shown.headers, ("Content-Length", str(len(shown.body))))
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]
    await send({"type": "http.response.start", "status": shown.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
