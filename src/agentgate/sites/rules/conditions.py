"""CONDITIONS: every condition that a match can have. Validation, compiling and explanations read this table.

A condition is one entry here and one case in tests/cases/rules. A match with no condition matches every request.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from agentgate.lib.enums import ModelKind
from agentgate.sites.rules.request_conditions import REQUEST_CONDITIONS, quoted
from agentgate.sites.rules.terms import (
    Choice,
    Condition,
    ConditionInput,
    MatchProblem,
    PlainMatch,
    Terms,
    has_prefix,
)

LABEL_CHARACTERS = 100
_LABEL = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_-]*)+\Z")
_PREFIX = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_-]*)*\Z")
_KINDS = tuple(kind.value for kind in ModelKind)


def present(match: PlainMatch) -> Iterator[Condition]:
    return (condition for condition in CONDITIONS if any(key in match for key in condition.keys))


def terms_of(matches: Sequence[PlainMatch]) -> Terms:
    """Return the terms of several valid matches together."""
    terms = Terms()
    for match in matches:
        for condition in present(match):
            condition.compile(match, terms)
    return terms


def unknown_keys(match: PlainMatch) -> tuple[str, ...]:
    """Return the keys of a match that are not conditions. A match with one matches nothing.

    A misspelled condition that was ignored would make its rule match every visitor.
    """
    known = known_keys()
    return tuple(key for key in match if key not in known)


def miss(match: PlainMatch, seen: ConditionInput) -> str | None:
    """Return the first reason why a valid match does not hold, or None when it does or may."""
    for key in unknown_keys(match):
        return f"{key[:40]} is not a condition"
    reasons = (condition.miss(match, seen) for condition in present(match))
    return next((reason for reason in reasons if reason is not None), None)


@cache
def known_keys() -> tuple[str, ...]:
    """Return every key that a match can have."""
    return tuple(key for condition in CONDITIONS for key in condition.keys)


def _of_labels(
    key: str,
    doc: str,
    compile_values: Callable[[list[str], Terms], None],
    find_miss: Callable[[list[str], ConditionInput], str | None],
    *,
    pattern: re.Pattern[str] = _LABEL,
    example: str = "net.datacenter",
) -> Condition:
    """Return a condition that is a list of labels or prefixes."""

    def check(match: PlainMatch) -> Iterator[MatchProblem]:
        values = match[key]
        if not isinstance(values, list) or not values:
            yield (key,), f"{key} must be a list with at least one entry, such as [{example}], or omitted."
            return
        for index, value in enumerate(values):
            if not isinstance(value, str) or len(value) > LABEL_CHARACTERS or pattern.match(value) is None:
                yield (key, index), f"{quoted(value)} must be lower-case words with dots between, such as {example}."

    return Condition(
        keys=(key,),
        doc=doc,
        check=check,
        compile=lambda match, terms: compile_values(match[key], terms),
        miss=lambda match, seen: find_miss(match[key], seen),
    )


def _check_score(match: PlainMatch) -> Iterator[MatchProblem]:
    kind, least = match.get("score"), match.get("min_score")
    if "score" not in match:
        yield ("min_score",), "min_score requires score, the kind of model:  " + ", ".join(_KINDS) + "."
    elif not isinstance(kind, str) or kind not in _KINDS:
        yield ("score",), f"score must be a kind of model: {', '.join(_KINDS)}."
    if "min_score" not in match:
        yield ("score",), "score requires min_score, a number from 0 to 1."
    elif isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
        yield ("min_score",), "min_score must be a number from 0 to 1."


def _compile_score(match: PlainMatch, terms: Terms) -> None:
    kind, least = match["score"], float(match["min_score"])
    terms.scores[kind] = max(least, terms.scores.get(kind, least))


def _miss_all(labels: list[str], seen: ConditionInput) -> str | None:
    return next((f"{label} is missing" for label in labels if label not in seen.labels), None)


def _miss_none(labels: list[str], seen: ConditionInput) -> str | None:
    return next((f"{label} is present" for label in labels if label in seen.labels), None)


def _miss_any(labels: list[str], seen: ConditionInput) -> str | None:
    return None if seen.labels.intersection(labels) else f"none of {', '.join(labels)} are present"


def _miss_prefix(prefixes: list[str], seen: ConditionInput) -> str | None:
    found = any(has_prefix(label, prefixes) for label in seen.labels)
    return None if found else f"no label starts with {' or '.join(prefixes)}"


def _miss_score(match: PlainMatch, seen: ConditionInput) -> str | None:
    score = seen.scores.get(match["score"])
    if score is None:
        return f"there is no {match['score']} score"
    return None if score >= match["min_score"] else f"the {match['score']} score {score} is below {match['min_score']}"


CONDITIONS: tuple[Condition, ...] = (
    _of_labels(
        "all_labels",
        "All of these labels are present.",
        lambda labels, terms: terms.needed.update(labels),
        _miss_all,
    ),
    _of_labels(
        "any_labels",
        "At least one of these labels is present.",
        lambda labels, terms: terms.choices.append(Choice(labels=frozenset(labels))),
        _miss_any,
    ),
    _of_labels(
        "none_labels",
        "None of these labels is present.",
        lambda labels, terms: terms.excluded.update(labels),
        _miss_none,
    ),
    _of_labels(
        "any_prefix",
        "At least one label starts with one of these, in whole dotted parts: `net.asn` matches `net.asn.64500`.",
        lambda prefixes, terms: terms.choices.append(Choice(prefixes=frozenset(prefixes))),
        _miss_prefix,
        pattern=_PREFIX,
        example="net.country",
    ),
    Condition(
        keys=("score", "min_score"),
        doc="The score of this kind of model (`agent`, `bot`, `content`) is at least `min_score`.",
        check=_check_score,
        compile=_compile_score,
        miss=_miss_score,
    ),
    *REQUEST_CONDITIONS,
)
