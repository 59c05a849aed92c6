"""Metrics over HTTP: the counting rule, the buckets, and rejected requests."""

from typing import Any

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import ChallengeStage, Outcome
from tests.api.admin.operating import refusal
from tests.api.traffic_steps import OTHER, SITE, add_site, challenge, days_ago, record, roll_up
from tests.support.service import NOON_MS, RunningService

METRICS = "/v1/admin/metrics"


def read(service: RunningService, **query: Any) -> Any:
    reply = service.operator.get(METRICS, params={"siteKey": SITE, **query})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_site_without_traffic_has_zeros_for_each_of_seven_days(service: RunningService) -> None:
    add_site(service)

    found = read(service)

    assert (found["from"], found["to"]) == ("2026-11-08", "2026-11-15")
    assert (found["rangeFrom"], found["rangeTo"]) == ("2026-11-08T12:00:00.000Z", "2026-11-15T12:00:00.000Z")
    assert (found["source"], found["bucket"]) == ("events", "day")
    assert (len(found["series"]), len(found["daily"])) == (8, 8)
    assert set(found["totals"].values()) == {0}
    assert found["challenges"] == {"issued": 0, "passed": 0, "failed": 0, "completionRate": None}
    assert found["latency"] == {"meanMs": None, "p50Ms": None, "p95Ms": None, "samples": 0}
    assert found["errors"] == {"serviceErrors": 0, "eventWriteFailures": 0}
    assert found["retention"] == {"eventDays": 31, "metricDays": 400}


def test_exactly_the_range_is_counted_and_challenges_apart(service: RunningService) -> None:
    site_id = add_site(service)
    at_ms = NOON_MS - 3 * HOUR_MS
    record(
        service,
        site_id,
        {"at_ms": at_ms - 1},
        {"at_ms": at_ms, "duration_us": 1000},
        {"at_ms": at_ms + 1, "outcome": Outcome.BLOCK, "duration_us": 3000, "error": True, "visitor": 7},
        {"at_ms": NOON_MS - 1, "would": Outcome.DROP, "duration_us": 5000},
        {"at_ms": NOON_MS},
        challenge(ChallengeStage.ISSUED, at_ms=at_ms),
        challenge(ChallengeStage.ISSUED, at_ms=at_ms),
        challenge(ChallengeStage.PASSED, at_ms=at_ms),
    )

    found = read(service, **{"from": at_ms, "to": NOON_MS})

    assert found["bucket"] == "hour"
    assert [point["requests"] for point in found["series"]] == [2, 0, 1]
    assert found["totals"] == {
        "requests": 3,
        "allowed": 2,
        "challenged": 0,
        "blocked": 1,
        "dropped": 0,
        "wouldChallenge": 0,
        "wouldBlock": 0,
        "wouldDrop": 1,
    }
    assert found["challenges"] == {"issued": 2, "passed": 1, "failed": 0, "completionRate": 0.5}
    assert found["latency"] == {"meanMs": 3.0, "p50Ms": 3.0, "p95Ms": 5.0, "samples": 3}
    assert (found["errors"]["serviceErrors"], found["uniqueSources"]) == (1, 2)
    # The days are whole days whatever the range.
    assert [point["requests"] for point in found["daily"]] == [5]


def test_a_range_from_before_the_retention_is_counted_by_whole_days(service: RunningService) -> None:
    site_id = add_site(service)
    record(
        service,
        site_id,
        {"at_ms": days_ago(40)},
        {"at_ms": days_ago(40) - HOUR_MS, "visitor": 3},
        {"at_ms": days_ago(2)},
        {"at_ms": NOON_MS - 1, "visitor": 4},
    )
    roll_up(service)

    found = read(service, **{"from": days_ago(40), "to": NOON_MS - HOUR_MS})

    assert (found["source"], found["bucket"]) == ("aggregates", "day")
    assert (found["rangeFrom"], found["rangeTo"]) == ("2026-10-06T00:00:00.000Z", "2026-11-16T00:00:00.000Z")
    assert (found["totals"]["requests"], found["uniqueSources"]) == (4, 3)
    assert found["series"][0]["requests"] == 2
    point = {name: value for name, value in found["series"][0].items() if name not in {"start", "end"}}
    assert found["daily"][0] == {"day": "2026-10-06", **point}


def test_the_retention_begins_at_a_midnight_and_belongs_to_the_events(service: RunningService) -> None:
    add_site(service)

    assert read(service, **{"from": "2026-10-15"})["source"] == "events"
    assert read(service, **{"from": "2026-10-14T23:59:59.999Z"})["source"] == "aggregates"


def test_wrong_sites_and_ranges_are_rejected(service: RunningService) -> None:
    add_site(service)
    wrong: tuple[tuple[dict[str, str], tuple[int, str]], ...] = (
        ({}, (400, "invalid_site")),
        ({"siteKey": "shop"}, (400, "invalid_site")),
        ({"siteKey": OTHER}, (404, "site_not_found")),
        ({"siteKey": SITE, "from": "yesterday"}, (400, "invalid_range")),
        ({"siteKey": SITE, "from": "2026-11-10", "to": "2026-11-10"}, (400, "invalid_range")),
        ({"siteKey": SITE, "from": "2026-01-01"}, (400, "invalid_range")),
        ({"siteKey": SITE, "days": "3"}, (400, "invalid_filter")),
    )
    for query, code in wrong:
        assert refusal(service.operator.get(METRICS, params=query)) == code, query
