"""Training from the lab: thresholds, who is better, and the way through `agentgate train`."""

import json

import pytest

from agentgate.protection.scoring.model_file import read_model
from bench.adversaries import training
from bench.adversaries.personas import HELD_OUT, TUNING
from bench.adversaries.runner import Result
from bench.adversaries.training import Labelled


def model(weight, version="bot-test-1"):
    """A model that knows one label of robots."""
    file = {"version": version, "kind": "bot", "type": "logistic", "bias": -2.0, "metadata": {}}
    return read_model(json.dumps({**file, "features": ["input.robotic"], "weights": [weight]}))


def labelled(number, kind, half, *labels):
    evidence = {
        "time": "2026-11-17T11:00:00.000Z",
        "kind": "challenge",
        "labels": sorted({"browser.evidence", "ua.browser", *labels}),
        "visitorId": f"{number:016x}",
    }
    exported = {
        "decisionId": f"dec_{number:013d}",
        "label": "human" if kind == "person" else "bot",
        "source": "operator",
        "updatedAt": "2026-11-17T11:00:01.000Z",
        "evidence": evidence,
    }
    return Labelled(exported, Result(kind, "driver", "variant", half, 1))


@pytest.fixture
def decisions():
    """Twenty people and forty bots, of which a quarter shows nothing."""
    found = [labelled(number, "person", (TUNING, HELD_OUT)[number % 2]) for number in range(20)]
    for number in range(20, 60):
        shown = ["input.robotic"] if number % 4 else []
        found.append(labelled(number, "bot", (TUNING, HELD_OUT)[number // 4 % 2], *shown))
    return found


def test_the_threshold_is_the_lowest_without_a_person(decisions):
    tuning, held_out = training.halves_of(decisions)
    threshold = training.threshold_for(model(4.0), tuning)
    found = training.quality(model(4.0), held_out, threshold)

    # People score 0.12: the next step is above that.
    assert threshold == 0.15
    assert (found.people, found.people_found, found.bots, found.bots_found) == (10, 0, 20, 15)


def test_better_is_who_finds_more_and_no_person(decisions):
    assert training.is_better(model(4.0), model(0.0), decisions)
    assert not training.is_better(model(0.0), model(4.0), decisions)
    spoiled = [*decisions, labelled(99, "person", HELD_OUT, "input.robotic")]
    assert not training.is_better(model(4.0), model(0.0), spoiled)


def test_a_model_comes_out_of_the_products_own_command(decisions, tmp_path):
    made = training.train(decisions, tmp_path, "logistic")

    assert "input.robotic" in made.features
    page = training.report({"new": made}, decisions, {"samples": 3}, "it is better.")
    assert "**Result**: it is better." in page
    assert f"| new (`{made.version}`) | held-out |" in page
