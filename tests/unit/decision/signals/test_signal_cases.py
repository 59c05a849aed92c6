"""Requests as they come in real life, each with the labels it must get: the files of `tests/cases/signals`."""

import json
from pathlib import Path

import pytest

from agentgate.decision.signals.facts import Rates, RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted((Path(__file__).parents[3] / "cases/signals").glob("*.json"))
    for case in json.loads(path.read_text("utf-8"))
]


@pytest.fixture(scope="module")
def intel():
    return load_intel(None)


def facts_of(case):
    return RequestFacts(
        now_ms=0,
        method=case.get("method", "GET"),
        target="/",
        address=case["address"],
        headers=tuple((name, value) for name, value in case["headers"]),
        rates=Rates(**case.get("rates", {})),
    )


def test_there_are_many_cases():
    assert len(CASES) >= 100


@pytest.mark.parametrize("case", CASES)
def test_a_request_gets_its_labels(case, intel):
    observation = observe(facts_of(case), intel)

    assert list(observation.labels) == case["labels"]
    assert observation.claimed_agent == case.get("claimedAgent")
