"""Assistants in a person's browser: the site's setting, the person's press, and what an attacker makes of it."""

import sys
from typing import Any

import pytest

from agentgate.browser_check.budgets import PER_HOUR
from tests.support.browser_client import (
    DRIVEN,
    PRESS,
    BrowserClient,
    create_site,
    decision_of,
    new_address,
    second_press,
)
from tests.support.service import RunningService

FAILED = "challenge_failed"
LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
HEADLESS = {**DRIVEN, "headless": True}


def page_of(service: RunningService, setting: str, address: str | None = None) -> BrowserClient:
    return BrowserClient(service, create_site(service, assistants=setting), address=address)


def asked(page: BrowserClient, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    challenge = page.challenge().json()
    step_up = page.verify(challenge, signals=DRIVEN, **fields).json()["stepUp"]
    page.service.clock.advance(ms=step_up["waitMs"])
    return challenge, step_up


def answer(page: BrowserClient, challenge: dict[str, Any], step_up: dict[str, Any], **press: Any) -> dict[str, Any]:
    """Return a right solution whose presses have other statistics."""
    presses = [{**PRESS, **press}, {**second_press(step_up), **press}]
    given = page.answer(step_up, probes=page.probes_again(step_up, challenge["challengeId"]))
    given["steps"] = [{**step, "press": mine} for step, mine in zip(given["steps"], presses, strict=True)]
    return given


def test_a_site_that_blocks_assistants_asks_no_one(shared_service: RunningService) -> None:
    page = page_of(shared_service, "block")

    assert page.verify(page.challenge().json(), signals=DRIVEN).json()["error"] == FAILED


def test_a_new_site_challenges_assistants(shared_service: RunningService) -> None:
    body = {"name": "Shop", "allowedOrigins": ["https://shop.example"]}
    made = shared_service.operator.post("/v1/admin/sites", json=body).json()

    assert made["assistants"] == "challenge"


def test_the_person_of_an_assistant_reads_why_and_passes(shared_service: RunningService) -> None:
    page = page_of(shared_service, "challenge")
    challenge, step_up = asked(page)

    assert step_up["assistant"] is True
    passed = page.verify(challenge, signals=DRIVEN, answer=answer(page, challenge, step_up)).json()
    assert passed["status"] == "passed"
    assert "assistant.challenge" in decision_of(shared_service, page.site_key, passed["decisionId"])["labels"]


@pytest.mark.parametrize(
    "press",
    [
        # One jump to the center, pressed and released at once.
        {"moves": 1, "travelMs": 0, "holdMs": 1, "offX": 0, "offY": 0},
        # As a debugger sends it: the center, no time between press and release.
        {"holdMs": 2, "offX": 0.2, "offY": 0},
    ],
)
def test_an_assistant_that_presses_does_not_pass(shared_service: RunningService, press: dict[str, float]) -> None:
    page = page_of(shared_service, "challenge")
    challenge, step_up = asked(page)

    refused = page.verify(challenge, signals=DRIVEN, answer=answer(page, challenge, step_up, **press))
    assert refused.json()["error"] == FAILED


def test_presses_with_the_times_of_a_debugger_do_not_pass_on_linux(shared_service: RunningService) -> None:
    for off, expected in ((0, "passed"), (12, None)):
        page = page_of(shared_service, "challenge")
        signals = {**DRIVEN, "userAgent": LINUX, "platform": "Linux x86_64", "worker": {}, "frame": {}}
        named = {"User-Agent": LINUX, "sec-ch-ua-platform": '"Linux"'}
        challenge = page.post(
            "challenge", {"schema": 1, "siteKey": page.site_key, "action": page.action}, **named
        ).json()
        step_up = page.post("verify", page.solution(challenge, signals=signals), **named).json()["stepUp"]
        page.service.clock.advance(ms=step_up["waitMs"])
        solved = page.solution(challenge, signals=signals, answer=answer(page, challenge, step_up, off=off))
        assert page.post("verify", solved, **named).json().get("status") == expected


@pytest.mark.parametrize("setting", ["challenge", "allow"])
def test_a_headless_browser_stays_blocked(shared_service: RunningService, setting: str) -> None:
    page = page_of(shared_service, setting)

    assert page.verify(page.challenge().json(), signals=HEADLESS).json()["error"] == FAILED


def test_a_site_that_allows_assistants_lifts_no_budget(shared_service: RunningService) -> None:
    """An attacker sets the flag in a window: this is what `allow` is worth, for each address and hour."""
    address = new_address()
    page = page_of(shared_service, "allow", address)
    silent = 0
    for _ in range(PER_HOUR):
        # Below the limits of a minute.
        shared_service.clock.advance(ms=20_000)
        challenge = page.challenge().json()
        if challenge["work"]["algorithm"] != "SHA-256":
            break
        silent += page.verify(challenge, signals=DRIVEN).json()["status"] == "passed"
    sys.stdout.write(f"allow: {silent} tokens of one address in an hour at the usual difficulty\n")
    assert silent == PER_HOUR // 2


def test_the_sites_own_rules_and_overrides_win(shared_service: RunningService) -> None:
    page = page_of(shared_service, "allow")
    rules = {
        "version": "1",
        "rules": [{"name": "mine", "match": {"any_labels": ["browser.webdriver"]}, "action": "block"}],
        "default_action": "allow",
    }
    assert shared_service.operator.put(f"/v1/admin/sites/{page.site_key}/rules", json={"ruleSet": rules}).is_success
    shared_service.run(shared_service.application.refresher.refresh())

    assert page.verify(page.challenge().json(), signals=DRIVEN).json()["error"] == FAILED
