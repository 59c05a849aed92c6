"""Visitors over HTTP: most recently seen first, in pages, and one of them with its newest decisions."""

from typing import Any

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import ChallengeStage, Outcome
from tests.api.admin.operating import refusal
from tests.api.traffic_steps import OTHER, SITE, VISITOR_ID, add_site, challenge, days_ago, record, roll_up
from tests.support.service import NOON_MS, RunningService

VISITORS = "/v1/admin/visitors"


def read(service: RunningService, path: str = "", **query: Any) -> Any:
    reply = service.operator.get(VISITORS + path, params={"siteKey": SITE, **query})
    assert reply.status_code == 200, reply.text
    return reply.json()


def ids(page: Any) -> list[int]:
    return [int(item["id"], 16) for item in page["items"]]


def test_a_visitor_is_summed_up_over_the_range(service: RunningService) -> None:
    site_id = add_site(service)
    record(
        service,
        site_id,
        {"at_ms": NOON_MS - HOUR_MS, "action": "login", "agent": "GPTBot"},
        {"at_ms": NOON_MS - 30, "would": Outcome.CHALLENGE, "action": "submit"},
        {"at_ms": NOON_MS - 20, "outcome": Outcome.BLOCK},
        challenge(ChallengeStage.ISSUED, at_ms=NOON_MS - 10),
        challenge(ChallengeStage.PASSED, at_ms=NOON_MS - 5),
        {"at_ms": NOON_MS - 1, "visitor": None},
    )

    assert read(service) == {
        "items": [
            {
                "id": VISITOR_ID,
                "firstSeen": "2026-11-15T11:00:00.000Z",
                "lastSeen": "2026-11-15T11:59:59.995Z",
                "requests": 3,
                "outcomes": {"allow": 2, "challenge": 0, "block": 1, "drop": 0},
                "monitored": 1,
                "challenges": 1,
                "challengesPassed": 1,
                "actions": ["login", "submit"],
                "agents": ["GPTBot"],
            }
        ],
        "from": "2026-11-14T12:00:00.000Z",
        "to": "2026-11-15T12:00:00.000Z",
    }


def test_pages_over_closed_and_open_days_show_everyone_once(service: RunningService) -> None:
    site_id = add_site(service)
    record(
        service,
        site_id,
        *({"at_ms": days_ago(3) + number, "visitor": number} for number in range(1, 6)),
        *({"at_ms": days_ago(2) + number, "visitor": number} for number in range(4, 8)),
        *({"at_ms": NOON_MS - 100 + number, "visitor": number} for number in (1, 7)),
    )
    roll_up(service)

    found, query = [], {"from": days_ago(10), "limit": 2}
    page = read(service, **query)
    found += ids(page)
    while "nextCursor" in page:
        page = read(service, **query, cursor=page["nextCursor"])
        found += ids(page)

    assert found == [7, 1, 6, 5, 4, 3, 2]


def test_one_visitor_comes_with_its_fifty_newest_decisions(service: RunningService) -> None:
    site_id = add_site(service)
    made = record(service, site_id, *({"at_ms": days_ago(20) + number} for number in range(55)), {"visitor": 2})

    found = read(service, f"/{VISITOR_ID}")

    assert (found["id"], found["requests"]) == (VISITOR_ID, 55)
    assert [decision["id"] for decision in found["recent"]] == made[54:4:-1]


def test_a_visitor_who_was_not_seen_is_not_found(service: RunningService) -> None:
    site_id = add_site(service)
    add_site(service, OTHER)
    record(service, site_id, {"at_ms": days_ago(3)})

    for path, query in (
        ("/0000000000000000", {"siteKey": SITE}),
        ("/nobody", {"siteKey": SITE}),
        (f"/{VISITOR_ID}", {"siteKey": SITE, "from": str(days_ago(2))}),
        (f"/{VISITOR_ID}", {"siteKey": OTHER}),
    ):
        assert refusal(service.operator.get(VISITORS + path, params=query)) == (404, "not_found"), (path, query)


def test_wrong_parameters_are_rejected(service: RunningService) -> None:
    add_site(service)
    for path, name, value, code in (
        ("", "limit", "201", "invalid_limit"),
        ("", "from", "2026-10-01", "invalid_range"),
        ("", "cursor", "x", "invalid_cursor"),
        ("", "outcome", "allow", "invalid_filter"),
        (f"/{VISITOR_ID}", "to", "later", "invalid_range"),
        (f"/{VISITOR_ID}", "from", "2026-10-01", "invalid_range"),
    ):
        reply = service.operator.get(VISITORS + path, params={"siteKey": SITE, name: value})
        assert refusal(reply) == (400, code), (path, name)
