"""What helps operators to trust a model: contributions to a score, doubtful labels, decisions worth a label."""

import re
from typing import Any

import pytest

from agentgate.decision.scoring import drift as drift_module
from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.records import Event
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from tests.api.admin.operating import refusal
from tests.support.scored import add_scores
from tests.support.service import RunningService
from tests.unit.decision.scoring.made_models import logistic

SITE = {"siteKey": "site_shop"}


@pytest.fixture
def number(service: RunningService) -> int:
    made = service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"}).json()
    return int(service.run(service.application.stores.store.read.sites.find_number(made["id"])))


def add(
    service: RunningService, site: int, *seen: tuple[tuple[str, ...], float, Outcome], version: str = "x"
) -> list[str]:
    events = [
        Event(
            id=first_id(service.clock.now_ms()) + place,
            site=site,
            visitor=place,
            kind=DecisionKind.REQUEST,
            mode=Mode.ENFORCE,
            outcome=outcome,
            method="GET",
            route="*",
            status=204,
            duration_us=10,
            labels=labels,
            scores={"bot": score},
            model_versions={"bot": version},
        )
        for place, (labels, score, outcome) in enumerate(seen)
    ]
    service.run(service.application.stores.events.write(events))
    return [write_id(event.id) for event in events]


def label(service: RunningService, decision: str, value: str) -> None:
    reply = service.operator.put(f"/v1/admin/decisions/{decision}/label", params=SITE, json={"label": value})
    assert reply.status_code == 200, reply.text


def read(service: RunningService, path: str, **query: Any) -> Any:
    reply = service.operator.get(f"/v1/admin{path}", params=SITE | query)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_contributions_show_how_much_each_label_changed_the_score(service: RunningService, number: int) -> None:
    service.operator.put("/v1/admin/models/bot/candidate", json=logistic())
    service.operator.post("/v1/admin/models/bot/promote")
    score = 0.8808
    [decision] = add(service, number, (("net.datacenter", "ua.browser"), score, Outcome.ALLOW), version="test-1")

    found = read(service, f"/decisions/{decision}/contributions")["models"]["bot"]

    assert (found["version"], found["score"]) == ("test-1", score)
    [only] = found["contributions"]
    assert only["feature"] == "net.datacenter"
    assert only["effect"] == pytest.approx(0.8808 - 0.2689, abs=0.001)
    assert "hosting" in only["meaning"]


def test_a_model_that_is_no_longer_kept_explains_nothing(service: RunningService, number: int) -> None:
    [decision] = add(service, number, (("ua.browser",), 0.9, Outcome.ALLOW), version="long-gone")

    assert read(service, f"/decisions/{decision}/contributions") == {"models": {}}
    unknown = service.operator.get(f"/v1/admin/decisions/{write_id(1)}/contributions", params=SITE)
    assert refusal(unknown) == (404, "not_found")


def test_labels_that_evidence_contradicts_come_first_in_the_review(service: RunningService, number: int) -> None:
    bot, person = ("http.unlike_browser", "ua.browser"), ("ua.browser",)
    decisions = add(service, number, *[(bot if place % 2 else person, 0.5, Outcome.ALLOW) for place in range(40)])
    for place, decision in enumerate(decisions):
        label(service, decision, "bot" if place % 2 and place != 7 else "human")

    found = read(service, "/labels/review")

    assert (found["labels"], found["items"][0]["decisionId"]) == (40, decisions[7])
    assert found["items"][0]["reasons"] == ["disagrees", "contradicts"]
    assert found["items"][0]["signals"] == list(bot)
    assert sum(each["doubtful"] for each in found["actors"]) == found["doubtful"] == 1


def test_the_queue_has_one_decision_of_each_kind_worth_a_label(service: RunningService, number: int) -> None:
    usual = (("ua.browser",), 0.05, Outcome.ALLOW)
    near = (("http.order_mismatch", "ua.browser"), 0.88, Outcome.CHALLENGE)
    disagreement = (("browser.debugger", "ua.browser"), 0.1, Outcome.BLOCK)
    decisions = add(service, number, *[usual] * 20, *[near] * 8, *[disagreement] * 8)

    items = read(service, "/labels/queue")["items"]

    assert [(item["labels"], item["reasons"], item["alike"]) for item in items] == [
        (list(near[0]), ["threshold"], 8),
        (list(disagreement[0]), ["disagreement"], 8),
    ]
    label(service, items[0]["decisionId"], "bot")
    assert [item["labels"] for item in read(service, "/labels/queue")["items"]] == [list(disagreement[0])]
    assert set(decisions) > {item["decisionId"] for item in items}


@pytest.mark.parametrize("path", ["/labels/review", "/labels/queue", "/decisions/dec_1/contributions"])
def test_they_need_an_operator(service: RunningService, number: int, path: str) -> None:
    assert refusal(service.anonymous.get(f"/v1/admin{path}", params=SITE)) == (401, "unauthorized")


def drift(service: RunningService) -> Any:
    [site] = service.operator.get("/v1/admin/models/bot/drift").json()["sites"]
    return site


def measured(service: RunningService) -> dict[str, float]:
    """Run the job that is due, and return the index by site from /metrics."""
    service.run(service.application._jobs.run_due())
    text = service.operator.get("/metrics").text
    found = re.findall(r'^agentgate_model_drift\{kind="bot",site="(\w+)"\} (\S+)$', text, re.MULTILINE)
    return {site: float(index) for site, index in found}


def test_a_shift_of_20_percent_of_the_traffic_is_drift_and_the_usual_spread_is_not(
    service: RunningService, number: int
) -> None:
    usual = [0.05 + place % 3 * 0.1 for place in range(300)]
    add_scores(service, number, usual)
    service.clock.advance(days=1)

    add_scores(service, number, usual[:240])
    service.clock.advance(seconds=60)
    quiet = drift(service)
    figure = measured(service)
    add_scores(service, number, [0.75] * 60)
    service.clock.advance(seconds=600)
    changed = drift(service)

    counts = (sum(quiet["before"]), sum(quiet["now"]))
    assert (quiet["siteKey"], quiet["drifted"], counts) == ("site_shop", False, (300, 240))
    assert figure == {"site_shop": pytest.approx(quiet["index"], abs=1e-6)}
    assert quiet["index"] < 0.1
    assert (changed["drifted"], changed["now"][7]) == (True, 60)
    assert measured(service) == {"site_shop": pytest.approx(changed["index"], abs=1e-6)}
    assert 'agentgate_model_scores{from="0.7",kind="bot"} 60.0' in service.operator.get("/metrics").text
    assert [sum(day["bins"]) for day in changed["days"]] == [300]


def test_another_process_that_measures_leaves_no_old_index_in_the_metrics(service: RunningService, number: int) -> None:
    add_scores(service, number, [0.1] * 300)
    service.clock.advance(days=1)
    add_scores(service, number, [0.1] * 300)
    assert measured(service).keys() == {"site_shop"}

    service.clock.advance(seconds=31 * 60)

    assert "agentgate_model_drift{" not in service.operator.get("/metrics").text


def test_a_promotion_is_not_drift(service: RunningService, number: int) -> None:
    add_scores(service, number, [0.1] * 300, version="old")
    service.clock.advance(days=1)
    add_scores(service, number, [0.9] * 300, version="new")
    service.clock.advance(seconds=60)

    assert (drift(service)["index"], sum(drift(service)["before"])) == (None, 0)


def test_a_day_of_much_traffic_is_read_in_part_but_evenly(
    service: RunningService, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift_module, "MOST_READ", 300)
    # Scores differ between morning and evening.
    add_scores(service, number, [0.1] * 900)
    service.clock.advance(seconds=3600)
    add_scores(service, number, [0.9] * 900)
    service.clock.advance(days=1)
    add_scores(service, number, [0.1] * 250)
    service.clock.advance(seconds=60)

    before = drift(service)["before"]
    assert before[1] + before[9] == sum(before) <= 300
    assert 0.4 < before[1] / sum(before) < 0.6


def test_few_requests_are_not_judged_for_drift(service: RunningService, number: int) -> None:
    add_scores(service, number, [0.9] * 199)
    service.clock.advance(seconds=60)

    assert (drift(service)["index"], drift(service)["drifted"]) == (None, False)
