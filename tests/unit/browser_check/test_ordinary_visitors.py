"""Ordinary browsers under the rules and models that the service comes with: none gets another challenge.

The headers are those that Chromium and Firefox really send with the SDK's calls: `tests/cases/signals/sdk.json`.
"""

import json
from pathlib import Path

import msgspec
import pytest

from agentgate.decision.engine import Views, decide
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.threat_data.intel import load_intel
from agentgate.lib.enums import Mode, Outcome
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_of
from tests.support.browser_client import INTERACTION, SIGNALS
from tests.unit.decision.decided_site import site

CASES = [
    pytest.param(case, id=case["name"])
    for case in json.loads((Path(__file__).parents[2] / "cases/signals/sdk.json").read_text("utf-8"))
    if "without a window" not in case["name"]
]
NO_PERSON_YET = {**dict.fromkeys(INTERACTION, 0), "durationMs": 400}
BY_KEYBOARD = {**NO_PERSON_YET, "keys": 24, "durationMs": 9_000, "variation": 0.6}
BY_TOUCH = {**NO_PERSON_YET, "touches": 3, "scrolls": 9, "durationMs": 4_000, "variation": 0.9}


@pytest.fixture(scope="module")
def intel():
    return load_intel(None)


@pytest.fixture(scope="module")
def shop():
    """Return a site in enforce mode with the default rules."""
    return msgspec.structs.replace(site(mode=Mode.ENFORCE), rules=compile_rules(effective_of(None)))


def evidence_of(headers, interaction):
    sent = dict(headers)
    facts = {
        "userAgent": sent["user-agent"],
        "platform": "Linux x86_64",
        "language": "en-US",
        "hardwareConcurrency": 8,
        "timezone": "Europe/Berlin",
    }
    renderer = "Mesa Intel(R) UHD Graphics 620 (KBL GT2)"
    signals = {**SIGNALS, **facts, "worker": facts, "frame": facts, "languages": ["en-US", "en"], "renderer": renderer}
    return {
        "signals": {**signals, "secureContext": "sec-fetch-site" in sent},
        "interaction": interaction,
        "instrument": "passed",
    }


@pytest.mark.parametrize("interaction", [INTERACTION, NO_PERSON_YET, BY_KEYBOARD, BY_TOUCH])
@pytest.mark.parametrize("case", CASES)
def test_an_ordinary_browser_passes(case, interaction, intel, shop):
    facts = RequestFacts(
        now_ms=0,
        method=case["method"],
        target="/v1/browser/verify",
        address=case["address"],
        headers=tuple((name, value) for name, value in case["headers"]),
        action="login",
        evidence=evidence_of(case["headers"], interaction),
        is_plain="plain HTTP" in case["name"],
    )

    decision = decide(facts, shop, Views(intel, ModelDirectory().view))

    assert decision.outcome is Outcome.ALLOW
    assert [label for label in decision.labels if label.startswith("browser.")] == ["browser.evidence"]


@pytest.mark.parametrize("case", CASES)
def test_no_one_must_give_more_proof_of_work_before_there_is_evidence(case, intel, shop):
    facts = RequestFacts(
        now_ms=0,
        method="POST",
        target="/v1/browser/challenge",
        address=case["address"],
        headers=tuple((name, value) for name, value in case["headers"]),
        action="login",
        is_plain="plain HTTP" in case["name"],
    )

    assert decide(facts, shop, Views(intel, ModelDirectory().view)).outcome is Outcome.ALLOW
