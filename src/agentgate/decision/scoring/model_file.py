"""The model file: its shape, and everything that must hold before a model may score anything.

margin = bias + sum of weight * value (`logistic`), or bias + the value of the leaf that each tree leads to (`trees`).
A `logistic` model of content may have weights of text too: scale * sum of the pieces' weights / root of their number.
score = 1 / (1 + exp(-margin)), or what the calibration makes of it. A feature that is absent counts 0.
"""

import base64
import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.decision.scoring.features import is_feature
from agentgate.decision.scoring.text_pieces import BUCKETS
from agentgate.lib.enums import ModelKind, ModelType
from agentgate.lib.errors import Refused
from agentgate.lib.limits import MODEL_BODY_BYTES
from agentgate.lib.records import Input, json_decoder, to_json

MOST_FEATURES = 2_000
MOST_TREES = 500
MOST_DEPTH = 10
MOST_NODES = 20_000
MOST_POINTS = 1_000
MOST_METADATA_BYTES = 16 * 1024
# Far beyond any real weight, and so small that no sum of them is infinite.
LARGEST_NUMBER = 1e9
# The feature and the children of a leaf.
NONE = -1

NodeIndex = Annotated[int, Meta(ge=NONE, le=MOST_NODES)]
Version = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}\Z")]


class Tree(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tree as parallel arrays, one entry per node; node 0 is the root, and children follow their parent. A node with
    `feature` -1 is a leaf with a `value`; its `left` and `right` are -1. Any other node goes left
    when the feature's value is at most `threshold`, else right; `feature` is a position in the file's `features`.
    """

    feature: list[Annotated[int, Meta(ge=NONE, le=MOST_FEATURES)]]
    threshold: list[float]
    left: list[NodeIndex]
    right: list[NodeIndex]
    value: list[float]


class Platt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="platt"):
    """score = 1 / (1 + exp(-(a * margin + b)))."""

    a: float
    b: float


class Isotonic(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="isotonic"):
    """The uncalibrated score is interpolated linearly between the points (x, y)."""

    x: list[float]
    y: list[float]


class TextWeights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of hashed pieces of text, as base64 of one signed byte each; `scale` is the weight of one unit."""

    weights: str
    scale: float


class ModelFile(Input, frozen=True, kw_only=True):
    """A model: `weights` for `logistic`, `trees` for `trees`, never both."""

    version: Version
    kind: ModelKind
    type: ModelType
    features: Annotated[list[str], Meta(min_length=1, max_length=MOST_FEATURES)]
    bias: float
    metadata: dict[str, Any]
    weights: list[float] | UnsetType = UNSET
    trees: Annotated[list[Tree], Meta(min_length=1, max_length=MOST_TREES)] | UnsetType = UNSET
    calibration: Platt | Isotonic | UnsetType = UNSET
    text: TextWeights | UnsetType = UNSET


def read_model(text: str | bytes) -> ModelFile:
    """Read and check a stored or shipped file; raise `Refused` or msgspec's DecodeError if it cannot be used."""
    model: ModelFile = json_decoder(ModelFile).decode(text)
    check_model(model)
    return model


def check_model(model: ModelFile) -> None:
    """Reject a model that could not score every request with a finite number in bounded time."""
    _check_features(model.features)
    _check_numbers("bias", [model.bias])
    if model.type == ModelType.LOGISTIC:
        _check_weights(model)
    else:
        _check_trees(model)
    if not isinstance(model.text, UnsetType):
        _check_text(model, model.text)
    if isinstance(model.calibration, Platt):
        _check_numbers("calibration", [model.calibration.a, model.calibration.b])
    elif isinstance(model.calibration, Isotonic):
        _check_isotonic(model.calibration)
    if len(to_json(model.metadata)) > MOST_METADATA_BYTES:
        raise _refusal(f"metadata may take at most {MOST_METADATA_BYTES // 1024} KiB.")
    # Over HTTP the body is limited before; a file is not.
    if len(to_json(model)) > MODEL_BODY_BYTES:
        raise _refusal(f"The model is too large. Send at most {MODEL_BODY_BYTES // 1024} KiB.")


def _check_features(names: list[str]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise _refusal(f"features contains {twice[:100]} twice. Name each feature once.")
    for name in names:
        if not is_feature(name):
            raise _refusal(f"features: {name[:100]} is not a feature. Use known signal labels and measurements.")


def _check_weights(model: ModelFile) -> None:
    if isinstance(model.weights, UnsetType) or not isinstance(model.trees, UnsetType):
        raise _refusal("A model of type logistic has weights and no trees.")
    if len(model.weights) != len(model.features):
        raise _refusal(f"weights must have one entry per feature: {len(model.features)}, not {len(model.weights)}.")
    _check_numbers("weights", model.weights)


def _check_trees(model: ModelFile) -> None:
    if isinstance(model.trees, UnsetType) or not isinstance(model.weights, UnsetType):
        raise _refusal("A model of type trees has trees and no weights.")
    nodes = sum(len(tree.feature) for tree in model.trees)
    if nodes > MOST_NODES:
        raise _refusal(f"The trees may have at most {MOST_NODES} nodes together, not {nodes}.")
    for number, tree in enumerate(model.trees):
        _check_tree(f"trees[{number}]", tree, features=len(model.features))


def _check_text(model: ModelFile, text: TextWeights) -> None:
    if model.kind != ModelKind.CONTENT or model.type != ModelType.LOGISTIC:
        raise _refusal("Only a model of kind content and type logistic has text.")
    _check_numbers("text.scale", [text.scale])
    try:
        size = len(base64.b64decode(text.weights, validate=True))
    except ValueError:
        size = -1
    if size != BUCKETS:
        raise _refusal(f"text.weights must be base64 of {BUCKETS} bytes.")


def _check_tree(where: str, tree: Tree, *, features: int) -> None:
    size = len(tree.feature)
    if size == 0 or any(len(part) != size for part in (tree.threshold, tree.left, tree.right, tree.value)):
        raise _refusal(f"{where}: feature, threshold, left, right and value must have one entry per node, at least 1.")
    _check_numbers(f"{where}.threshold", tree.threshold)
    _check_numbers(f"{where}.value", tree.value)
    depths = [0] + [NONE] * (size - 1)
    for node, (feature, left, right) in enumerate(zip(tree.feature, tree.left, tree.right, strict=True)):
        if depths[node] == NONE:
            raise _refusal(f"{where}: node {node} is the child of no node before it.")
        if feature == NONE:
            if (left, right) != (NONE, NONE):
                raise _refusal(f"{where}: node {node} is a leaf, so its left and right must be -1.")
            continue
        if not 0 <= feature < features:
            raise _refusal(f"{where}: node {node} names feature {feature}; use 0 to {features - 1}, or -1 for a leaf.")
        _place_children(where, depths, node, children=(left, right))


def _place_children(where: str, depths: list[int], node: int, *, children: tuple[int, int]) -> None:
    # Children come after their parent, each with one parent only: so there is no cycle.
    for child in children:
        if not node < child < len(depths) or depths[child] != NONE:
            raise _refusal(f"{where}: the children of node {node} must be two later nodes that no other node leads to.")
        depths[child] = depths[node] + 1
    if depths[node] + 1 > MOST_DEPTH:
        raise _refusal(f"{where}: a tree may be at most {MOST_DEPTH} levels deep.")


def _check_isotonic(calibration: Isotonic) -> None:
    x, y = calibration.x, calibration.y
    if len(x) != len(y) or not 1 <= len(x) <= MOST_POINTS:
        raise _refusal(f"calibration: x and y must have the same length, 1 to {MOST_POINTS}.")
    if not all(0 <= number <= 1 for number in (*x, *y)):
        raise _refusal("calibration: x and y must be between 0 and 1.")
    if any(former >= latter for former, latter in pairwise(x)):
        raise _refusal("calibration: x must rise from one point to the next.")
    if any(former > latter for former, latter in pairwise(y)):
        raise _refusal("calibration: y must never fall from one point to the next.")


def _check_numbers(where: str, numbers: Iterable[float]) -> None:
    # The comparison is false for NaN, too.
    if not all(math.fabs(number) <= LARGEST_NUMBER for number in numbers):
        raise _refusal(f"{where}: numbers must be finite and at most {LARGEST_NUMBER:.0e} in size.")


def _refusal(message: str) -> Refused:
    return Refused("invalid_request", message)
