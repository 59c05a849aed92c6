"""Models for tests: small ones by hand, and any that could be installed."""

from typing import Any

from hypothesis import strategies as st

from agentgate.decision.scoring.model_file import ModelFile, Tree
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import ModelKind, ModelType
from agentgate.lib.records import convert

SIGNALS = ["net.datacenter", "net.tor", "agent.claimed", "agent.verified", "net.country.de"]
FIGURES = sorted(NUMBERS)[:3]
FEATURES = [*SIGNALS, *FIGURES]
LEAF = {"feature": [-1], "threshold": [0.0], "left": [-1], "right": [-1], "value": [0.5]}
# One question about the first feature: no -> -2, yes -> 2.
STUMP = {
    "feature": [0, -1, -1],
    "threshold": [0.5, 0.0, 0.0],
    "left": [1, -1, -1],
    "right": [2, -1, -1],
    "value": [0.0, -2.0, 2.0],
}


def logistic(**changes: Any) -> dict[str, Any]:
    """Return a model file with a high score for data centers."""
    usual = {
        "version": "test-1",
        "kind": "bot",
        "type": "logistic",
        "features": ["net.datacenter", "agent.verified"],
        "weights": [3.0, -4.0],
        "bias": -1.0,
        "metadata": {"note": "by hand"},
    }
    return {name: value for name, value in (usual | changes).items() if value is not None}


def forest(**changes: Any) -> dict[str, Any]:
    """Return a model file with two trees."""
    usual = logistic(version="trees-1", type="trees", weights=None, trees=[STUMP, LEAF])
    return {name: value for name, value in (usual | changes).items() if value is not None}


def parsed(file: dict[str, Any]) -> ModelFile:
    """Return a model file as the service reads it."""
    return convert(file, ModelFile)


numbers = st.floats(-50, 50, allow_nan=False).map(lambda number: round(number, 2))
# Values between 0 and 1, where labels are, values outside, and values of numeric features.
thresholds = st.sampled_from([-1.0, 0.0, 0.5, 0.999, 1.0, 2.0, 7.5]) | numbers


@st.composite
def trees(draw: st.DrawFn, depth: int = 4) -> Tree:
    """Draw a tree as parallel arrays, children behind their parents."""
    rows: list[list[Any]] = []

    def grow(levels: int) -> int:
        node = len(rows)
        rows.append([-1, 0.0, -1, -1, draw(numbers)])
        if levels and draw(st.booleans()):
            rows[node][:2] = [draw(st.integers(0, len(FEATURES) - 1)), draw(thresholds)]
            rows[node][2] = grow(levels - 1)
            rows[node][3] = grow(levels - 1)
        return node

    grow(depth)
    feature, threshold, left, right, value = (list(column) for column in zip(*rows, strict=True))
    return Tree(feature=feature, threshold=threshold, left=left, right=right, value=value)


@st.composite
def forests(draw: st.DrawFn) -> ModelFile:
    """Draw a model of up to eight trees."""
    return ModelFile(
        version="drawn",
        kind=ModelKind.BOT,
        type=ModelType.TREES,
        features=FEATURES,
        bias=draw(numbers),
        metadata={},
        trees=draw(st.lists(trees(), min_size=1, max_size=8)),
    )


def walk(tree: Tree, values: dict[str, float]) -> float:
    """Follow a tree node by node, as the format is specified."""
    node = 0
    while tree.feature[node] != -1:
        value = values.get(FEATURES[tree.feature[node]], 0.0)
        node = tree.left[node] if value <= tree.threshold[node] else tree.right[node]
    return tree.value[node]
