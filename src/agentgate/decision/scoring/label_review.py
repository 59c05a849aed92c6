"""Review of labels: which ones to look at again, the most doubtful first. Nothing is dropped; operators decide.

A label is doubtful if labels of other visitors, and of other users, predict the opposite, or if it is `human` and the
evidence contradicts that. The second holds even if an attacker set every label with a trait.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from math import exp, log

from msgspec import Struct

from agentgate.decision.scoring.directions import DECISIVE, FOR, direction_of
from agentgate.decision.scoring.features import SCORE_LABELS
from agentgate.decision.scoring.model_file import read_model
from agentgate.decision.scoring.models import shipped_model
from agentgate.decision.scoring.score import Scorer, make_scorer
from agentgate.decision.signals.families import families_of
from agentgate.lib.enums import ModelKind

# From this on a label is listed.
DOUBTFUL = 0.5
# How evidence alone contradicts a label `human`: one trait that the default rules challenge, or each other family.
CONTRADICTED, PER_FAMILY, CLEARED = 0.9, 0.35, 0.5
# Labels come together, so each missing one counts in part.
OF_ABSENT = 0.5
# Fewer labels of others than this of a class cannot judge a user's labels.
LEAST_OF_OTHERS = 20
# Rank of each label of a user by the share of doubtful ones, from so many labels on.
LEAST_OF_ACTOR, OF_ACTOR = 10, 0.2
_SMOOTHING = 0.5
_MOST_MARGIN = 30.0
REASONS = ("disagrees", "contradicts")


class ReviewedLabel(Struct, frozen=True, gc=False):
    """A label as the review sees it. `target` is 1 for what a model is to find."""

    decision: str
    target: int
    labels: tuple[str, ...]
    visitor: str
    actor: str
    source: str


class Suspect(Struct, frozen=True, gc=False):
    """A label to look at again. `score` is the prediction of the other labels: 1 is a bot."""

    decision: str
    doubt: float
    score: float
    reasons: tuple[str, ...]


class GroupShare(Struct, frozen=True, gc=False):
    """Labels of one user, or from one source, and how many of them are doubtful."""

    name: str
    labels: int
    doubtful: int


class Review(Struct, frozen=True):
    """Suspects, the most doubtful first, and their shares by user and by source."""

    labels: int
    suspects: tuple[Suspect, ...]
    actors: tuple[GroupShare, ...]
    sources: tuple[GroupShare, ...]


def review(items: Sequence[ReviewedLabel], scores: Sequence[float] | None = None) -> Review:
    """Rank labels; `scores` of a model that saw none of the visitor's labels count too."""
    predicted = predict(items)
    found = []
    for at, (item, by_others) in enumerate(zip(items, predicted, strict=True)):
        known = [by_others] if scores is None else [by_others, float(scores[at])]
        disagrees = max(abs(item.target - score) for score in known)
        contradicts = contradiction(item.labels) if item.target == 0 else 0.0
        doubt = max(disagrees, contradicts)
        if doubt >= DOUBTFUL:
            reasons = tuple(
                name for name, part in zip(REASONS, (disagrees, contradicts), strict=True) if part >= DOUBTFUL
            )
            score = max(known, key=lambda each: abs(item.target - each))
            found.append((doubt + 0.1 * (disagrees + contradicts), item, score, reasons, doubt))
    doubtful = {item.decision for _, item, *_ in found}
    actors = _shares((item.actor, item.decision in doubtful) for item in items)
    shares = {actor.name: actor.doubtful / actor.labels for actor in actors if actor.labels >= LEAST_OF_ACTOR}
    # Between equals, the one of which both are sure comes first, and the one of a user with more doubtful labels.
    found.sort(key=lambda each: (-each[0] - OF_ACTOR * shares.get(each[1].actor, 0.0), each[1].decision))
    return Review(
        labels=len(items),
        suspects=tuple(
            Suspect(item.decision, round(doubt, 4), round(score, 4), reasons)
            for _, item, score, reasons, doubt in found
        ),
        actors=actors,
        sources=_shares((item.source, item.decision in doubtful) for item in items),
    )


def contradiction(labels: Iterable[str]) -> float:
    """Return how strongly evidence contradicts `human`, 0 to 1: by rules of thumb, or by the packaged model.

    Neither depends on labels of this installation.
    """
    found = _features(labels)
    families = families_of(found - DECISIVE)
    strength = min(1.0, PER_FAMILY * len(families) + (CONTRADICTED if DECISIVE & found else 0.0))
    if any(direction_of(label) == FOR for label in found):
        strength *= CLEARED
    return max(strength, _packaged().score(tuple(sorted(found)), {}))


@cache
def _packaged() -> Scorer:
    model = shipped_model(ModelKind.BOT)
    assert model is not None, "the package has a bot model"
    return make_scorer(read_model(model.file))


def predict(items: Sequence[ReviewedLabel]) -> list[float]:
    """Return what the labels of others say of each: of other visitors, and of other users if these labeled enough."""
    everyone = _Counts(items)
    by_actor: dict[tuple[str, str], _Counts] = {}
    by_visitor: dict[str, list[ReviewedLabel]] = {}
    for item in items:
        by_visitor.setdefault(item.visitor, []).append(item)
    for key in {(item.actor, item.source) for item in items}:
        rest = _Counts(item for item in items if (item.actor, item.source) != key)
        if min(rest.totals) >= LEAST_OF_OTHERS:
            by_actor[key] = rest
    scores = []
    for item in items:
        counts = by_actor.get((item.actor, item.source), everyone)
        own = [each for each in by_visitor[item.visitor] if counts is everyone or each.actor != item.actor]
        scores.append(counts.score(item.labels, without=own))
    return scores


class _Counts:
    """How often each signal label is on decisions of both classes: naive Bayes that keeps to directions."""

    def __init__(self, items: Iterable[ReviewedLabel]) -> None:
        self._found: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self.totals = [0, 0]
        for item in items:
            self._found[item.target].update(_features(item.labels))
            self.totals[item.target] += 1
        known = sorted(self._found[0].keys() | self._found[1].keys())
        self._directions = {label: direction_of(label) for label in known}
        self._absent = {label: self._weights(label, (0, 0), self.totals)[1] for label in known}
        self._all_absent = sum(self._absent.values())

    def score(self, labels: Sequence[str], *, without: Sequence[ReviewedLabel]) -> float:
        """Return the probability of a bot by the counts without these items."""
        totals = list(self.totals)
        left_out: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for item in without:
            left_out[item.target].update(_features(item.labels))
            totals[item.target] -= 1
        present = _features(labels)
        margin = log((totals[1] + 1) / (totals[0] + 1)) + self._all_absent
        for label in sorted(present | left_out[0].keys() | left_out[1].keys()):
            weights = self._weights(label, (left_out[0][label], left_out[1][label]), totals)
            margin += weights[0 if label in present else 1] - self._absent.get(label, 0.0)
        return 1.0 / (1.0 + exp(-max(-_MOST_MARGIN, min(_MOST_MARGIN, margin))))

    def _weights(self, label: str, left_out: tuple[int, int], totals: Sequence[int]) -> tuple[float, float]:
        """Return what a label adds to the margin if it exists on a decision, and if it does not."""
        zeros, ones = self._found[0][label] - left_out[0], self._found[1][label] - left_out[1]
        if zeros + ones <= 0:
            return 0.0, 0.0
        of_people = (zeros + _SMOOTHING) / (totals[0] + 2 * _SMOOTHING)
        of_bots = (ones + _SMOOTHING) / (totals[1] + 2 * _SMOOTHING)
        there = log(of_bots / of_people)
        if there * self._directions[label] < 0:
            return 0.0, 0.0
        return there, OF_ABSENT * log((1 - of_bots) / (1 - of_people))


def _features(labels: Iterable[str]) -> set[str]:
    return {label for label in labels if not label.startswith(SCORE_LABELS)}


def _shares(pairs: Iterable[tuple[str, bool]]) -> tuple[GroupShare, ...]:
    totals: Counter[str] = Counter()
    doubtful: Counter[str] = Counter()
    for name, is_doubtful in pairs:
        totals[name] += 1
        doubtful[name] += is_doubtful
    shares = (GroupShare(name, totals[name], doubtful[name]) for name in totals)
    return tuple(sorted(shares, key=lambda share: (-share.doubtful / share.labels, share.name)))
