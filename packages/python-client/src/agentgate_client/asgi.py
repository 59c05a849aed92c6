"""A guard before any ASGI application: Starlette, FastAPI, Litestar, Django on ASGI. It needs none of them."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from agentgate_client.guarding import (
    FORM_BYTES,
    NO_TOKEN,
    TOO_LARGE,
    Refusal,
    find_field,
    find_token,
    is_form,
    visitor_address,
)
from agentgate_client.guarding import refusal_of as _refusal_of
from agentgate_client.results import AgentGateError
from agentgate_client.routes import Route, find_route
from agentgate_client.verify import Client
from agentgate_client.verify_async import AsyncClient

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class AgentGateMiddleware:
    """Lets a protected request through once its token was redeemed; the result is `request.state.agentgate`."""

    def __init__(
        self,
        app: Application,
        *,
        client: AsyncClient | Client,
        protect: Iterable[Route],
        expected_origin: str | None = None,
        form_bytes: int = FORM_BYTES,
    ) -> None:
        self._app = app
        self._client = AsyncClient.around(client) if isinstance(client, Client) else client
        self._routes = tuple(protect)
        self._expected_origin = expected_origin
        self._form_bytes = form_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        route = find_route(self._routes, scope["method"], _path(scope)) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        body = _Body(receive, self._form_bytes)
        token = await _token(scope, body)
        if isinstance(token, Refusal):
            await _refuse(token, send)
            return
        try:
            verified = await self._client.verify(
                token,
                expected_action=route.action,
                expected_origin=self._expected_origin,
                remote_address=visitor_address((scope.get("client") or ("",))[0]),
            )
        except AgentGateError as problem:
            await _refuse(_refusal_of(problem), send)
            return
        scope.setdefault("state", {})["agentgate"] = verified
        await self._app(scope, body.receive, send)


class _Body:
    """The messages of a request's body: read here up to a limit, then given to the application as they came."""

    def __init__(self, receive: Receive, most_bytes: int) -> None:
        self._receive = receive
        self._most_bytes = most_bytes
        self._read: list[Message] = []

    async def content(self) -> bytes | None:
        """Return the whole body; None when it is too large, or when the visitor is gone."""
        size = 0
        while True:
            message = await self._receive()
            self._read.append(message)
            size += len(message.get("body", b""))
            if message["type"] != "http.request" or size > self._most_bytes:
                return None
            if not message.get("more_body", False):
                return b"".join(read.get("body", b"") for read in self._read)

    async def receive(self) -> Message:
        """Return the next message, as the application would have got it."""
        return self._read.pop(0) if self._read else await self._receive()


async def _token(scope: Scope, body: _Body) -> str | Refusal:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    if token := find_token(headers):
        return token
    content_type = headers.get("content-type", "")
    if not is_form(content_type):
        return NO_TOKEN
    content = await body.content()
    if content is None:
        return TOO_LARGE
    return find_field(content, content_type) or NO_TOKEN


def _path(scope: Scope) -> str:
    # Under a prefix the server may give the path with or without it; routes are written without.
    path, prefix = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    return path[len(prefix) :] if prefix and path.startswith(prefix + "/") else path


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = refusal.body()
    fields = {**refusal.headers(), "Content-Length": str(len(body))}
    headers = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
