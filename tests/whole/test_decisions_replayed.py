"""From made-up visits through the real engine into the store and back: read and replayed is what was decided."""

import pytest

from agentgate.server.demo.installation import DEMO_SITE_KEY, seed, seed_traffic
from tests.support.service import RunningService

RULES = f"/v1/admin/sites/{DEMO_SITE_KEY}/rules"
HOURS_36 = {"from": "2026-11-14T00:00:00Z", "to": "2026-11-15T12:00:00.001Z"}


@pytest.fixture
def events(service: RunningService) -> int:
    """The demo site with its traffic; how many events that is."""
    application = service.application

    async def fill() -> int:
        await seed(application.stores.store, application.clock)
        await application.refresher.refresh()
        return await seed_traffic(application)

    return service.run(fill())


def test_a_backtest_of_the_rules_active_flips_nothing(service: RunningService, events: int) -> None:
    rule_set = service.operator.get(RULES).json()["ruleSet"]

    report = service.operator.post(f"{RULES}/backtest", json={"ruleSet": rule_set, **HOURS_36}).json()

    metrics = service.operator.get("/v1/admin/metrics", params={"siteKey": DEMO_SITE_KEY, **HOURS_36}).json()
    assert report["evaluated"] == metrics["totals"]["requests"] > 500
    assert (report["changed"], report["flips"], report["complete"]) == (0, [], True)


def test_a_backtest_of_other_rules_counts_every_decision_that_would_change(
    service: RunningService, events: int
) -> None:
    block_all = {"version": "x", "rules": [], "default_action": "block"}

    report = service.operator.post(f"{RULES}/backtest", json={"ruleSet": block_all, **HOURS_36}).json()

    metrics = service.operator.get("/v1/admin/metrics", params={"siteKey": DEMO_SITE_KEY, **HOURS_36}).json()
    totals = metrics["totals"]
    flips = {(flip["from"], flip["to"]): flip["count"] for flip in report["flips"]}
    assert flips == {
        ("allow", "block"): totals["requests"] - totals["wouldChallenge"] - totals["wouldBlock"],
        ("challenge", "block"): totals["wouldChallenge"],
    }
    assert report["byRule"] == {"(default)": report["evaluated"]}


def test_rules_that_turn_labelled_people_away_are_blocked(service: RunningService, events: int) -> None:
    allowed = service.operator.get(
        "/v1/admin/decisions", params={"siteKey": DEMO_SITE_KEY, "kind": "request", "action": "search", "limit": 200}
    ).json()["items"]
    people = [each for each in allowed if "wouldDecision" not in each][:3]
    for each in people:
        labelled = service.operator.put(
            f"/v1/admin/decisions/{each['id']}/label", params={"siteKey": DEMO_SITE_KEY}, json={"label": "human"}
        )
        assert labelled.status_code == 200
    block_all = {"version": "x", "rules": [], "default_action": "block"}
    view = service.operator.get(RULES).json()

    refused = service.operator.put(RULES, json={"ruleSet": block_all, "revision": 0, "maxHumanFlips": 2})
    assert (refused.status_code, refused.json()["error"]) == (409, "backtest_refused")
    assert service.operator.get(RULES).json() == view

    kept = service.operator.put(RULES, json={"ruleSet": block_all, "revision": 0, "maxHumanFlips": 3})
    assert kept.status_code == 200


def test_what_is_listed_is_what_was_recorded(service: RunningService, events: int) -> None:
    seen: list[str] = []
    query = {"siteKey": DEMO_SITE_KEY, "limit": "200", **HOURS_36}
    while True:
        page = service.operator.get("/v1/admin/decisions", params=query).json()
        seen += [item["id"] for item in page["items"]]
        if "nextCursor" not in page:
            break
        query["cursor"] = page["nextCursor"]

    # Some of the 36 hours are on the day before the range.
    assert seen == sorted(set(seen), reverse=True)
    totals = service.operator.get("/v1/admin/metrics", params={"siteKey": DEMO_SITE_KEY, **HOURS_36}).json()
    challenges = totals["challenges"]
    assert (
        len(seen) == totals["totals"]["requests"] + challenges["issued"] + challenges["passed"] + challenges["failed"]
    )
    assert 0 < len(seen) <= events


def test_a_change_of_rules_decides_the_next_request_of_this_worker(service: RunningService, events: int) -> None:
    sample = {
        "method": "GET",
        "url": "https://shop.example/",
        "headers": {"user-agent": "curl/8.1"},
        "address": "192.0.2.9",
    }
    block_all = {"version": "x", "rules": [], "default_action": "block"}
    site = service.application.refresher.sites
    before = site.find(DEMO_SITE_KEY)
    assert before is not None

    assert service.operator.put(RULES, json={"ruleSet": block_all, "revision": 0}).status_code == 200

    after = site.find(DEMO_SITE_KEY)
    for _ in range(100):
        if after is not None and after.rules.version != before.rules.version:
            break
        service.operator.get(RULES)
        after = site.find(DEMO_SITE_KEY)
    assert after is not None
    assert after.rules.version.startswith("x-")
    assert service.operator.post(f"{RULES}/test", json={"request": sample}).json()["outcome"] == "block"
