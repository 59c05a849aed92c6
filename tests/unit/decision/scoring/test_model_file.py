"""Model files: which are accepted, and which are rejected with a message that gives the reason."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from agentgate.decision.scoring.model_file import MOST_DEPTH, MOST_NODES, ModelFile, check_model, read_model
from agentgate.lib.errors import Refused
from agentgate.lib.records import to_json
from tests.unit.decision.scoring.made_models import LEAF, STUMP, forest, forests, logistic, parsed


def deep(levels: int) -> dict[str, Any]:
    """Return a tree that goes right at every level."""
    size = 2 * levels + 1
    inner = range(0, size - 1, 2)
    return {
        "feature": [0 if node in inner else -1 for node in range(size)],
        "threshold": [0.5] * size,
        "left": [node + 1 if node in inner else -1 for node in range(size)],
        "right": [node + 2 if node in inner else -1 for node in range(size)],
        "value": [0.0] * size,
    }


def with_tree(**changes: Any) -> dict[str, Any]:
    return forest(trees=[STUMP | changes])


@pytest.mark.parametrize(
    "file",
    [
        logistic(),
        forest(),
        forest(trees=[deep(MOST_DEPTH)]),
        logistic(calibration={"type": "platt", "a": 1.5, "b": -0.2}),
        logistic(calibration={"type": "isotonic", "x": [0.1, 0.4], "y": [0.0, 1.0]}),
    ],
)
def test_a_sound_model_is_read_and_written_back_unchanged(file: dict[str, Any]) -> None:
    model = read_model(json.dumps(file))

    assert json.loads(to_json(model)) == file


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (logistic(features=["net.datacenter", "net.datacenter"]), "twice"),
        (logistic(features=["net.datacenter", "no.such.label"]), "no.such.label is not a feature"),
        (logistic(features=["net.datacenter", "model.bot.likely"]), "model.bot.likely is not a feature"),
        (logistic(features=["net.datacenter", "net.*"]), "is not a feature"),
        (logistic(weights=[1.0]), "one entry per feature: 2, not 1"),
        (logistic(weights=None), "has weights and no trees"),
        (logistic(trees=[LEAF]), "has weights and no trees"),
        (logistic(weights=[1e300, 1.0]), "weights: numbers must be finite"),
        (logistic(bias=-1e10), "bias: numbers must be finite"),
        (logistic(metadata={"x": "y" * 17_000}), "metadata may take at most 16 KiB"),
        (forest(trees=None), "has trees and no weights"),
        (forest(weights=[1.0, 2.0]), "has trees and no weights"),
        (forest(trees=[deep(MOST_DEPTH + 1)]), "at most 10 levels"),
        (forest(trees=[deep(10)] * (MOST_NODES // 21 + 1)), "trees"),
        (with_tree(value=[0.0, 1.0]), "one entry per node"),
        (forest(trees=[{part: [] for part in STUMP}]), "one entry per node"),
        (with_tree(feature=[2, -1, -1]), "names feature 2; use 0 to 1"),
        (with_tree(feature=[-2, -1, -1]), ">= -1"),
        (with_tree(left=[0, -1, -1]), "two later nodes"),
        (with_tree(right=[1, -1, -1]), "two later nodes"),
        (with_tree(right=[3, -1, -1]), "two later nodes"),
        (with_tree(right=[2, -1, 5]), "so its left and right must be -1"),
        (forest(trees=[{part: [*LEAF[part], *LEAF[part]] for part in LEAF}]), "child of no node"),
        (with_tree(threshold=[1e12, 0.0, 0.0]), "trees[0].threshold: numbers must be finite"),
        (logistic(calibration={"type": "platt", "a": 1e12, "b": 0.0}), "calibration"),
        (logistic(calibration={"type": "isotonic", "x": [0.1], "y": []}), "same length"),
        (logistic(calibration={"type": "isotonic", "x": [0.5, 0.5], "y": [0.0, 1.0]}), "x must rise"),
        (logistic(calibration={"type": "isotonic", "x": [0.1, 0.5], "y": [1.0, 0.0]}), "y must never fall"),
        (logistic(calibration={"type": "isotonic", "x": [0.1, 1.5], "y": [0.0, 1.0]}), "between 0 and 1"),
    ],
)
def test_a_model_that_could_not_score_is_rejected_with_the_reason(file: dict[str, Any], words: str) -> None:
    with pytest.raises((Refused, msgspec.ValidationError)) as refused:
        check_model(parsed(file))

    reason = refused.value.message if isinstance(refused.value, Refused) else str(refused.value)
    assert words in reason


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_a_finite_number_is_rejected(number: float) -> None:
    with pytest.raises(Refused) as refused:
        check_model(parsed(logistic(weights=[number, 1.0])))

    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": NaN}',
        json.dumps(logistic(version="")),
        json.dumps(logistic(version="with space")),
        json.dumps(logistic(version="v" * 65)),
        json.dumps(logistic(kind="other")),
        json.dumps(logistic(type="neural")),
        json.dumps(logistic(extra=1)),
        json.dumps(logistic(features=[], weights=[])),
        json.dumps(logistic(weights=["1", "2"])),
        json.dumps(logistic(metadata=[])),
        json.dumps(forest(trees=[{**STUMP, "code": "import os"}])),
        json.dumps(logistic()).replace("3.0", "1e999"),
    ],
)
def test_what_is_no_model_file_is_not_read(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_model(text)


@given(forests())
def test_every_well_formed_forest_passes(model: ModelFile) -> None:
    check_model(model)
