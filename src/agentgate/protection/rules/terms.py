"""Terms: what one or several matches ask for, in a form that can be compiled and reasoned about.

A request has labels and scores. Terms hold for it when all needed labels are there, none of the excluded ones, at least
one of each choice, and every score is high enough.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field


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


def prefixes_of(label: str) -> Iterable[str]:
    """Return every prefix of whole dotted parts, the label itself included."""
    parts = label.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def has_prefix(label: str, prefixes: Iterable[str]) -> bool:
    """Say whether a label starts with one of the prefixes, in whole dotted parts."""
    return any(label == prefix or label.startswith(prefix + ".") for prefix in prefixes)
