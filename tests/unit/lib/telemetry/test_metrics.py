"""Metrics: what is counted, and that two registries do not meet."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agentgate.lib.telemetry import series
from agentgate.lib.telemetry.metrics import MetricRegistry


@pytest.fixture
def metrics() -> MetricRegistry:
    return MetricRegistry(version="9.9.9", worker="2")


def value_of(metrics: MetricRegistry, name: str, **labels: str) -> float | None:
    body, _ = metrics.exposition()
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return None


def test_a_request_is_counted_by_surface_route_and_status(metrics):
    for status in (200, 200, 404):
        metrics.request_started()
        metrics.request_finished("admin", "/v1/admin/sites/{siteKey}", status=status, duration_s=0.003)

    route = "/v1/admin/sites/{siteKey}"
    assert value_of(metrics, "agentgate_http_requests_total", surface="admin", route=route, status="200") == 2
    assert value_of(metrics, "agentgate_http_requests_total", surface="admin", route=route, status="404") == 1


def test_the_duration_falls_into_its_bucket(metrics):
    metrics.request_started()
    metrics.request_finished("public", "/healthz", status=200, duration_s=0.003)

    assert value_of(metrics, "agentgate_http_request_duration_seconds_bucket", le="0.0025") == 0
    assert value_of(metrics, "agentgate_http_request_duration_seconds_bucket", le="0.005") == 1
    assert value_of(metrics, "agentgate_http_request_duration_seconds_sum") == 0.003


def test_durations_of_all_statuses_of_a_route_add_up_and_none_is_too_long_for_a_bucket(metrics):
    for status, duration_s in ((200, 0.0005), (404, 0.002), (503, 11.0)):
        metrics.counting("public", "/v1/siteverify", status=status)(duration_s)

    bucket = "agentgate_http_request_duration_seconds_bucket"
    counts = [value_of(metrics, bucket, le=bound) for bound in ("0.0005", "0.001", "0.0025", "10.0", "+Inf")]
    assert counts == [1, 1, 2, 2, 3]
    assert value_of(metrics, "agentgate_http_request_duration_seconds_count", route="/v1/siteverify") == 3
    assert value_of(metrics, "agentgate_http_request_duration_seconds_sum") == pytest.approx(11.0025)


def test_requests_in_flight_go_up_and_down(metrics):
    metrics.request_started()
    metrics.request_started()
    metrics.request_finished("public", "/healthz", status=200, duration_s=0.1)

    assert value_of(metrics, "agentgate_http_in_flight") == 1


def test_what_a_listener_rejected_is_shown_by_reason(metrics):
    counts = {"bad_host": 0}
    metrics.watch(series.REFUSED, lambda: {("public", reason): count for reason, count in counts.items()})
    counts["bad_host"] += 1

    assert value_of(metrics, "agentgate_requests_refused_total", listener="public", reason="bad_host") == 1


def test_what_a_listener_has_deferred_is_shown(metrics):
    waiting = [1, 2, 3]
    metrics.watch(series.PUT_OFF, lambda: {("public",): len(waiting)})
    waiting.pop()

    assert value_of(metrics, "agentgate_http_put_off", listener="public") == 2


def test_event_write_failures_start_at_zero_and_add_up(metrics):
    assert value_of(metrics, "agentgate_event_write_failures_total") == 0

    metrics.event_write_failed(3)

    assert value_of(metrics, "agentgate_event_write_failures_total") == 3


def test_a_store_is_up_or_not(metrics):
    metrics.store_answers("database", up=True)
    metrics.store_answers("fast", up=False)

    assert value_of(metrics, "agentgate_store_up", store="database") == 1
    assert value_of(metrics, "agentgate_store_up", store="fast") == 0


def test_the_version_is_shown(metrics):
    assert value_of(metrics, "agentgate_build_info", version="9.9.9") == 1


def test_creation_times_are_omitted(metrics):
    metrics.watch(series.REFUSED, lambda: {("public", "bad_host"): 1})

    assert b"_created" not in metrics.exposition()[0]


def test_two_instances_count_apart(metrics):
    MetricRegistry(version="9.9.9", worker="3").event_write_failed(5)

    assert value_of(metrics, "agentgate_event_write_failures_total") == 0


def test_the_content_type_is_the_one_prometheus_reads(metrics):
    assert metrics.exposition()[1].startswith("text/plain; version=0.0.4")
