"""External IDs of a request: shown on its decision in the API, without any other effect."""

import re
import socket
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agentgate.events.correlation import correlation_of
from agentgate.lib.settings.schema import Settings
from tests.support.browser_client import decision_of
from tests.support.gateway import Gate
from tests.support.otlp import running_collector
from tests.support.service import RunningService, running_service

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
MADE_BY_PROXIES = [
    "3f2c9d41aa10b7e4c2d5f6a7b8c9d0e1",
    "7d444840-9dc0-11d1-b245-5ffdce74fad2",
    "Y3ZkQH8AAQEAAHxr@cIAAABE",
    "7F000001:8F3C_7F000001:0050_655A1B2C_0001:1F90",
    "Root=1-67891233-abcdef012345678912345678",
]


@pytest.fixture
def gate(service: RunningService) -> Gate:
    """A proxy in front of a site."""
    return Gate(service)


def _decision(gate: Gate, **headers: str | None) -> dict[str, object]:
    decision: dict[str, object] = decision_of(
        gate.service, gate.site_key, gate.check(**headers).headers["x-service-decision-id"]
    )
    return decision


def test_decisions_alike_carry_each_its_own_ids(gate: Gate) -> None:
    first, second, third = (
        _decision(gate, X_Request_Id=f"request-{number}", traceparent=PARENT if number else None) for number in range(3)
    )
    bare = _decision(gate)

    assert [each["requestId"] for each in (first, second, third)] == ["request-0", "request-1", "request-2"]
    assert [each.get("traceId") for each in (first, second, third)] == [None, TRACE, TRACE]
    assert "requestId" not in bare
    assert "traceId" not in bare


def test_a_check_that_waits_has_them_too(gate: Gate) -> None:
    decision = _decision(gate, X_Request_Id="waits", traceparent=PARENT, X_AgentGate_Token="nonsense")

    assert (decision["requestId"], decision["traceId"]) == ("waits", TRACE)


def test_they_show_nothing_about_the_visitor(gate: Gate) -> None:
    bare = _decision(gate, X_Original_Address="203.0.113.21")
    marked = _decision(gate, X_Original_Address="203.0.113.22", X_Request_Id="x", traceparent=PARENT)

    for own in ("id", "time", "durationUs", "requestId", "traceId", "visitorId"):
        bare.pop(own, None)
        marked.pop(own, None)
    assert marked == bare


def test_a_decision_is_labelled_by_the_proxys_id(gate: Gate) -> None:
    decision = _decision(gate, X_Request_Id="to-be-labelled")

    body = {"requestId": "to-be-labelled", "label": "bot", "source": "operator"}
    made = gate.service.operator.post("/v1/admin/labels", params={"siteKey": gate.site_key}, json=body)

    assert made.status_code == 201, made.text
    assert made.json()["decisionId"] == decision["id"]


@pytest.mark.parametrize("request_id", MADE_BY_PROXIES)
def test_ids_of_known_proxies_are_taken(request_id: str) -> None:
    fields = {b"x-request-id": request_id.encode(), b"traceparent": PARENT.encode()}

    assert correlation_of(fields) == (request_id, TRACE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-request-id", "x" * 129),
        ("x-request-id", "a b"),
        ("x-request-id", '"><script>'),
        ("x-request-id", "a, b"),
        ("x-request-id", ""),
        ("x-request-id", "\xff"),
        ("x-request-id", "a\n"),
        ("traceparent", "01-" + PARENT[3:]),
        ("traceparent", f"00-{'0' * 32}-b7ad6b7169203331-01"),
        ("traceparent", PARENT.upper()),
        ("traceparent", PARENT + "-x"),
        ("traceparent", TRACE),
    ],
)
def test_what_is_not_plainly_an_id_is_omitted(name: str, value: str) -> None:
    assert correlation_of({name.encode(): value.encode("latin-1")}) is None


def test_a_head_that_is_handled_as_it_arrived_has_them(gate: Gate) -> None:
    head = "\r\n".join(
        (
            "GET /v1/gateway/check HTTP/1.1",
            "Host: service",
            f"Authorization: Bearer {gate.secret}",
            "X-Original-Method: GET",
            "X-Original-URL: https://shop.example/",
            "X-Original-Address: 203.0.113.20",
            "X-Request-Id: as-it-arrived",
            f"traceparent: {PARENT}",
        )
    )
    port = urlsplit(gate.service.public_url).port
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        answer = connection.recv(4096).decode()

    found = decision_of(gate.service, gate.site_key, re.findall("x-service-decision-id: (dec_[0-9a-z]+)", answer)[0])

    assert (found["requestId"], found["traceId"]) == ("as-it-arrived", TRACE)


def test_an_operator_gets_from_a_decision_to_its_trace(settings: Settings) -> None:
    with running_service(replace(settings, trace_url_template="https://traces.example/{traceId}")) as service:
        gate = Gate(service)
        decision = _decision(gate, traceparent=PARENT)

        found = service.operator.get(f"/v1/admin/decisions/{decision['id']}", params={"siteKey": gate.site_key})

    assert found.json()["traceUrl"] == f"https://traces.example/{TRACE}"


def test_with_a_collector_each_check_and_each_siteverify_is_a_span(settings: Settings) -> None:
    with running_collector() as (url, received):
        with running_service(replace(settings, otlp_endpoint=url)) as service:
            gate = Gate(service)
            own, sent = _decision(gate), _decision(gate, traceparent=PARENT)
            waited = _decision(gate, X_AgentGate_Token="nonsense")
            reply = service.public.post("/v1/siteverify", json={"token": "x", "expectedAction": "login"})
            assert reply.status_code == 401
        exported = [
            span
            for _, body in received
            for found in ExportTraceServiceRequest.FromString(body).resource_spans
            for span in found.scope_spans[0].spans
        ]

    checks = [span for span in exported if span.name == "GET /v1/gateway/check"]
    assert len(checks) == 3
    assert sent["traceId"] == TRACE
    assert {own["traceId"], waited["traceId"]} <= {span.trace_id.hex() for span in checks}
    assert [span.name for span in exported].count("POST /v1/siteverify") == 1
