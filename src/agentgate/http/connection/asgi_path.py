"""The way from a judged request head to an ASGI application: the scope and uvicorn's request-response cycle."""

import asyncio
from collections.abc import Callable

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from agentgate.http.connection.fast_functions import FAILED, HotRequest, json_reply

CANCELED = json_reply(
    503,
    "unavailable",
    message="The service stopped before it finished this request. Check whether it took effect, then try again.",
    headers=[(b"retry-after", b"5"), (b"cache-control", b"no-store")],
)


class RequestHead(HotRequest, frozen=True, gc=False, kw_only=True):
    """A judged head, with what only the connection needs to know."""

    version: str
    keep_alive: bool


class AnswerTransport:
    """The transport of a cycle. uvicorn's own transport would be closed while the client still sends its body."""

    __slots__ = ("close", "is_closing", "write")

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write, self.is_closing, self.close = transport.write, transport.is_closing, close


class RequestCycle(RequestResponseCycle):
    """uvicorn's cycle, which closes the connection if the start of the next request is unknown."""

    async def send(self, message: ASGISendEvent) -> None:
        """Write a part of the response."""
        if self.waiting_for_100_continue and self.more_body:
            # The client decides whether it sends the body after such a response, so the start of the next request is
            # unknown.
            self.keep_alive = False
        await super().send(message)

    async def send_500_response(self) -> None:
        """Respond to a request that failed, or that was canceled at the end of the drain time."""
        self.keep_alive = False
        task = asyncio.current_task()
        reply = CANCELED if task is not None and task.cancelling() else FAILED
        headers = [*reply.headers, (b"content-length", b"%d" % len(reply.body))]
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body, "more_body": False})


def new_cycle(head: RequestHead, connection: HttpToolsProtocol, *, close: Callable[[], None]) -> RequestResponseCycle:
    """Return a cycle that is ready to run an application for this request; it calls `close` after a last response."""
    # `path` stays as it was sent. Decoding it here would make `/v1%2fadmin` and `/v1/admin` the same path.
    connection.scope = {
        "type": "http",
        "asgi": {"version": connection.asgi_version, "spec_version": "2.3"},
        "http_version": head.version,
        "server": connection.server,
        "client": connection.client,
        "scheme": connection.scheme or "http",
        "root_path": "",
        "headers": list(head.headers.items()),
        "state": {},
        "method": head.method.decode("ascii"),
        "path": head.path.decode("ascii"),
        "raw_path": head.path,
        "query_string": head.query,
    }
    return RequestCycle(
        scope=connection.scope,
        transport=AnswerTransport(connection.transport, close),  # type: ignore[arg-type]  # the methods that are called
        flow=connection.flow,
        logger=connection.logger,
        access_logger=connection.access_logger,
        access_log=False,
        default_headers=connection.server_state.default_headers,
        message_event=asyncio.Event(),
        expect_100_continue=_expects_continue(head),
        keep_alive=head.keep_alive,
        on_response=connection.on_response_complete,
    )


def disconnect(cycle: RequestResponseCycle) -> None:
    """Notify the application that the client is gone; further output is discarded."""
    if not cycle.response_complete:
        cycle.disconnected = True
    cycle.message_event.set()


def _expects_continue(head: RequestHead) -> bool:
    # An HTTP/1.0 client does not know interim responses (RFC 9110 10.1.1).
    return head.version == "1.1" and head.headers.get(b"expect", b"").lower() == b"100-continue"
