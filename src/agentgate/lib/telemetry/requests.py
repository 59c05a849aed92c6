"""One request, told three ways: a log line, metrics, a span. Never a secret, an address or a body."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from agentgate.lib.database import StoreUnavailable
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.lib.telemetry.scrub import OWN_VALUES
from agentgate.lib.telemetry.tracing import Tracer

INTERVAL_S = 1.0


class OutageLog:
    """Counts such responses of one worker. The first is logged at once, with its error; the others together."""

    def __init__(self) -> None:
        self._logger = structlog.get_logger("agentgate.store").bind()
        self._count = 0
        self._last: dict[str, object] = {}
        self._timer: asyncio.TimerHandle | None = None

    def note(self, failure: BaseException, *, request_id: str, route: str, status: int) -> None:
        """Count a response. Called from the event loop."""
        cause = failure.__cause__
        self._count += 1
        self._last = {
            "why": str(failure),
            "cause": None if cause is None else type(cause).__name__,
            "last_request_id": request_id,
            "last_route": route,
            "status": status,
        }
        if self._timer is None:
            self._tell()

    def _tell(self) -> None:
        if not self._count:
            self._timer = None
            return
        told, self._count = self._count, 0
        line = {name: value for name, value in self._last.items() if value is not None}
        self._logger.error("requests failed: a store is unavailable", requests=told, **line)
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._tell)


@dataclass(frozen=True, kw_only=True)
class Finished:
    """Facts about a request after its response."""

    request_id: str
    surface: str
    method: str
    route: str
    status: int
    code: str | None
    duration_s: float
    # What guards and handlers added along the way.
    log: dict[str, Any]
    failure: BaseException | None = None


class RequestObserver:
    """Watches the requests of one listener."""

    def __init__(
        self, listener: str, *, metrics: MetricRegistry, tracer: Tracer, outages: OutageLog | None = None
    ) -> None:
        self._listener = listener
        self._outages = outages or OutageLog()
        self._metrics = metrics
        self._tracer = tracer
        # Bound once: binding a logger for each line takes as long as writing it.
        self._logger = structlog.get_logger("agentgate.request").bind()

    def begin(self, traceparent: str | None) -> Callable[[Finished], None]:
        """Record the start of a request; return the function to call after the response."""
        self._metrics.request_started()
        span = self._tracer.start(listener=self._listener, traceparent=traceparent)

        def finish(finished: Finished) -> None:
            span.finish(method=finished.method, route=finished.route, status=finished.status)
            self._metrics.request_finished(
                finished.surface, finished.route, status=finished.status, duration_s=finished.duration_s
            )
            self._log(finished, span.trace_id)

        return finish

    def _log(self, finished: Finished, trace_id: str) -> None:
        if isinstance(finished.failure, StoreUnavailable):
            # A traceback for each response would fill the disk within an outage, and each would be equal.
            self._outages.note(
                finished.failure, request_id=finished.request_id, route=finished.route, status=finished.status
            )
            return
        write = self._logger.error if finished.failure else self._logger.info
        line = {
            "request_id": finished.request_id,
            "trace_id": trace_id or None,
            "surface": finished.surface,
            "method": finished.method,
            "route": finished.route,
            "status": finished.status,
            "code": finished.code,
            "duration_ms": round(finished.duration_s * 1000, 3),
            **finished.log,
            "exc_info": finished.failure,
            # Whatever guards and handlers added may come from outside.
            OWN_VALUES: True if not finished.log and finished.failure is None else None,
        }
        write("request", **{name: value for name, value in line.items() if value is not None})
