"""The interactive challenge: when it is required, how it is solved, and monitor mode, which never requires it."""

from typing import Any

import pytest

from agentgate.browser_check.probes.ticket import seal, unseal
from agentgate.browser_check.step_up import WAIT_MS, places_of
from agentgate.browser_check.tokens.clearance import Clearances
from agentgate.browser_check.work import WorkLevel, challenge_work, step_up_work
from agentgate.lib.enums import ClearanceLevel
from tests.support.browser_client import DRIVEN, SIGNALS, BrowserClient, create_site, decision_of
from tests.support.service import RunningService

# Challenged, not blocked, by rules of the site's own.
RULES = {
    "version": "1",
    "rules": [
        {"name": "no-plugins", "match": {"any_labels": ["browser.no_plugins"]}, "action": "challenge"},
        {"name": "driven", "match": {"any_labels": ["browser.webdriver"]}, "action": "challenge"},
        {"name": "no-screen", "match": {"any_labels": ["browser.no_screen"]}, "action": "block"},
    ],
    "default_action": "allow",
}
SEED = bytes(range(16))
ODD = {**SIGNALS, "plugins": 0}
BLOCKED = {**SIGNALS, "screen": {"width": 0, "height": 0, "outerWidth": 1, "outerHeight": 1}}
ACTIONS = {"login": {"browserRequired": True}, "search": {"browserRequired": False, "clearance": True}}


def site_with_rules(service: RunningService, **fields: Any) -> str:
    site_key = create_site(service, actions=ACTIONS, **fields)
    saved = service.operator.put(f"/v1/admin/sites/{site_key}/rules", json={"ruleSet": RULES})
    assert saved.status_code == 200, saved.text
    service.run(service.application.refresher.refresh())
    return site_key


@pytest.fixture(scope="module")
def site_key(shared_service: RunningService) -> str:
    return site_with_rules(shared_service)


@pytest.fixture(scope="module")
def monitored_key(shared_service: RunningService) -> str:
    return site_with_rules(shared_service, mode="monitor")


@pytest.fixture
def page(shared_service: RunningService, site_key: str) -> BrowserClient:
    return BrowserClient(shared_service, site_key)


def challenge_of(page: BrowserClient, **fields: Any) -> dict[str, Any]:
    """Return a challenge with the one seed whose puzzles are solved already: a step-up's take a second each time."""
    challenge: dict[str, Any] = page.challenge(**fields).json()
    challenge_id = challenge["challengeId"]
    ticket = unseal(challenge["probes"]["draw"], page.seed_of(challenge_id), challenge_id)
    assert ticket is not None
    challenge["probes"]["draw"] = seal(ticket, SEED, challenge_id)
    database = page.service.application.stores.databases["hot"]
    page.service.run(database.run("UPDATE challenge SET seed = $2 WHERE id = $1", challenge["challengeId"], SEED))
    challenge["work"]["salt"] = challenge_work(SEED, WorkLevel.USUAL).salt
    if "stepUp" in challenge:
        challenge["stepUp"]["work"]["salt"] = step_up_work(SEED, is_doubtful=False).salt
        challenge["stepUp"]["places"] = places_of(SEED)
    return challenge


def asked(page: BrowserClient) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a challenge that led to a step-up, and the step-up, after the required delay."""
    challenge = challenge_of(page)
    step_up = page.verify(challenge, signals=ODD).json()["stepUp"]
    page.service.clock.advance(ms=WAIT_MS)
    return challenge, step_up


def error_of(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]


FAILED = (403, "challenge_failed")


def test_a_challenged_visitor_gets_the_interactive_challenge(page: BrowserClient) -> None:
    challenge = page.challenge().json()

    reply = page.verify(challenge, signals=ODD).json()

    salt = reply["stepUp"]["work"]["salt"]
    assert salt != challenge["work"]["salt"]
    work = {"algorithm": "scrypt", "salt": salt, "count": 192, "bits": 11}
    assert reply == {
        "status": "step_up",
        "stepUp": {
            "kind": "confirm",
            "steps": 2,
            "waitMs": WAIT_MS,
            "work": work,
            "places": reply["stepUp"]["places"],
            "probes": reply["stepUp"]["probes"],
        },
        "attemptsLeft": 3,
    }


def test_a_right_response_passes(page: BrowserClient) -> None:
    challenge, step_up = asked(page)

    assert page.verify(challenge, signals=ODD, answer=page.answer(step_up)).json()["status"] == "passed"


def test_a_check_that_was_requested_is_not_discarded_when_the_evidence_gets_better(page: BrowserClient) -> None:
    challenge, step_up = asked(page)

    again = page.verify(challenge, signals=SIGNALS).json()

    assert (again["status"], again["attemptsLeft"]) == ("step_up", 2)
    assert {**again["stepUp"], "probes": step_up["probes"]} == step_up
    assert page.verify(challenge, signals=SIGNALS, answer=page.answer(step_up)).json()["status"] == "passed"


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": []},
        {"steps": [{"input": "pointer", "afterMs": 1000, "trusted": True}]},
        {"steps": [{"input": "pointer", "afterMs": WAIT_MS - 1, "trusted": True}] * 2},
        {"steps": [{"input": "keyboard", "afterMs": 1000, "trusted": False}] * 2},
        {"steps": [{"input": "pointer", "afterMs": 1000, "trusted": True}] * 3},
        {"steps": [{"input": "pointer", "afterMs": 1000, "trusted": True}] * 2},
        {"work": [0] * 192},
    ],
)
def test_a_wrong_response_fails(page: BrowserClient, wrong: dict[str, Any]) -> None:
    challenge, step_up = asked(page)

    reply = page.verify(challenge, signals=ODD, answer=page.answer(step_up, **wrong))

    assert error_of(reply) == FAILED
    assert "decisionId" in reply.json()
    # The challenge continues with another step-up, and its wait begins again.
    other = page.verify(challenge, signals=ODD).json()["stepUp"]
    assert other["work"]["salt"] != step_up["work"]["salt"]
    assert other["places"] != step_up["places"]
    page.service.clock.advance(ms=WAIT_MS)
    assert page.verify(challenge, signals=ODD, answer=page.answer(other)).json()["status"] == "passed"


def test_the_response_to_a_step_up_is_worth_nothing_after_a_wrong_response(page: BrowserClient) -> None:
    challenge, step_up = asked(page)
    assert error_of(page.verify(challenge, signals=ODD, answer=page.answer(step_up, steps=[]))) == FAILED
    page.service.clock.advance(ms=WAIT_MS)

    assert error_of(page.verify(challenge, signals=ODD, answer=page.answer(step_up))) == FAILED


def test_the_wait_begins_again_after_a_wrong_response(page: BrowserClient) -> None:
    challenge, step_up = asked(page)
    page.verify(challenge, signals=ODD, answer=page.answer(step_up, steps=[]))
    other = page.verify(challenge, signals=ODD).json()["stepUp"]

    assert error_of(page.verify(challenge, signals=ODD, answer=page.answer(other))) == FAILED


def test_a_response_before_the_time_has_passed_fails(page: BrowserClient) -> None:
    challenge = challenge_of(page)
    step_up = page.verify(challenge, signals=ODD).json()["stepUp"]
    page.service.clock.advance(ms=WAIT_MS - 1)

    assert error_of(page.verify(challenge, signals=ODD, answer=page.answer(step_up))) == FAILED


def test_asking_again_does_not_restart_the_delay(page: BrowserClient) -> None:
    challenge, step_up = asked(page)
    page.verify(challenge, signals=ODD)

    assert page.verify(challenge, signals=ODD, answer=page.answer(step_up)).json()["status"] == "passed"


def test_returning_another_number_of_solutions_is_a_bad_request(page: BrowserClient) -> None:
    challenge, step_up = asked(page)

    reply = page.verify(challenge, signals=ODD, answer=page.answer(step_up, work=[0] * 31))

    assert error_of(reply) == (400, "bad_request")


def test_the_work_of_the_challenge_is_needed_anyway(page: BrowserClient) -> None:
    challenge, step_up = asked(page)

    assert error_of(page.verify(challenge, work=[0] * 16, answer=page.answer(step_up))) == FAILED


def test_a_response_that_no_one_asked_for_is_not_a_response(page: BrowserClient) -> None:
    challenge = challenge_of(page)
    made_up = {"kind": "confirm", "steps": [{"input": "pointer", "afterMs": 1000, "trusted": True}] * 2, "work": []}

    assert page.verify(challenge, signals=ODD, answer=made_up).json()["status"] == "step_up"


def test_anyone_who_is_certainly_driven_by_a_program_does_not_pass_by_responding(page: BrowserClient) -> None:
    challenge, step_up = asked(page)

    assert error_of(page.verify(challenge, signals=DRIVEN, answer=page.answer(step_up))) == FAILED


@pytest.mark.parametrize(
    "missing", [{"signals": {}}, {"interaction": {}}, {"signals": {"userAgent": SIGNALS["userAgent"], "plugins": 0}}]
)
def test_missing_evidence_is_challenged_and_does_not_pass_by_responding(
    shared_service: RunningService, missing: dict[str, Any]
) -> None:
    page = BrowserClient(shared_service, create_site(shared_service))
    challenge = challenge_of(page)
    step_up = page.verify(challenge, **missing).json()["stepUp"]
    page.service.clock.advance(ms=WAIT_MS)

    assert error_of(page.verify(challenge, answer=page.answer(step_up), **missing)) == FAILED


def test_contradictions_are_rejected_and_one_of_them_is_not(shared_service: RunningService) -> None:
    page = BrowserClient(shared_service, create_site(shared_service))
    traits: dict[str, Any] = {"debugger": True, "patched": ["webdriver"], "frame": {"platform": "Linux x86_64"}}

    for name, value in traits.items():
        assert page.verify(challenge_of(page), signals={**SIGNALS, name: value}).json()["status"] == "passed"
    assert error_of(page.verify(challenge_of(page), signals={**SIGNALS, **traits})) == FAILED
    two = {**SIGNALS, **traits, "debugger": False}
    assert page.verify(challenge_of(page), signals=two).json()["status"] == "step_up"


@pytest.mark.parametrize("name", ["python-requests/2.32.3", "curl/8.5.0", "git/2.47.1", "Go-http-client/1.1"])
def test_a_program_by_its_own_name_gets_no_token(shared_service: RunningService, name: str) -> None:
    page = BrowserClient(shared_service, create_site(shared_service))
    challenge = challenge_of(page)
    body = page.solution(challenge, signals={**SIGNALS, "userAgent": name})

    replies = [page.post("verify", body, **{"User-Agent": name})]
    page.service.clock.advance(ms=WAIT_MS)
    step_up = {"waitMs": WAIT_MS, "places": places_of(SEED), "work": {**challenge["work"], "count": 32, "bits": 12}}
    step_up["work"]["salt"] = step_up_work(SEED, is_doubtful=False).salt
    replies.append(page.post("verify", {**body, "answer": page.answer(step_up)}, **{"User-Agent": name}))

    assert [error_of(reply) for reply in replies] == [FAILED, FAILED]


def test_anyone_who_is_blocked_is_not_asked(page: BrowserClient) -> None:
    challenge, step_up = asked(page)

    assert error_of(page.verify(challenge_of(page), signals=BLOCKED)) == FAILED
    assert error_of(page.verify(challenge, signals=BLOCKED, answer=page.answer(step_up))) == FAILED


def test_a_check_that_can_no_longer_be_handled_is_not_shown(page: BrowserClient) -> None:
    challenge = challenge_of(page)
    left = [page.verify(challenge, signals=ODD).json()["attemptsLeft"] for _ in range(3)]

    assert left == [3, 2, 1]
    assert error_of(page.verify(challenge, signals=ODD)) == FAILED
    assert error_of(page.verify(challenge, signals=ODD)) == (429, "too_many_attempts")


def test_a_clearance_shows_whether_a_person_has_handled(page: BrowserClient) -> None:
    page.action = "search"
    clearances = Clearances(page.service.application.keyring, 1800)
    challenge, step_up = asked(page)
    answered = page.verify(challenge, signals=ODD, answer=page.answer(step_up)).json()["clearance"]
    checked = page.verify(challenge_of(page)).json()["clearance"]

    now_ms = page.service.clock.now_ms()
    levels = [
        clearances.read(each["value"], site_key=page.site_key, now_ms=now_ms).level for each in (answered, checked)
    ]

    assert levels == [ClearanceLevel.STEP_UP, ClearanceLevel.CHECKED]


def interactive(challenge: dict[str, Any]) -> bool:
    assert ("stepUp" in challenge) == challenge["show"]
    return bool(challenge["show"])


@pytest.mark.parametrize(
    ("of_site", "asked_for", "show"),
    [
        ("invisible", None, False),
        ("invisible", "invisible", False),
        ("invisible", "managed", False),
        ("invisible", "interactive", True),
        ("managed", None, False),
        ("managed", "invisible", False),
        ("managed", "interactive", True),
        ("interactive", None, True),
        ("interactive", "invisible", True),
        ("interactive", "managed", True),
    ],
)
def test_a_page_may_ask_for_more_than_its_site_and_not_for_less(
    shared_service: RunningService, of_site: str, asked_for: str | None, show: bool
) -> None:
    page = BrowserClient(shared_service, create_site(shared_service, widgetMode=of_site))

    challenge = page.challenge(**{} if asked_for is None else {"widget": asked_for}).json()

    assert interactive(challenge) is show


def test_an_interactive_check_needs_its_response(page: BrowserClient) -> None:
    challenge = challenge_of(page, widget="interactive")
    assert page.verify(challenge).json()["status"] == "step_up"
    page.service.clock.advance(ms=WAIT_MS)

    passed = page.verify(challenge, answer=page.answer(challenge["stepUp"])).json()

    assert passed["status"] == "passed"
    assert decision_of(page.service, page.site_key, passed["decisionId"])["status"] == 200


@pytest.mark.parametrize(
    ("change", "would"),
    [
        ({}, None),
        ({"signals": ODD}, "challenge"),
        ({"signals": BLOCKED}, "block"),
        ({"work": [0] * 16}, "challenge"),
        ({"instrument": {"page": "x"}}, "challenge"),
        ({"signals": BLOCKED, "work": [0] * 16}, "block"),
    ],
)
def test_monitor_mode_lets_everyone_pass_and_records_what_would_have_been(
    shared_service: RunningService, monitored_key: str, change: dict[str, Any], would: str | None
) -> None:
    page = BrowserClient(shared_service, monitored_key)

    verified = page.verify(challenge_of(page), **change).json()

    assert verified["status"] == "passed"
    decision = decision_of(shared_service, monitored_key, verified["decisionId"])
    assert decision["outcome"] == "allow"
    assert decision.get("wouldDecision") == would


def test_monitor_mode_asks_no_one_for_more_proof_of_work(shared_service: RunningService, monitored_key: str) -> None:
    page = BrowserClient(shared_service, monitored_key)
    body = {"schema": 1, "siteKey": monitored_key, "action": "login"}

    assert page.post("challenge", body, **{"User-Agent": "HeadlessChrome/142"}).json()["work"]["bits"] == 10


def test_monitor_mode_does_not_need_a_response(shared_service: RunningService, monitored_key: str) -> None:
    page = BrowserClient(shared_service, monitored_key)
    challenge = challenge_of(page, widget="interactive")

    verified = page.verify(challenge).json()

    assert challenge["show"] is True
    assert verified["status"] == "passed"
    assert decision_of(shared_service, monitored_key, verified["decisionId"])["wouldDecision"] == "challenge"


def test_monitor_mode_gives_one_token_for_one_challenge_as_well(
    shared_service: RunningService, monitored_key: str
) -> None:
    page = BrowserClient(shared_service, monitored_key)
    challenge = challenge_of(page)
    page.verify(challenge)

    assert error_of(page.verify(challenge)) == (409, "challenge_used")
