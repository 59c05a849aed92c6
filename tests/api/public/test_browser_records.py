"""Records of the browser check: events, counters and features. Test keys leave no records."""

import time
from typing import Any

import pytest

from agentgate.browser_check.step_up import WAIT_MS
from agentgate.browser_check.testing_sites import ALWAYS_FAIL, ALWAYS_PASS, INTERACTIVE
from agentgate.browser_check.tokens.receipts import read_receipt
from agentgate.events.decision_ids import read_id
from tests.support.browser_client import DRIVEN, SIGNALS, BrowserClient, create_site, decision_of
from tests.support.service import RunningService

ODD = {**SIGNALS, "plugins": 0}
CHALLENGE_ODD = {
    "version": "1",
    "rules": [
        {"name": "odd", "match": {"any_labels": ["browser.no_plugins"]}, "action": "challenge"},
        {"name": "driven", "match": {"any_labels": ["browser.webdriver"]}, "action": "block"},
    ],
    "default_action": "allow",
}


@pytest.fixture
def page(shared_service: RunningService) -> BrowserClient:
    site_key = create_site(shared_service)
    shared_service.operator.put(f"/v1/admin/sites/{site_key}/rules", json={"ruleSet": CHALLENGE_ODD})
    shared_service.run(shared_service.application.refresher.refresh())
    return BrowserClient(shared_service, site_key)


def analytics(page: BrowserClient) -> dict[str, Any]:
    """Return the site's analytics once all that was counted is written."""
    settle(page.service.application.recorder)
    page.service.clock.advance(seconds=1)
    found: dict[str, Any] = page.service.operator.get(f"/v1/admin/sites/{page.site_key}/analytics").json()
    return found


def settle(recorder: Any) -> None:
    while recorder.waiting or recorder._counts:
        time.sleep(0.02)
    # The write that emptied the buffer may still be under way.
    time.sleep(0.1)


def decisions(page: BrowserClient) -> list[dict[str, Any]]:
    analytics(page)
    reply = page.service.operator.get("/v1/admin/decisions", params={"siteKey": page.site_key})
    found: list[dict[str, Any]] = reply.json()["items"]
    return found


def test_what_an_ordinary_visitor_sends_looks_ordinary(page: BrowserClient) -> None:
    verified = page.verify(page.challenge().json()).json()

    decision = decision_of(page.service, page.site_key, verified["decisionId"])

    # The address of the loopback proxy's client is a made-up one; headers and evidence say nothing odd.
    labels = [label for label in decision["labels"] if not label.startswith("net.")]
    assert labels == ["browser.evidence", "probes.right", "ua.browser"]


def test_a_challenge_and_its_end_are_two_events_of_one_visitor(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    page.service.clock.advance(seconds=2)
    verified = page.verify(challenge).json()

    passed, issued = decisions(page)

    assert (passed["id"], passed["kind"], passed["status"]) == (verified["decisionId"], "challenge", 200)
    assert (issued["kind"], issued["status"], issued["action"]) == ("challenge", 200, "login")
    assert passed["visitorId"] == issued["visitorId"]
    assert "browser.evidence" not in issued["labels"]
    found = analytics(page)["challenges"]
    assert (found["issued"], found["passed"], found["failed"], found["abandoned"]) == (1, 1, 0, 0)
    assert found["medianSolveMs"] == 2000


@pytest.mark.parametrize(
    ("change", "label"),
    [({"instrument": {"page": "x"}}, "browser.instrument_failed"), ({"signals": DRIVEN}, "browser.webdriver")],
)
def test_a_failure_is_recorded_with_what_led_to_it(page: BrowserClient, change: dict[str, Any], label: str) -> None:
    refused = page.verify(page.challenge().json(), **change).json()

    decision = decision_of(page.service, page.site_key, refused["decisionId"])

    assert decision["status"] == 403
    assert decision["outcome"] in {"challenge", "block"}
    assert label in decision["labels"]
    found = analytics(page)["challenges"]
    assert (found["issued"], found["passed"], found["failed"]) == (1, 0, 1)
    assert found["solveTypes"] == {"invisible": 0, "managed": 0, "interactive": 0, "step_up": 0}


def test_a_step_up_is_neither_passed_nor_failed(page: BrowserClient) -> None:
    page.verify(page.challenge().json(), signals=ODD)

    found = analytics(page)["challenges"]

    assert (found["issued"], found["passed"], found["failed"], found["abandoned"]) == (1, 0, 0, 1)


def test_the_ways_of_solving_are_distinguished(page: BrowserClient) -> None:
    for widget in ("invisible", "managed", "managed"):
        page.verify(page.challenge(widget=widget).json())
    for fields, signals in (({"widget": "interactive"}, SIGNALS), ({"widget": "managed"}, ODD)):
        challenge = page.challenge(**fields).json()
        step_up = page.verify(challenge, signals=signals).json()["stepUp"]
        page.service.clock.advance(ms=WAIT_MS)
        assert page.verify(challenge, signals=signals, answer=page.answer(step_up)).status_code == 200

    found = analytics(page)

    assert found["challenges"]["solveTypes"] == {"invisible": 1, "managed": 2, "interactive": 1, "step_up": 1}
    assert found["siteverify"]["tokensIssued"] == 5


def test_rejected_origins_are_counted_where_the_owner_looks_for_them(page: BrowserClient) -> None:
    mine = page.origin
    for origin in ("https://stage.shop.example", "HTTPS://stage.shop.example:443", "null", None, "nonsense"):
        page.origin = origin
        assert page.challenge().json()["error"] == "origin_denied"
    page.origin = mine
    challenge_id = page.challenge().json()["challengeId"]
    page.origin = "https://evil.example"
    assert page.instrument(challenge_id).json()["error"] == "origin_denied"

    assert analytics(page)["origins"]["refused"] == [
        {"origin": "https://stage.shop.example", "count": 2},
        {"origin": "https://evil.example", "count": 1},
        {"origin": "null", "count": 1},
    ]


def test_features_are_captured_of_challenges_as_well(page: BrowserClient) -> None:
    url = f"/v1/admin/sites/{page.site_key}/feature-capture"
    saved = page.service.operator.put(url, json={"enabled": True, "retentionDays": 7})
    assert saved.status_code == 200, saved.text
    page.service.run(page.service.application.refresher.refresh())

    verified = page.verify(page.challenge().json()).json()

    decision_of(page.service, page.site_key, verified["decisionId"])
    view = page.service.application.refresher.sites.find(page.site_key)
    decision = read_id(verified["decisionId"])
    assert view is not None
    assert decision is not None
    event = page.service.run(page.service.application.stores.evidence.find_event(view.number, decision))
    assert event is not None
    assert event.features is not None
    assert event.features["browser.evidence"] == 1.0


def claims_of(page: BrowserClient, token: str) -> Any:
    return read_receipt(token, page.service.application.signing_keys).claims


def test_the_key_that_always_passes_gives_a_test_token_to_anyone(shared_service: RunningService) -> None:
    page = BrowserClient(shared_service, ALWAYS_PASS, action="anything", origin="http://localhost:3000")

    verified = page.verify(page.challenge().json(), signals=DRIVEN, work=[0] * 16, instrument={"page": "?"}).json()

    claims = claims_of(page, verified["token"])
    assert (claims.test, claims.aud, claims.action, claims.origin) == (True, ALWAYS_PASS, "anything", page.origin)


def test_the_key_that_always_fails_does(shared_service: RunningService) -> None:
    page = BrowserClient(shared_service, ALWAYS_FAIL, action="test")

    reply = page.verify(page.challenge().json())

    assert (reply.status_code, reply.json()["error"]) == (403, "challenge_failed")


def test_the_interactive_key_requires_the_interactive_challenge_anyone_who_comes(
    shared_service: RunningService,
) -> None:
    page = BrowserClient(shared_service, INTERACTIVE, action="test")
    challenge = page.challenge(widget="invisible").json()

    assert challenge["show"] is True
    assert page.verify(challenge, signals=DRIVEN).json()["status"] == "step_up"
    shared_service.clock.advance(ms=WAIT_MS)
    passed = page.verify(challenge, signals=DRIVEN, answer=page.answer(challenge["stepUp"])).json()
    assert claims_of(page, passed["token"]).test is True


@pytest.mark.parametrize("key", [ALWAYS_PASS, ALWAYS_FAIL, INTERACTIVE])
def test_a_test_key_takes_any_valid_action_and_origin_and_no_other(shared_service: RunningService, key: str) -> None:
    page = BrowserClient(shared_service, key, action="Not Valid")
    assert page.challenge().json()["error"] == "action_invalid"
    page.action = "valid"
    for origin in (None, "null", "nonsense"):
        page.origin = origin
        assert page.challenge().json()["error"] == "origin_denied"


def test_nothing_of_a_test_key_is_recorded(shared_service: RunningService) -> None:
    recorder = shared_service.application.recorder
    settle(recorder)
    before = recorder.ledger()
    for key in (ALWAYS_PASS, ALWAYS_FAIL, INTERACTIVE):
        page = BrowserClient(shared_service, key)
        page.verify(page.challenge().json())
        page.origin = "null"
        page.challenge()

    assert recorder.ledger() == before
    assert not recorder._counts


@pytest.mark.parametrize("key", ["site_test_always_pass", "site_test_mine", "site_test_"])
def test_no_one_gets_a_site_with_a_test_key(shared_service: RunningService, key: str) -> None:
    reply = shared_service.operator.post("/v1/admin/sites", json={"name": "Mine", "siteKey": key})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_site")


@pytest.mark.parametrize("key", ["site_test_unknown", "site_test_", "SITE_TEST_ALWAYS_PASS"])
def test_a_test_key_that_there_is_not_is_invalid(shared_service: RunningService, key: str) -> None:
    assert BrowserClient(shared_service, key).challenge().json()["error"] == "site_invalid"
