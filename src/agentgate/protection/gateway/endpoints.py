"""The gateway check over HTTP, for requests that do not take the hot path. Both ways run the same function."""

from collections.abc import Awaitable

import msgspec
from msgspec import Struct

from agentgate.http.call import Call
from agentgate.http.connection.fast_functions import HotRequest, read_reply
from agentgate.http.replies import Reply
from agentgate.http.request import joined_headers
from agentgate.protection.gateway.check import GatewayCheck


class Denial(Struct, frozen=True, kw_only=True):
    """The body of an answer to a proxy that must not let a request through."""

    decision: str
    reason: str


async def check_request(call: Call, gate: GatewayCheck) -> Reply[None]:
    """Ask for a decision about a request of a protected site.

    The proxy in front of the site calls this for each request, with the site's secret, the original request in
    `X-Original-Method`, `X-Original-URL` and `X-Original-Address`, and the visitor's own headers. 204 lets through.
    """
    request = call.request
    headers = joined_headers(request)
    answer = gate(HotRequest(b"GET", request.path.encode(), request.query_string, headers, None))
    reply = read_reply(await answer if isinstance(answer, Awaitable) else answer)
    told = tuple((name.decode(), value.decode("latin-1")) for name, value in reply.headers if name != b"content-type")
    body = msgspec.Raw(reply.body) if reply.body else None
    return Reply(body=body, status=reply.status, headers=told)  # type: ignore[arg-type]  # the bytes are a Denial's
