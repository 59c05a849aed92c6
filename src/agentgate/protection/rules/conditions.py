"""CONDITIONS: every condition that a match can have. Validation, compiling and explanations read this table.

A condition is one entry here and one case in tests/cases/rules. A match with no condition matches every request.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from agentgate.lib.enums import ModelKind
from agentgate.protection.rules.request_conditions import REQUEST_CONDITIONS, shown
from agentgate.protection.rules.terms import Choice, Condition, Match, Problem, Seen, Terms, has_prefix

LABEL_CHARACTERS = 100
_LABEL = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_-]*)+\Z")
_PREFIX = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_-]*)*\Z")
_KINDS = tuple(kind.value for kind in ModelKind)


def present(match: Match) -> Iterator[Condition]:
    """Return the conditions that a match has."""
    return (condition for condition in CONDITIONS if any(key in match for key in condition.keys))


def terms_of(matches: Sequence[Match]) -> Terms:
    """Return the terms of several valid matches together."""
    terms = Terms()
    for match in matches:
        for condition in present(match):
            condition.compile(match, terms)
    return terms


def miss(match: Match, seen: Seen) -> str | None:
    """Return the first reason why a valid match does not hold, or None when it does or may."""
    reasons = (condition.miss(match, seen) for condition in present(match))
    return next((reason for reason in reasons if reason is not None), None)


def known_keys() -> tuple[str, ...]:
    """Return every key that a match can have."""
    return tuple(key for condition in CONDITIONS for key in condition.keys)


def _list_check(key: str, pattern: re.Pattern[str], example: str) -> Callable[[Match], Iterator[Problem]]:
    def check(match: Match) -> Iterator[Problem]:
        values = match[key]
        if not isinstance(values, list) or not values:
            yield (key,), f"{key} must be a list with at least one entry, such as [{example}]; leave it out otherwise."
            return
        for index, value in enumerate(values):
            if not isinstance(value, str) or len(value) > LABEL_CHARACTERS or pattern.match(value) is None:
                yield (key, index), f"{shown(value)} must be lower-case words with dots between, such as {example}."

    return check


def _check_score(match: Match) -> Iterator[Problem]:
    kind, least = match.get("score"), match.get("min_score")
    if "score" not in match:
        yield ("min_score",), "min_score needs score beside it, which names the model: " + ", ".join(_KINDS) + "."
    elif not isinstance(kind, str) or kind not in _KINDS:
        yield ("score",), f"score must name a kind of model: {', '.join(_KINDS)}."
    if "min_score" not in match:
        yield ("score",), "score needs min_score beside it, a number from 0 to 1."
    elif isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
        yield ("min_score",), "min_score must be a number from 0 to 1."


def _compile_all(match: Match, terms: Terms) -> None:
    terms.needed.update(match["all_labels"])


def _compile_none(match: Match, terms: Terms) -> None:
    terms.excluded.update(match["none_labels"])


def _compile_any(match: Match, terms: Terms) -> None:
    terms.choices.append(Choice(labels=frozenset(match["any_labels"])))


def _compile_prefix(match: Match, terms: Terms) -> None:
    terms.choices.append(Choice(prefixes=frozenset(match["any_prefix"])))


def _compile_score(match: Match, terms: Terms) -> None:
    kind, least = match["score"], float(match["min_score"])
    terms.scores[kind] = max(least, terms.scores.get(kind, least))


def _miss_all(match: Match, seen: Seen) -> str | None:
    missing = [label for label in match["all_labels"] if label not in seen.labels]
    return f"{missing[0]} is missing" if missing else None


def _miss_none(match: Match, seen: Seen) -> str | None:
    found = [label for label in match["none_labels"] if label in seen.labels]
    return f"{found[0]} is there" if found else None


def _miss_any(match: Match, seen: Seen) -> str | None:
    return (
        None if seen.labels.intersection(match["any_labels"]) else f"none of {', '.join(match['any_labels'])} is there"
    )


def _miss_prefix(match: Match, seen: Seen) -> str | None:
    prefixes = match["any_prefix"]
    found = any(has_prefix(label, prefixes) for label in seen.labels)
    return None if found else f"no label starts with {' or '.join(prefixes)}"


def _miss_score(match: Match, seen: Seen) -> str | None:
    score = seen.scores.get(match["score"])
    if score is None:
        return f"there is no {match['score']} score"
    return None if score >= match["min_score"] else f"the {match['score']} score {score} is below {match['min_score']}"


CONDITIONS: tuple[Condition, ...] = (
    Condition(
        keys=("all_labels",),
        doc="Every one of these labels is there.",
        check=_list_check("all_labels", _LABEL, "net.datacenter"),
        compile=_compile_all,
        miss=_miss_all,
    ),
    Condition(
        keys=("any_labels",),
        doc="At least one of these labels is there.",
        check=_list_check("any_labels", _LABEL, "net.datacenter"),
        compile=_compile_any,
        miss=_miss_any,
    ),
    Condition(
        keys=("none_labels",),
        doc="Not one of these labels is there.",
        check=_list_check("none_labels", _LABEL, "net.datacenter"),
        compile=_compile_none,
        miss=_miss_none,
    ),
    Condition(
        keys=("any_prefix",),
        doc="At least one label starts with one of these, in whole dotted parts: `net.asn` matches `net.asn.64500`.",
        check=_list_check("any_prefix", _PREFIX, "net.country"),
        compile=_compile_prefix,
        miss=_miss_prefix,
    ),
    Condition(
        keys=("score", "min_score"),
        doc="The score of this kind of model (`agent`, `bot`, `content`) is there and at least `min_score`.",
        check=_check_score,
        compile=_compile_score,
        miss=_miss_score,
    ),
    *REQUEST_CONDITIONS,
)
