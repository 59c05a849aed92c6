"""RobotsRules: which crawlers a site's own robots.txt disallows on a path (RFC 9309, pure).

A crawler follows the groups of its name, else of `*`. The longest matching rule decides; Allow wins a tie.
"""

import re
from collections.abc import Collection
from urllib.parse import quote, unquote

from msgspec import Struct

ANYONE = "*"
MOST_RULES = 1_000
# Longer targets are compared by their beginning.
LONGEST_TARGET = 2_048
_KEPT = "/?#[]@!$&'()*+,;=:%-._~"
# Text that quoting leaves as it is.
_AS_IT_IS = re.compile(r"[A-Za-z0-9/?#\[\]@!$&'()*+,;=:._~-]*\Z", re.ASCII)


class RobotsVerdict(Struct, frozen=True):
    """Names in lower case whose groups disallow a target, allow it by a rule, or have rules at all."""

    disallowed: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def disallows(self, name: str, *, is_closed: bool) -> bool:
        """Return whether a crawler may not read the target. `is_closed`: the site's AI use closes the crawler's use."""
        if is_closed:
            # The file that AgentGate writes has a group of the crawler's name: `*` does not apply.
            return name not in self.allowed
        return (name if name in self.named else ANYONE) in self.disallowed


_Rule = tuple[tuple[str, ...], bool, int, bool]


class RobotsRules:
    """A parsed robots.txt."""

    def __init__(self, text: str) -> None:
        # Names share a group: 1,000 names with 1,000 rules are 1,000 comparisons.
        self._groups: list[list[_Rule]] = []
        self._groups_of: dict[str, list[int]] = {}
        is_open, count = False, 0
        for line in text.splitlines():
            key, _, value = line.partition("#")[0].partition(":")
            key, value = key.strip().lower(), value.strip()
            if key == "user-agent":
                if not is_open:
                    self._groups.append([])
                    is_open = True
                self._groups_of.setdefault(value.lower(), []).append(len(self._groups) - 1)
            elif key in {"allow", "disallow"}:
                is_open = False
                if value and self._groups and count < MOST_RULES:
                    count += 1
                    self._groups[-1].append(_rule(value, allows=key == "allow"))
        self._named = frozenset(self._groups_of)

    def judge(self, target: str) -> RobotsVerdict | None:
        """Return the verdict about a target of a request; None for the file itself, which all crawlers may read."""
        path = _normal(target[:LONGEST_TARGET])
        if path == "/robots.txt":
            return None
        longest = [_longest(rules, path) for rules in self._groups]
        verdicts = {
            name: max(found)[1]
            for name, groups in self._groups_of.items()
            if (found := [match for group in groups if (match := longest[group]) is not None])
        }
        disallowed = frozenset(name for name, allows in verdicts.items() if not allows)
        return RobotsVerdict(disallowed, frozenset(name for name, allows in verdicts.items() if allows), self._named)


def _rule(pattern: str, *, allows: bool) -> _Rule:
    is_whole = pattern.endswith("$")
    pieces = tuple(_normal(pattern.removesuffix("$")).split("*"))
    return pieces, allows, len(pattern), is_whole


def _longest(rules: Collection[_Rule], path: str) -> tuple[int, bool] | None:
    """Return the length of the longest matching rule, and whether it allows the path; None without a match."""
    matching = ((length, allows) for pieces, allows, length, whole in rules if _matches(pieces, path, whole=whole))
    return max(matching, default=None)


def _matches(pieces: tuple[str, ...], path: str, *, whole: bool) -> bool:
    # Piece by piece from the left, so that many `*` cannot make it slow.
    first, *others = pieces
    if not path.startswith(first):
        return False
    at = len(first)
    last = others.pop() if others and whole else None
    for piece in others:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    if last is not None:
        return len(path) - len(last) >= at and path.endswith(last)
    return not whole or at == len(path)


def _normal(text: str) -> str:
    """Return a path with one spelling of escaped characters."""
    if _AS_IT_IS.match(text) is not None:
        return text
    return quote(unquote(text, errors="surrogateescape"), safe=_KEPT, errors="surrogateescape")
