"""Terms: the requirements of one or several matches, in a form that can be compiled and reasoned about.

A request has labels, scores, and what predicates ask of it. Terms hold for it if all needed labels are present, none of
the excluded ones, at least one of each choice, every score is high enough, and predicates hold or fail as required.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgate.sites.rules.patterns.predicates import Predicate

PlainMatch = Mapping[str, Any]
# Path within the match, and the problem.
MatchProblem = tuple[tuple[str | int, ...], str]


@dataclass(frozen=True)
class Choice:
    """One of several: labels, or labels that start with one of several prefixes."""

    labels: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()


@dataclass
class Terms:
    """Filled by the conditions of a match, one after the other."""

    needed: set[str] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    choices: list[Choice] = field(default_factory=list)
    # Kind of model -> the least score.
    scores: dict[str, float] = field(default_factory=dict)
    # Predicates that must hold, and such that must not.
    holding: set[Predicate] = field(default_factory=set)
    failing: set[Predicate] = field(default_factory=set)


@dataclass(frozen=True)
class ConditionInput:
    """A request as conditions see it. `holds` returns whether a predicate does; None when that is unknown."""

    labels: frozenset[str]
    scores: Mapping[str, float]
    holds: Callable[[Predicate], bool | None]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One kind of requirement of a match."""

    # The keys that belong together. A match has the condition if it has one of the keys.
    keys: tuple[str, ...]
    doc: str
    # Problems of a match that has one of the keys.
    check: Callable[[PlainMatch], Iterator[MatchProblem]]
    # Adds a valid condition to the terms.
    compile: Callable[[PlainMatch, Terms], None]
    # Why a valid condition does not hold; None when it does, or when that is unknown.
    miss: Callable[[PlainMatch, ConditionInput], str | None]


def prefixes_of(label: str) -> Iterable[str]:
    """Return every prefix of whole dotted parts, the label itself included."""
    parts = label.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def has_prefix(label: str, prefixes: Iterable[str]) -> bool:
    """Return whether a label starts with one of the prefixes, in whole dotted parts."""
    return any(label == prefix or label.startswith(prefix + ".") for prefix in prefixes)
