"""One request, from ASGI scope to response: match, guard, decode, scope, handle, encode, notify the observer."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from agentgate.http.address import ClientAddress
from agentgate.http.call import Call
from agentgate.http.compression import compress
from agentgate.http.cors import cors_headers, preflight_headers
from agentgate.http.decode import BodyDecoder, Disconnected, RawBody, Receive, decode_query, read_body, read_raw
from agentgate.http.endpoint import Endpoint, HandlerSignature, shape_of
from agentgate.http.forms import form_as_json, media_type_of
from agentgate.http.replies import (
    SECURITY_HEADERS,
    STRICT_TRANSPORT,
    HttpAnswer,
    answer,
    answer_in_slices,
    encode_headers,
    refusal,
)
from agentgate.http.request import Request
from agentgate.http.routing import ANY_METHOD, RouteMatch, Routes
from agentgate.http.surface import Surface
from agentgate.lib.clock import Clock
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_request_id
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query
from agentgate.lib.telemetry.requests import Finished, RequestObserver

Send = Callable[[dict[str, Any]], Awaitable[None]]
Scope = Mapping[str, Any]


# Larger bodies are decoded in a thread: 2 MiB take 200 ms.
DECODED_AT_ONCE_BYTES = 32 * 1024


class Reach(Struct, frozen=True, kw_only=True):
    """Under which names a listener is reached, and whether over TLS, as the settings say."""

    # None for every name.
    allowed_hosts: frozenset[str] | None = None
    # Set from the settings: the proxy that terminates TLS need not be one whose headers are trusted.
    https: bool = False
    # Whether pages with an `http` origin get cookies that are not Secure: operators may use a proxy and a tunnel.
    plain_pages: bool = False


class BoundEndpoint:
    """An endpoint with its dependencies handed in and its decoders made."""

    def __init__(self, endpoint: Endpoint, surface: Surface, dependencies: Mapping[Any, Any]) -> None:
        self.endpoint = endpoint
        self.surface = surface
        self.shape: HandlerSignature = shape_of(endpoint.handler)
        self.guard = _bind(endpoint.guard, dependencies)
        self.scope = _bind(endpoint.scope, dependencies) if endpoint.scope else None
        self.handler = _bind(endpoint.handler, dependencies)
        kind = self.shape.body
        self._decoder = BodyDecoder(kind, malformed=surface.malformed) if kind and kind is not RawBody else None

    async def answer(self, call: Call, receive: Receive) -> HttpAnswer:
        """Run the steps in the order that the contract gives: the caller, the input, then whether the object exists."""
        call = await self.guard(call)
        inputs: dict[str, Any] = {}
        query = self._query(call)
        if query is not None:
            inputs["query"] = query
        if call.request.method not in {"GET", "HEAD"}:
            inputs |= await self._body(call, receive)
        if self.scope is not None:
            call = await self.scope(call)
        return await answer_in_slices(self.endpoint.status, await self.handler(call, **inputs))

    def _query(self, call: Call) -> Query | None:
        if self.endpoint.any_query:
            return None
        try:
            return decode_query(self.shape.query, call.request.query())
        except Refused as refused:
            if self.surface.wrong_query is None:
                raise
            raise Refused(self.surface.wrong_query, refused.message) from None

    async def _body(self, call: Call, receive: Receive) -> dict[str, Any]:
        if self.shape.body is RawBody:
            content_type = call.request.header("content-type")
            return {"body": await read_raw(receive, content_type=content_type, limit=self.endpoint.body_limit)}
        body = await read_body(
            receive,
            declared=call.request.header("content-length"),
            limit=self.endpoint.body_limit,
            too_large=self.surface.too_large,
        )
        if self._decoder is None:
            if body.strip() not in {b"", b"{}"}:
                raise Refused(self.surface.malformed, "This route takes no body. Send the request without one.")
            return {}
        if not body:
            if self.shape.body_required:
                raise Refused(self.surface.malformed, "This route needs a JSON body.")
            return {}
        content_type = call.request.header("content-type")
        if self.surface.json_only and media_type_of(content_type) != "application/json":
            raise Refused(self.surface.malformed, "The body must be sent with Content-Type: application/json.")
        content = body
        if self.surface.forms:
            body = form_as_json(body, content_type, malformed=self.surface.malformed)
        if len(body) > DECODED_AT_ONCE_BYTES:
            decoded = {"body": await asyncio.to_thread(self._decoder.decode, body)}
        else:
            decoded = {"body": self._decoder.decode(body)}
        return decoded | {"content": content} if self.shape.takes_content else decoded


class HttpApp:
    """An ASGI application over one or more surfaces. Routes of other surfaces do not exist on its listener."""

    def __init__(
        self,
        surfaces: Iterable[Surface],
        dependencies: Mapping[Any, Any],
        *,
        clock: Clock,
        client_address: ClientAddress,
        reach: Reach,
        observer: RequestObserver,
    ) -> None:
        self._surfaces = tuple(surfaces)
        self._clock = clock
        self._client_address = client_address
        self._reach = reach
        self._observer = observer
        self._routes: Routes[BoundEndpoint] = Routes(
            (method, row.path, BoundEndpoint(row, surface, dependencies))
            for surface in self._surfaces
            for row in surface.rows
            for method in ((row.method, ANY_METHOD) if row.any_method else (row.method,))
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        assert scope["type"] == "http"
        started = time.perf_counter()
        request = self._request(scope)
        finish = self._observer.begin(request.header("traceparent"))
        match = self._routes.find(request.method, request.path)
        call = Call(
            request=request,
            request_id=new_request_id(),
            now=Moment(self._clock.now_ms()),
            params=match.params if match else {},
            route=match.target.endpoint.path if match and match.target else "",
            pseudonym=self._client_address.pseudonym,
        )
        surface = self._surface(match, request.path)
        # Logged for a request that was canceled before its response.
        reply: HttpAnswer | None = None
        code: str | None = "cancelled"
        failure: BaseException | None = None
        try:
            reply, code, failure = await self._answer(match, surface, call, receive)
            if reply is not None:
                await _send(send, reply, call, cors=surface.cors, strict=self._reach.https and request.secure)
        finally:
            finish(
                Finished(
                    request_id=call.request_id,
                    surface=surface.name,
                    method=request.method,
                    route=call.route or "(unknown)",
                    # 499, as nginx logs a client that closed the connection before the response.
                    status=reply.status if reply is not None else 499,
                    code=code,
                    duration_s=time.perf_counter() - started,
                    log=call.log,
                    failure=failure,
                )
            )

    async def _answer(
        self, match: RouteMatch[BoundEndpoint] | None, surface: Surface, call: Call, receive: Receive
    ) -> tuple[HttpAnswer | None, str | None, BaseException | None]:
        try:
            try:
                return await self._find_answer(match, call, receive), None, None
            except Refused as refused:
                return _refusal(refused, surface), refused.code, None
            except StoreUnavailable as failure:
                unavailable = Refused(surface.unavailable, failure.message, headers={"retry-after": "5"})
                return _refusal(unavailable, surface), surface.unavailable, failure
        except Disconnected:
            return None, "disconnected", None
        except Exception as failure:  # noqa: BLE001 - of any error, clients learn the request ID only
            return _internal_error(call), "internal_error", failure

    async def _find_answer(self, match: RouteMatch[BoundEndpoint] | None, call: Call, receive: Receive) -> HttpAnswer:
        self._check_host(call.request)
        if match is None:
            raise Refused("not_found", "Path not found.")
        if match.target is None:
            if call.request.method == "OPTIONS" and self._surface(match, call.request.path).cors:
                return answer(204, None, headers=preflight_headers(match.methods))
            return _wrong_method(match.methods)
        reply = await match.target.answer(call, receive)
        return await compress(reply, call, match.target.endpoint) if match.target.surface.compressed else reply

    def _surface(self, match: RouteMatch[BoundEndpoint] | None, path: str) -> Surface:
        if match is not None and match.target is None:
            # The path exists with other methods: the surface with these methods sends the response.
            match = self._routes.find(match.methods[0], path)
        return match.target.surface if match and match.target else self._surfaces[0]

    def _request(self, scope: Scope) -> Request:
        headers = scope["headers"]
        client = scope.get("client")
        forwarded = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
        peer = client[0] if client else None
        protocol = next((value for name, value in headers if name == b"x-forwarded-proto"), b"")
        secure = scope["scheme"] == "https" or (self._client_address.is_trusted(peer) and protocol == b"https")
        if self._reach.https and not secure:
            secure = not self._reach.plain_pages or not _is_of_plain_page(headers)
        return Request(
            method=scope["method"],
            path=scope["path"],
            query_string=scope["query_string"],
            headers=headers,
            address=self._client_address.find(peer, forwarded),
            secure=secure,
        )

    def _check_host(self, request: Request) -> None:
        # A page on the web can make an operator's browser send requests to a loopback listener under any name.
        if self._reach.allowed_hosts is None:
            return
        host = (request.header("host") or "").lower()
        name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
        if name not in self._reach.allowed_hosts:
            raise Refused(
                "invalid_request",
                "The admin listener does not accept this Host. To allow it, add it to AGENTGATE_ADMIN_HOSTS.",
            )


def _bind(function: Callable[..., Any], dependencies: Mapping[Any, Any]) -> Callable[..., Any]:
    wanted = dict(shape_of(function).dependencies)
    in_transaction = wanted.pop("stores", None) is not None
    if in_transaction:
        wanted["store"] = Store
    missing = [f"{name}: {kind}" for name, kind in wanted.items() if kind not in dependencies]
    if missing:
        raise LookupError(
            f"{function.__module__}.{function.__qualname__} needs parameters that are not provided: {missing}"
        )
    given = {name: dependencies[kind] for name, kind in wanted.items()}
    if not in_transaction:
        return partial(function, **given)
    store, work = given.pop("store"), partial(function, **given)

    async def change(call: Call, **inputs: Any) -> Any:
        return await store.change(lambda stores: work(call, stores=stores, **inputs))

    return change


def _refusal(refused: Refused, surface: Surface) -> HttpAnswer:
    return refusal(refused, surface.errors, surface.refusal_fields, write=surface.write_refusal)


def _wrong_method(methods: tuple[str, ...]) -> HttpAnswer:
    allow = ", ".join(methods)
    body = {"error": "invalid_request", "message": f"This path does not support the method. Use one of: {allow}."}
    return answer(405, body, headers=(("allow", allow),))


def _internal_error(call: Call) -> HttpAnswer:
    message = f"Internal error. AgentGate logged it with the request ID {call.request_id}."
    return answer(500, {"error": "internal_error", "message": message})


def _is_of_plain_page(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    # A browser would drop a Secure cookie there, so sign-in would fail.
    return any(name == b"origin" and value.startswith(b"http://") for name, value in headers)


async def _send(send: Send, reply: HttpAnswer, call: Call, *, cors: bool, strict: bool) -> None:
    own = [*reply.headers, *encode_headers(cors_headers(call.request))] if cors else reply.headers
    names = {name for name, _ in own}
    headers = [
        *own,
        *((name, value) for name, value in SECURITY_HEADERS if name not in names),
        *((STRICT_TRANSPORT,) if strict else ()),
        (b"x-request-id", call.request_id.encode("ascii")),
    ]
    is_head = call.request.method == "HEAD"
    if reply.status != 204 and reply.parts is None:
        headers.append((b"content-length", str(len(reply.body)).encode("ascii")))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.parts is not None and not is_head:
        async for part in reply.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"" if is_head else reply.body})
