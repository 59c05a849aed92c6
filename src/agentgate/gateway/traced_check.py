"""The gateway check with a span for each request. It is used only when a collector is set."""

from collections.abc import Awaitable

from msgspec.structs import replace

from agentgate.events.correlation import TRACE_HEADER
from agentgate.gateway.check import GatewayCheck
from agentgate.http.connection.fast_functions import HotRequest, Reply, read_reply
from agentgate.http.connection.loop_budget import LoopBudget
from agentgate.lib.telemetry.tracing import Span, Tracer

ROUTE = "/v1/gateway/check"


class TracedCheck:
    """Runs the check inside a span. A decision without a caller's trace gets the trace of the span."""

    def __init__(self, check: GatewayCheck, tracer: Tracer) -> None:
        self._check = check
        self._tracer = tracer

    @property
    def budget(self) -> LoopBudget:
        """Return the budget that sheds load."""
        return self._check.budget

    def __call__(self, request: HotRequest) -> Reply | Awaitable[Reply]:
        """Return the response and end the span with its status."""
        span = self._tracer.start(listener="public")
        if TRACE_HEADER not in request.headers:
            request = replace(request, headers={**request.headers, TRACE_HEADER: span.traceparent.encode()})
        reply = self._check(request)
        return _finish_later(span, reply) if isinstance(reply, Awaitable) else _finish(span, reply)


async def _finish_later(span: Span, reply: Awaitable[Reply]) -> Reply:
    return _finish(span, await reply)


def _finish(span: Span, reply: Reply) -> Reply:
    span.finish(method="GET", route=ROUTE, status=read_reply(reply).status)
    return reply
