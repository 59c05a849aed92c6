"""Traces: one span a request, exported in the background, or nothing at all when no collector is set.

OpenTelemetry is optional and imported only when it is used. Tracing never delays or fails a request.
"""

import re
import threading
from typing import Any

from agentgate import __version__

EXPORT_TIMEOUT_S = 5
CLOSE_S = 2.0
QUEUED_SPANS = 2048
TRACES_PATH = "/v1/traces"
TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})\Z")


class TracingUnavailable(Exception):  # noqa: N818 - reads like StoreUnavailable, and is a setting to correct
    """A collector is set, but the packages for it are missing."""


class Span:
    """The span of a request that is not traced."""

    @property
    def trace_id(self) -> str:
        """The trace as 32 hex digits; empty when nothing is traced."""
        return ""

    @property
    def traceparent(self) -> str:
        """The W3C `traceparent` of this span; empty when nothing is traced."""
        return ""

    def finish(self, *, method: str, route: str, status: int) -> None:
        """End the span. The route is a template, never a path."""


class Tracer:
    """Traces nothing; with a collector, an `OpenTelemetryTracer` is used instead."""

    is_tracing = False

    def start(self, *, listener: str, traceparent: str | None = None) -> Span:  # noqa: ARG002 - for the other tracer
        """Start the span of a request.

        The caller's trace is continued on the `admin` listener only: on the public one any client could write spans
        into another trace, or choose the sampling.
        """
        return _NOT_TRACED

    def close(self) -> None:
        """Export what is left and stop. Waits for a bounded time, so call it outside the event loop."""


_NOT_TRACED = Span()


def open_tracer(otlp_endpoint: str) -> Tracer:
    """Return a tracer for the collector, or one that does nothing when there is none."""
    return OpenTelemetryTracer(otlp_endpoint) if otlp_endpoint else Tracer()


class OpenTelemetrySpan(Span):
    """A span of the OpenTelemetry SDK."""

    def __init__(self, span: Any) -> None:
        self._span = span

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}"

    @property
    def traceparent(self) -> str:
        found = self._span.get_span_context()
        return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"

    def finish(self, *, method: str, route: str, status: int) -> None:
        """End the span and leave it to the exporter."""
        self._span.update_name(f"{method} {route}")
        self._span.set_attributes(
            {"http.request.method": method, "http.route": route, "http.response.status_code": status}
        )
        self._span.end()


class OpenTelemetryTracer(Tracer):
    """Exports spans over OTLP in batches from a separate thread; when the queue is full, spans are dropped."""

    is_tracing = True

    def __init__(self, otlp_endpoint: str) -> None:
        try:
            from opentelemetry import trace  # noqa: PLC0415 - an optional package
            from opentelemetry.context import Context  # noqa: PLC0415
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
            from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        except ImportError as error:
            raise TracingUnavailable(
                f"AGENTGATE_OTLP_ENDPOINT is set, but {error.name} is not installed;"
                " install `agentgate-server[otel]` or unset it"
            ) from error
        self._trace = trace
        # An empty context instead of the thread's current one: a request never continues what ran before it.
        self._no_context = Context()
        self._exporter = OTLPSpanExporter(endpoint=traces_url(otlp_endpoint), timeout=EXPORT_TIMEOUT_S)
        resource = Resource.create({"service.name": "agentgate", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter, max_queue_size=QUEUED_SPANS))
        self._tracer = self._provider.get_tracer("agentgate", __version__)

    def start(self, *, listener: str, traceparent: str | None = None) -> Span:
        parent = parse_traceparent(traceparent) if traceparent and listener == "admin" else None
        context = self._context_of(parent) if parent else self._no_context
        span = self._tracer.start_span(
            "request", context=context, kind=self._trace.SpanKind.SERVER, attributes={"agentgate.listener": listener}
        )
        return OpenTelemetrySpan(span)

    def close(self) -> None:
        """Export what is queued and end the thread."""
        # A collector that is unavailable must not delay a stop: its retries are aborted after a while.
        cut = threading.Timer(CLOSE_S, self._exporter.shutdown)
        cut.start()
        try:
            self._provider.shutdown()
        finally:
            cut.cancel()

    def _context_of(self, parent: tuple[str, str, int]) -> Any:
        trace_id, span_id, flags = parent
        remote = self._trace.SpanContext(
            int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=self._trace.TraceFlags(flags & 1)
        )
        return self._trace.set_span_in_context(self._trace.NonRecordingSpan(remote), self._no_context)


def parse_traceparent(text: str) -> tuple[str, str, int] | None:
    """Return trace ID, span ID and flags of a W3C `traceparent`, or None when it is not exactly one."""
    match = TRACEPARENT.match(text)
    return (match[1], match[2], int(match[3], 16)) if match else None


def traces_url(otlp_endpoint: str) -> str:
    """Return where spans are sent: the endpoint itself when it already names the path, else the path below it."""
    endpoint = otlp_endpoint.rstrip("/")
    return endpoint if endpoint.endswith(TRACES_PATH) else endpoint + TRACES_PATH
