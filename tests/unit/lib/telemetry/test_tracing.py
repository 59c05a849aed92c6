"""Traces: sent to a real collector on loopback, and harmless when there is none."""

import subprocess
import sys
import time

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agentgate.lib.telemetry.tracing import CLOSE_S, Tracer, open_tracer, parse_traceparent, traces_url
from tests.support.otlp import running_collector

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.fixture
def collector():
    with running_collector() as found:
        yield found


def test_a_span_reaches_the_collector_with_route_and_status(collector):
    url, received = collector
    tracer = open_tracer(url)
    span = tracer.start(listener="public")

    span.finish(method="GET", route="/v1/admin/sites/{siteKey}", status=404)
    tracer.close()

    ((path, body),) = received
    (exported,) = ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans[0].spans
    attributes = {item.key: item.value.string_value or item.value.int_value for item in exported.attributes}
    assert path == "/v1/traces"
    assert exported.name == "GET /v1/admin/sites/{siteKey}"
    assert exported.trace_id.hex() == span.trace_id
    assert attributes["http.route"] == "/v1/admin/sites/{siteKey}"
    assert attributes["http.response.status_code"] == 404


@pytest.mark.parametrize(("listener", "taken_over"), [("admin", True), ("public", False)])
def test_the_callers_trace_is_taken_over_on_the_admin_listener_only(collector, listener, taken_over):
    tracer = open_tracer(collector[0])

    span = tracer.start(listener=listener, traceparent=TRACEPARENT)
    tracer.close()

    assert (span.trace_id == TRACE) is taken_over
    assert len(span.trace_id) == 32


def test_a_collector_that_is_unavailable_delays_neither_a_request_nor_the_stop():
    # Port 1 of loopback rejects connections at once; the exporter then waits and tries again in its own thread.
    tracer = open_tracer("http://127.0.0.1:1")
    began_s = time.monotonic()

    for _ in range(1_000):
        tracer.start(listener="public").finish(method="GET", route="/healthz", status=200)
    finished_s = time.monotonic()
    tracer.close()

    # A thousand requests that each waited for the collector would take minutes.
    assert finished_s - began_s < 3
    assert time.monotonic() - finished_s < CLOSE_S + 1.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        TRACEPARENT + "\n",
        TRACEPARENT.upper(),
        "01" + TRACEPARENT[2:],
        TRACEPARENT + "-x",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-00f067aa0ba902b7-01",
    ],
)
def test_a_malformed_traceparent_is_ignored(text):
    assert parse_traceparent(text) is None


def test_a_traceparent_is_read():
    assert parse_traceparent(TRACEPARENT) == (TRACE, "00f067aa0ba902b7", 1)


def test_without_an_endpoint_nothing_is_traced():
    tracer = open_tracer("")

    assert type(tracer) is Tracer
    assert tracer.start(listener="admin", traceparent=TRACEPARENT).trace_id == ""


def test_an_endpoint_that_names_the_path_is_used_as_it_is():
    assert traces_url("http://collector:4318/") == "http://collector:4318/v1/traces"
    assert traces_url("http://collector:4318/v1/traces") == "http://collector:4318/v1/traces"


def test_opentelemetry_is_not_imported_before_it_is_needed():
    code = "import sys, agentgate.lib.telemetry.tracing as t; t.open_tracer(''); print('opentelemetry' in sys.modules)"

    assert _python(code).stdout == "False\n"


def test_missing_packages_are_named_with_the_extra_that_brings_them():
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import agentgate.lib.telemetry.tracing as t\n"
        "try: t.open_tracer('http://127.0.0.1:1')\n"
        "except t.TracingUnavailable as error: print(error)"
    )

    assert "agentgate-server[otel]" in _python(code).stdout


def _python(code: str) -> subprocess.CompletedProcess[str]:
    environ = {"PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ, timeout=30)
