"""Evaluating compiled rules: labels and scores to the first match (hot, pure). How they are compiled is in `compile`.

Each label, prefix, threshold and list of routes that some rule mentions has a bit. A request becomes one number, every
rule is a few operations on it, and what the rules said about a number is remembered.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from agentgate.lib.enums import Outcome
from agentgate.protection.rules.records import RuleResponse
from agentgate.protection.rules.terms import prefixes_of

# The bit that is always set, so that a rule without a choice needs no case of its own.
ALWAYS = 1
# Labels such as `net.asn.64500` are many, and visitors choose some of them; what is remembered is not.
REMEMBERED = 4_096


class Verdict(Struct, frozen=True, gc=False):
    """What the rules say about a request."""

    outcome: Outcome
    # None: no rule decided, the set's default action did.
    rule: str | None = None
    response: RuleResponse | None = None
    # The names of `count` rules that matched on the way.
    counted: tuple[str, ...] = ()


class CompiledRule(NamedTuple):
    """One rule: the bits it needs, a choice of bits, the bits it excludes, further choices, and what it leads to."""

    needed: int
    choice: int
    excluded: int
    choices: tuple[int, ...]
    # The name of a `count` rule, or None.
    counts: str | None
    verdict: Verdict


class Bits(NamedTuple):
    """Which bit stands for what."""

    # Labels; and prefixes, which have a dot at the end, as no label has.
    words: Mapping[str, int]
    # Kind of model, least score, bit.
    scores: tuple[tuple[str, float, int], ...]
    # Names of routes and actions, starts of routes, bit.
    routes: tuple[tuple[frozenset[str], tuple[str, ...], int], ...]


class CompiledRules:
    """A rule set ready to decide. Nothing of it changes but what it remembers."""

    __slots__ = ("_default", "_labels", "_places", "_routes", "_rules", "_scores", "_verdicts", "_words", "version")

    def __init__(self, version: str, rules: Sequence[CompiledRule], *, bits: Bits, default: Outcome) -> None:
        self.version = version
        self._rules = tuple(rules)
        self._words = dict(bits.words)
        self._scores = bits.scores
        self._routes = bits.routes
        self._default = Verdict(default)
        self._labels: dict[str, int] = {}
        self._places: dict[tuple[str, str | None], int] = {}
        self._verdicts: dict[int, Verdict] = {}

    def evaluate(
        self, labels: Sequence[str], scores: Mapping[str, float], *, route: str, action: str | None
    ) -> Verdict:
        """Return what the first matching rule says, or the default."""
        mask = ALWAYS
        known = self._labels
        for label in labels:
            bits = known.get(label)
            mask |= self._learn_label(label) if bits is None else bits
        for kind, least, bit in self._scores:
            if scores.get(kind, -1.0) >= least:
                mask |= bit
        if self._routes:
            place = self._places.get((route, action))
            mask |= self._learn_place(route, action) if place is None else place
        return self._verdicts.get(mask) or self._decide(mask)

    def _decide(self, mask: int) -> Verdict:
        counted: tuple[str, ...] = ()
        found = self._default
        for needed, choice, excluded, choices, counts, verdict in self._rules:
            if mask & needed != needed or not mask & choice or mask & excluded:
                continue
            if choices and not all(mask & each for each in choices):
                continue
            if counts is None:
                found = verdict
                break
            counted = (*counted, counts)
        if counted:
            found = Verdict(found.outcome, found.rule, found.response, counted)
        _make_room(self._verdicts)
        self._verdicts[mask] = found
        return found

    def _learn_label(self, label: str) -> int:
        bits = self._words.get(label, 0)
        for prefix in prefixes_of(label):
            bits |= self._words.get(f"{prefix}.", 0)
        _make_room(self._labels)
        self._labels[label] = bits
        return bits

    def _learn_place(self, route: str, action: str | None) -> int:
        bits = 0
        for names, starts, bit in self._routes:
            if route in names or action in names or route.startswith(starts):
                bits |= bit
        _make_room(self._places)
        self._places[route, action] = bits
        return bits


def _make_room(remembered: MutableMapping[Any, Any]) -> None:
    if len(remembered) >= REMEMBERED:
        # Forgetting all is rare and costs one slow round, where choosing what to forget would cost every time.
        remembered.clear()
