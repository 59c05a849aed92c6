"""Training from the lab: thresholds, who is better, and the way through `agentgate train`."""

import json

import pytest

from agentgate.decision.scoring.model_file import read_model
from bench.adversaries import training
from bench.adversaries.personas import HELD_OUT, TUNING
from bench.adversaries.runner import Result
from bench.adversaries.training import Labeled

ROBOT = ("browser.debugger", "input.robotic")


def model(weight, *, bias=-6.0):
    """A model that knows two labels of robots, of which it needs both."""
    file = {"version": "bot-test-1", "kind": "bot", "type": "logistic", "bias": bias, "metadata": {}}
    return read_model(json.dumps({**file, "features": ROBOT, "weights": [weight, weight]}))


def labeled(number, kind, half, *labels):
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
    return Labeled(exported, Result(kind, "driver", "variant", half, 1))


@pytest.fixture
def decisions():
    """Twenty people and forty bots, of which a quarter shows nothing."""
    found = [labeled(number, "person", (TUNING, HELD_OUT)[number % 2]) for number in range(20)]
    for number in range(20, 60):
        shown = ROBOT if number % 4 else ()
        found.append(labeled(number, "bot", (TUNING, HELD_OUT)[number // 4 % 2], *shown))
    return found


def test_the_threshold_is_the_lowest_without_a_person(decisions):
    tuning, held_out = training.halves_of(decisions)
    threshold = training.threshold_for(model(4.5, bias=-2.0), tuning)
    found = training.quality(model(4.5, bias=-2.0), held_out, threshold)

    # People score 0.12: the next step is above that.
    assert threshold == 0.15
    assert (found.people, found.people_found, found.bots, found.bots_found) == (10, 0, 20, 15)


def test_better_is_who_finds_more_and_no_person(decisions):
    assert training.is_better(model(4.5), model(0.0), decisions)
    assert not training.is_better(model(0.0), model(4.5), decisions)
    spoiled = [*decisions, labeled(99, "person", HELD_OUT, *ROBOT)]
    assert not training.is_better(model(4.5), model(0.0), spoiled)


def test_one_label_alone_may_not_be_enough_and_no_known_program_may_be_lost(decisions):
    knowing = read_model(training.SHIPPED.read_bytes())

    assert not training.is_better(model(9.0), model(0.0), decisions)
    assert training.lost(model(4.5), model(0.0)) == []
    assert training.lost(model(4.5), knowing)
    assert not training.is_better(model(4.5), knowing, decisions)


def test_a_model_comes_out_of_the_products_own_command(decisions, tmp_path):
    made = training.train(decisions, tmp_path, "logistic")

    assert set(made.features) & set(ROBOT)
    compared = {"samples": 3, "agreement": 1.0, "wouldChange": {}, "perLabel": {}}
    page = training.report({"shipped": model(0.0), "new": made}, decisions, compared, "it is better.")
    assert "**Result**: it is better." in page
    assert f"| new (`{made.version}`) | held-out |" in page
