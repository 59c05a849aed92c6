"""The way from a judged request head to an ASGI application: the scope and uvicorn's request-response cycle."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from agentgate.http.connection.fast_functions import HotRequest


class RequestHead(HotRequest, frozen=True, gc=False, kw_only=True):
    """A judged head, with what only the connection needs to know."""

    version: str
    keep_alive: bool


def new_cycle(head: RequestHead, connection: HttpToolsProtocol) -> RequestResponseCycle:
    """Return a cycle that is ready to run an application for this request."""
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
    return RequestResponseCycle(
        scope=connection.scope,
        transport=connection.transport,
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
    """Tell the application that nobody listens; what it still sends goes nowhere."""
    if not cycle.response_complete:
        cycle.disconnected = True
    cycle.message_event.set()


def _expects_continue(head: RequestHead) -> bool:
    # An HTTP/1.0 client does not know interim answers (RFC 9110 10.1.1).
    return head.version == "1.1" and head.headers.get(b"expect", b"").lower() == b"100-continue"
