"""What helps operators to trust a model: contributions to a score, doubtful labels, decisions worth a label."""

from typing import Any

import pytest

from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.records import Event
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from tests.api.admin.operating import refusal
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


def test_people_whose_evidence_contradicts_them_come_first_in_the_review(service: RunningService, number: int) -> None:
    bot, person = ("http.unlike_browser", "ua.browser"), ("ua.browser",)
    decisions = add(service, number, *[(bot if place % 2 else person, 0.5, Outcome.ALLOW) for place in range(40)])
    for place, decision in enumerate(decisions):
        label(service, decision, "bot" if place % 2 and place != 7 else "human")

    found = read(service, "/labels/review")

    assert (found["labels"], found["items"][0]["decisionId"]) == (40, decisions[7])
    assert found["items"][0]["reasons"] == ["disagrees", "contradicts"]
    assert found["items"][0]["signals"] == list(bot)
    assert sum(each["doubtful"] for each in found["actors"]) == found["doubtful"] == 1


def test_the_queue_has_one_decision_of_each_kind_that_would_teach_a_model(service: RunningService, number: int) -> None:
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
