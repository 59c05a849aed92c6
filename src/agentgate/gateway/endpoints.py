"""The gateway check over HTTP, for requests that do not take the hot path. Both ways run the same function."""

from collections.abc import Awaitable
from typing import Any

from msgspec import Struct

from agentgate.gateway.check import GatewayCheck
from agentgate.gateway.request.described_request import read_form
from agentgate.http.call import Call
from agentgate.http.connection.fast_functions import HotReply, HotRequest, read_reply
from agentgate.http.decode import RawBody
from agentgate.http.replies import JSON, ErrorBody, Reply, Text
from agentgate.http.request import joined_headers

_ALLOW = (("allow", "GET, HEAD"),)


class Denial(Struct, frozen=True, kw_only=True):
    """The response to a proxy that must block or challenge a request."""

    decision: str
    reason: str


async def check_request(call: Call, gate: GatewayCheck) -> Reply[None]:
    """Decide about a request to a protected site.

    The proxy in front of the site calls this for each request, with the site's secret, the original request in
    `X-Original-Method`, `X-Original-URL` and `X-Original-Address`, and the visitor's own headers. 204 allows the
    request.
    """
    return await _ask(call, gate, b"")


async def check_request_with_body(call: Call, body: RawBody, gate: GatewayCheck) -> Reply[Text]:
    """Return the final response to a request, with `respond=visitor`.

    Adapters that pass the original method and body to a check call this. A challenged form survives the challenge.
    """
    if not read_form(call.request.query_string).respond:
        message = "This path does not support the method. Use one of: GET, HEAD."
        return Reply(body=ErrorBody(error="invalid_request", message=message), status=405, headers=_ALLOW)  # type: ignore[arg-type]
    is_partial = call.request.header("x-envoy-auth-partial-body") == "true"
    return await _ask(call, gate, b"" if is_partial else body.content or b"")


async def _ask(call: Call, gate: GatewayCheck, body: bytes) -> Reply[Any]:
    request = call.request
    asked = HotRequest(b"GET", request.path.encode(), request.query_string, joined_headers(request), None, body)
    answer = gate(asked)
    return reply_of(read_reply(await answer if isinstance(answer, Awaitable) else answer))


def reply_of(reply: HotReply) -> Reply[Any]:
    """Convert a fast-path response to the type that handlers return."""
    media_type = next((value.decode() for name, value in reply.headers if name == b"content-type"), JSON)
    headers = tuple(
        (name.decode(), value.decode("latin-1")) for name, value in reply.headers if name != b"content-type"
    )
    body = Text(reply.body, media_type) if reply.body else None
    return Reply(body=body, status=reply.status, headers=headers)
