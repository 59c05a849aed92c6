"""Analytics over HTTP: challenges, siteverify, top lists, and from when on each is known."""

from typing import Any

from agentgate.events.records import CounterName
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import ChallengeStage, Mode, Outcome
from tests.api.admin.operating import refusal
from tests.api.traffic_steps import OTHER, SITE, add_site, challenge, count, days_ago, record, roll_up
from tests.support.service import NOON_MS, RunningService


def path(key: str = SITE) -> str:
    return f"/v1/admin/sites/{key}/analytics"


def read(service: RunningService, **query: Any) -> Any:
    reply = service.operator.get(path(), params=query)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_site_without_traffic_has_zeros_for_each_hour(service: RunningService) -> None:
    add_site(service)

    found = read(service)

    assert (found["siteKey"], found["bucket"], len(found["series"])) == (SITE, "hour", 24)
    assert (found["from"], found["to"]) == ("2026-11-14T12:00:00.000Z", "2026-11-15T12:00:00.000Z")
    assert found["challenges"]["solveRate"] is None
    assert found["challenges"]["solveTypes"] == {"invisible": 0, "managed": 0, "interactive": 0, "step_up": 0}
    assert found["siteverify"] == {"calls": 0, "success": 0, "failures": {}, "tokensIssued": 0, "tokensRedeemed": 0}
    assert set(map(str, found["top"].values())) == {"[]"}
    assert not {"eventsFrom", "countersSince"} & set(found)


def test_challenges_and_top_lists_are_counted(service: RunningService) -> None:
    site_id = add_site(service)
    stages = (*[ChallengeStage.ISSUED] * 4, ChallengeStage.PASSED, ChallengeStage.PASSED, ChallengeStage.FAILED)
    labels = ("net.asn.64500", "net.country.de", "net.tor", "ua.refused.stripe")
    record(
        service,
        site_id,
        *(challenge(stage) for stage in stages),
        {"outcome": Outcome.BLOCK, "labels": labels, "reasons": ("policy",), "agent": "GPTBot", "route": "/a"},
        {"labels": labels[1:3], "route": "/a"},
    )

    found = read(service)

    assert found["challenges"] == {
        "issued": 4,
        "passed": 2,
        "failed": 1,
        "abandoned": 1,
        "solveRate": 0.5,
        "solveTypes": {"invisible": 0, "managed": 2, "interactive": 0, "step_up": 0},
        "medianSolveMs": 1200.0,
    }
    assert (found["gateway"]["requests"], found["gateway"]["blocked"]) == (2, 1)
    assert found["top"] == {
        "actions": [],
        "routes": [{"name": "/a", "count": 2}],
        "reasons": [{"name": "policy", "count": 1}],
        "labels": [{"name": "net.tor", "count": 2}],
        "agents": [{"name": "GPTBot", "count": 1}],
        "countries": [{"name": "de", "count": 2}],
        "asns": [{"name": "64500", "count": 1}],
        "refusedPrograms": [{"name": "stripe", "count": 1}],
        "causes": [{"reason": "policy", "refused": 1, "wouldRefuse": 0}],
    }
    assert found["series"][-1]["challengesPassed"] == 2


def test_causes_add_up_to_what_was_not_allowed_and_to_what_enforce_mode_would_not(service: RunningService) -> None:
    site_id = add_site(service)
    limited = {"outcome": Outcome.CHALLENGE, "reasons": ("rate_limited",)}
    ruled = {"outcome": Outcome.BLOCK, "reasons": ("policy",), "rule": "no-scripts"}
    would = {"would": Outcome.BLOCK, "reasons": ("policy",), "rule": "no-scripts", "mode": Mode.MONITOR}
    others = ({**ruled, "rule": f"rule-{number}"} for number in range(10))
    record(service, site_id, limited, limited, ruled, ruled, would, {}, challenge(ChallengeStage.ISSUED), *others)

    found = read(service)

    causes = found["top"]["causes"]
    assert causes[0] == {"reason": "policy", "rule": "no-scripts", "refused": 2, "wouldRefuse": 1}
    assert {"reason": "rate_limited", "refused": 2, "wouldRefuse": 0} in causes
    assert causes[-1] == {"reason": "other", "refused": 2, "wouldRefuse": 0}
    totals = found["gateway"]
    assert sum(each["refused"] for each in causes) == totals["blocked"] + totals["challenged"] == 14
    assert sum(each["wouldRefuse"] for each in causes) == totals["wouldBlock"] == 1


def test_siteverify_and_origins_come_from_hourly_counters(service: RunningService) -> None:
    site_id = add_site(service)
    count(service, site_id, CounterName.SITEVERIFY_SUCCESS, "", 7)
    count(service, site_id, CounterName.SITEVERIFY_FAILURE, "token_used", 2)
    count(service, site_id, CounterName.SITEVERIFY_FAILURE, "expired_token", 1)
    count(service, site_id, CounterName.TOKENS_ISSUED, "", 9)
    count(service, site_id, CounterName.TOKENS_REDEEMED, "", 7)
    count(service, site_id, CounterName.ORIGIN_REFUSED, "https://copy.example", 4)

    # The counters' hour is from 11 to 12; a range that begins within it takes all of it.
    found = read(service, **{"from": NOON_MS - HOUR_MS // 2})

    assert found["siteverify"] == {
        "calls": 10,
        "success": 7,
        "failures": {"expired_token": 1, "token_used": 2},
        "tokensIssued": 9,
        "tokensRedeemed": 7,
    }
    assert found["origins"] == {"refused": [{"origin": "https://copy.example", "count": 4}]}
    assert [(point["siteverifyCalls"], point["siteverifyFailures"]) for point in found["series"]] == [(10, 3)]
    assert "countersSince" not in found
    assert read(service)["countersSince"] == "2026-11-15T11:00:00.000Z"


def test_a_range_from_before_the_retention_shows_where_events_begin(service: RunningService) -> None:
    site_id = add_site(service)
    record(service, site_id, {"at_ms": days_ago(40)}, {"at_ms": days_ago(31)}, {"at_ms": days_ago(1)})
    roll_up(service)

    found = read(service, **{"from": days_ago(60)})

    assert (found["eventsFrom"], found["bucket"]) == ("2026-10-15T00:00:00.000Z", "day")
    assert found["gateway"]["requests"] == 2
    before = read(service, **{"from": days_ago(60), "to": days_ago(50)})
    assert (before["gateway"]["requests"], before["eventsFrom"]) == (0, "2026-10-15T00:00:00.000Z")


def test_wrong_sites_and_ranges_are_rejected(service: RunningService) -> None:
    add_site(service)

    assert refusal(service.operator.get(path(OTHER))) == (404, "site_not_found")
    assert refusal(service.operator.get(path(), params={"from": "2026-01-01"})) == (400, "invalid_range")
    assert refusal(service.operator.get(path(), params={"limit": "5"})) == (400, "invalid_filter")
