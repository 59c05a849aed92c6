"""Exported decision labels, read for training: from text to examples with a target. Needs no numeric library.

`unsure` is never used. A decision that occurs in the export twice counts once, with its latest label.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from agentgate.decision.scoring.label_review import Review, ReviewedLabel, review
from agentgate.decision.scoring.model_file import LARGEST_NUMBER
from agentgate.lib.enums import DecisionLabelValue, LabelSource, ModelKind
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record, convert

# The target of a label for each kind of model; labels that are not named give no target.
TARGETS: Mapping[ModelKind, Mapping[DecisionLabelValue, int]] = {
    ModelKind.BOT: {DecisionLabelValue.BOT: 1, DecisionLabelValue.HUMAN: 0},
    ModelKind.AGENT: {DecisionLabelValue.AGENT: 1, DecisionLabelValue.HUMAN: 0, DecisionLabelValue.BOT: 0},
    ModelKind.CONTENT: {DecisionLabelValue.BOT: 1, DecisionLabelValue.HUMAN: 0},
}
CONTENT_PREFIX = "content."
LEAST_PER_CLASS = 10
_BLANK = " \t\r\n"


class TrainingRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """Training is not possible. The message explains why and how to correct it."""


class LabeledEvidence(Record, frozen=True, kw_only=True):
    """The parts of a decision's evidence that training reads; the others are ignored."""

    time: Moment
    labels: tuple[str, ...]
    visitor_id: str | None = None
    scores: Mapping[str, float] | None = None
    features: Mapping[str, float] | None = None


class LabeledDecision(Record, frozen=True, kw_only=True):
    """What training reads of one exported decision label."""

    decision_id: str
    label: DecisionLabelValue
    source: LabelSource
    updated_at: Moment
    evidence: LabeledEvidence
    actor: str = ""

    @property
    def group(self) -> str:
        """What must not be split between learning and testing: all that one visitor did."""
        visitor = self.evidence.visitor_id
        return f"visitor {visitor}" if visitor else f"decision {self.decision_id}"


class Example(Struct, frozen=True, kw_only=True):
    """One decision with the target that the model is to learn."""

    decision: LabeledDecision
    target: int


def read_labels(text: str) -> list[LabeledDecision]:
    """Read label objects, or pages of them, one after the other; sorted by ID, so that their order is no matter."""
    latest: dict[str, LabeledDecision] = {}
    for line, document in _documents(text):
        for item in _items(line, document):
            decision = _decision(line, item)
            known = latest.get(decision.decision_id)
            if known is None or decision.updated_at >= known.updated_at:
                latest[decision.decision_id] = decision
    return [latest[key] for key in sorted(latest)]


def examples_for(kind: ModelKind, decisions: Sequence[LabeledDecision], *, least: int) -> list[Example]:
    """Choose the labels that have a target for a model kind; raise TrainingRefused for too few, or only one target."""
    targets = TARGETS[kind]
    examples = [
        Example(decision=decision, target=targets[decision.label])
        for decision in decisions
        if decision.label in targets and (kind is not ModelKind.CONTENT or has_content(decision))
    ]
    if len(examples) < least:
        raise TrainingRefused(
            f"{len(examples)} of {len(decisions)} labels can be used for kind {kind} ({_wanted(kind)}),"
            f" and at least {least} are needed; label more decisions, or lower --min-labels"
        )
    for target in (0, 1):
        found = sum(example.target == target for example in examples)
        if found < LEAST_PER_CLASS:
            names = " or ".join(sorted(label for label, meant in targets.items() if meant == target))
            raise TrainingRefused(
                f"only {found} usable label(s) are {names}; a model of kind {kind} needs at least {LEAST_PER_CLASS}"
                " of each class"
            )
    return examples


def has_content(decision: LabeledDecision) -> bool:
    """Whether content was inspected when this was decided: it has a score of it, or a label. Good texts have none."""
    scored = decision.evidence.scores or {}
    return ModelKind.CONTENT in scored or any(label.startswith(CONTENT_PREFIX) for label in decision.evidence.labels)


def _wanted(kind: ModelKind) -> str:
    words = " and ".join(sorted(TARGETS[kind]))
    return f"{words}, if content was inspected" if kind is ModelKind.CONTENT else words


def _documents(text: str) -> Iterator[tuple[int, Any]]:
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    text = text.removeprefix("\ufeff")
    position, line, counted = _skip_blank(text, 0), 1, 0
    while position < len(text):
        line, counted = line + text.count("\n", counted, position), position
        try:
            document, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            # What breaks off in one line is often noticed in the next.
            noticed = "" if error.lineno == line else f" (noticed in line {error.lineno})"
            raise TrainingRefused(f"line {line} is not JSON: {error.msg}{noticed}") from None
        except (ValueError, RecursionError) as error:
            raise TrainingRefused(f"line {line} is not JSON: {error}") from None
        yield line, document
        position = _skip_blank(text, end)


def _skip_blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _items(line: int, document: Any) -> list[Any]:
    if not isinstance(document, dict):
        raise TrainingRefused(f"line {line}: expected a label object or a page of labels, not {_shown(document)}")
    if "items" not in document:
        return [document]
    items = document["items"]
    if not isinstance(items, list):
        raise TrainingRefused(f"line {line}: `items` of a page must be an array of labels")
    return items


def _decision(line: int, item: Any) -> LabeledDecision:
    try:
        decision = convert(item, LabeledDecision)
    except msgspec.ValidationError as error:
        raise TrainingRefused(f"line {line} is not a decision label: {error}") from None
    for name, value in (decision.evidence.features or {}).items():
        if not math.fabs(value) <= LARGEST_NUMBER:
            raise TrainingRefused(
                f"line {line}: the measurement {name[:100]} must be at most {LARGEST_NUMBER:.0e} in size"
            )
    return decision


def _shown(document: Any) -> str:
    return {list: "an array", str: "text", bool: "true or false", type(None): "null"}.get(type(document), "a number")


Suspects = Review


def suspects_of(decisions: Sequence[LabeledDecision], scores: Iterable[float] | None, kind: ModelKind) -> Review:
    """Return the labels to review. Scores and decisions have the same order."""
    targets = TARGETS[kind]
    items = [
        ReviewedLabel(
            decision.decision_id,
            targets[decision.label],
            decision.evidence.labels,
            decision.group,
            decision.actor,
            decision.source,
        )
        for decision in decisions
    ]
    return review(items, None if scores is None else [float(score) for score in scores])
