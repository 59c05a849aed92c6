"""Scoring: the quick way gives what the plain description of a model gives, always a number from 0 to 1."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.decision.scoring import score
from agentgate.decision.scoring.features import feature_values
from agentgate.decision.scoring.model_file import ModelFile
from agentgate.decision.scoring.score import ModelView, TreeScorer, make_scorer
from agentgate.decision.signals.facts import Observation
from agentgate.lib.enums import ModelKind
from tests.unit.decision.scoring.made_models import (
    FIGURES,
    LEAF,
    SIGNALS,
    STUMP,
    forest,
    forests,
    logistic,
    parsed,
    walk,
)

CLOSE = 1.01e-4

observations = st.builds(
    lambda labels, numbers: Observation(labels=tuple(sorted(labels)), numbers=numbers),
    st.sets(st.sampled_from([*SIGNALS, "net.asn.64500", "ua.unknown"])),
    st.dictionaries(st.sampled_from(FIGURES), st.sampled_from([-1.0, 0.0, 0.5, 2.0, 7.5]) | st.floats(-60, 60)),
)


def sigmoid(margin: float) -> float:
    return 1 / (1 + math.exp(-max(min(margin, 500), -500)))


def scored(file: dict[str, Any], *labels: str, **numbers: float) -> float:
    return make_scorer(parsed(file)).score(labels, numbers)


@given(forests(), st.lists(observations, min_size=1, max_size=5))
def test_trees_score_as_a_walk_through_each_of_them(model: ModelFile, seen: list[Observation]) -> None:
    scorer = make_scorer(model)
    for observation in seen:
        values = feature_values(observation)
        margin = model.bias + sum(walk(tree, values) for tree in model.trees)

        for _ in ("computed", "remembered"):
            found = scorer.score(observation.labels, observation.numbers)
            assert abs(found - sigmoid(margin)) < CLOSE
            assert found == round(found, 4)


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), observations)
def test_a_logistic_model_scores_as_a_weighted_sum(weights: list[float], observation: Observation) -> None:
    features = [SIGNALS[0], SIGNALS[1], FIGURES[0]]
    values = feature_values(observation)
    margin = 0.5 + sum(weight * values.get(name, 0.0) for name, weight in zip(features, weights, strict=True))

    found = make_scorer(parsed(logistic(features=features, weights=weights, bias=0.5))).score(
        observation.labels, observation.numbers
    )

    assert abs(found - sigmoid(margin)) < CLOSE


def test_a_label_that_is_there_goes_right() -> None:
    assert scored(forest(trees=[STUMP], bias=0.0)) == round(sigmoid(-2), 4)
    assert scored(forest(trees=[STUMP], bias=0.0), "net.datacenter") == round(sigmoid(2), 4)


def test_a_figure_that_equals_the_threshold_goes_left() -> None:
    file = forest(features=[FIGURES[0]], trees=[{**STUMP, "threshold": [7.5, 0.0, 0.0]}], bias=0.0)

    assert scored(file, **{FIGURES[0]: 7.5}) == round(sigmoid(-2), 4)
    assert scored(file, **{FIGURES[0]: math.nextafter(7.5, 8)}) == round(sigmoid(2), 4)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e308])
@pytest.mark.parametrize("weight", [1e9, -1e9, 0.0])
def test_whatever_a_figure_is_the_score_lies_between_0_and_1(number: float, weight: float) -> None:
    file = logistic(features=[FIGURES[0]], weights=[weight])

    assert 0 <= scored(file, **{FIGURES[0]: number}) <= 1


def test_margins_beyond_all_measure_are_certain_and_do_not_overflow() -> None:
    assert scored(logistic(bias=1e9)) == 1.0
    assert scored(logistic(bias=-1e9)) == 0.0


def test_platt_calibration_bends_the_margin() -> None:
    file = logistic(calibration={"type": "platt", "a": 0.5, "b": 1.0})

    assert scored(file) == round(sigmoid(0.5 * -1.0 + 1.0), 4)


def test_isotonic_calibration_draws_straight_lines_between_its_points() -> None:
    file = forest(
        trees=[{**LEAF, "value": [0.0]}], bias=0.0, calibration={"type": "isotonic", "x": [0.4, 0.6], "y": [0.1, 0.9]}
    )

    assert scored(file) == 0.5
    assert scored({**file, "bias": -3.0}) == 0.1
    assert scored({**file, "bias": 3.0}) == 0.9


def test_a_full_memory_is_discarded_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "MOST_CACHED", 2)
    scorer = TreeScorer(parsed(forest(features=SIGNALS, trees=[STUMP])))
    seen = [(), ("net.datacenter",), ("net.tor", "net.datacenter")]

    first = [scorer.score(labels, {}) for labels in seen]

    assert [scorer.score(labels, {}) for labels in seen] == first


def test_five_hundred_equal_trees_are_compiled() -> None:
    file = forest(trees=[STUMP] * 500, bias=0.0)

    assert scored(file, "net.datacenter") == 1.0
    assert scored(file) == 0.0


def view_of(active: dict[str, Any], candidates: dict[str, Any] | None = None) -> ModelView:
    return ModelView(
        {ModelKind(kind): parsed(file) for kind, file in active.items()},
        {ModelKind(kind): parsed(file) for kind, file in (candidates or {}).items()},
    )


DATACENTER = Observation(labels=("net.datacenter",), numbers={})


def test_candidates_score_next_to_and_not_among_the_active_models() -> None:
    view = view_of({"bot": logistic()}, {"bot": forest(trees=[STUMP], bias=0.0)})

    found = view.score(DATACENTER, content=None)

    assert (found.values, found.versions) == ({"bot": 0.8808}, {"bot": "test-1"})
    assert (found.shadow_values, found.shadow_versions) == ({"bot": 0.8808}, {"bot": "trees-1"})


def test_the_content_model_scores_only_where_there_is_content() -> None:
    content = logistic(kind="content", version="c-1")
    view = view_of({"bot": logistic(), "content": content}, {"content": {**content, "version": "c-2"}})

    without, with_content = view.score(DATACENTER, content=None), view.score(DATACENTER, content="text")

    assert (set(without.values), without.shadow_versions) == ({"bot"}, {})
    assert set(with_content.values) == {"bot", "content"}
    assert with_content.versions == {"bot": "test-1", "content": "c-1"}
    assert with_content.shadow_versions == {"content": "c-2"}


def test_a_candidate_that_fails_touches_no_decision() -> None:
    view = view_of({"bot": logistic()}, {"bot": forest()})
    broken = Observation(labels=("net.datacenter",), numbers=None)  # type: ignore[arg-type]

    # The logistic model has no numeric features and never reads the numbers; the forest reads them and fails.
    file = forest(features=[FIGURES[0]], trees=[STUMP])
    failing = view_of({"bot": logistic()}, {"bot": file})

    assert failing.score(broken, content=None).values == view.score(DATACENTER, content=None).values
    assert failing.score(broken, content=None).shadow_values == {}
