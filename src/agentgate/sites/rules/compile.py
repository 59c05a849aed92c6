"""Compiling: an effective rule set to the form that `evaluate` reads. The set must be valid."""

from collections.abc import Iterable
from itertools import count
from typing import Any, TypeVar

import msgspec
from msgspec import UnsetType

from agentgate.lib.enums import Outcome, RuleAction
from agentgate.sites.rules.conditions import terms_of, unknown_keys
from agentgate.sites.rules.evaluate import ALWAYS, PAGE, Bits, CompiledRule, CompiledRules, RuleVerdict
from agentgate.sites.rules.patterns.predicates import OF_PAGE, Predicate, Predicates
from agentgate.sites.rules.rate import RATE, can_exceed, compile_rate
from agentgate.sites.rules.records import RuleResponse, RuleSet
from agentgate.sites.rules.terms import Choice, Terms

K = TypeVar("K")


def compile_rules(effective: RuleSet) -> CompiledRules:
    """Compile an effective set, in which managed groups and overrides are applied already."""
    bits = _BitAllocator()
    rules = [_rule(item, terms_of(matches_of(item)), bits) for item in effective.rules if can_match(item)]
    found = [] if isinstance(effective.thresholds, UnsetType) else effective.thresholds
    thresholds = sorted((each.at_least, Outcome(each.action)) for each in found)
    return CompiledRules(
        effective.version, rules, bits=bits.bits(), default=Outcome(effective.default_action), thresholds=thresholds
    )


def matches_of(item: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the matches that must hold for a rule: its own, and the `scope_down` of its group."""
    return (item["match"], item["scope_down"]) if "scope_down" in item else (item["match"],)


def can_match(item: dict[str, Any]) -> bool:
    """Return whether the matches of a rule have known conditions only; otherwise the rule matches nothing."""
    return can_exceed(item) and not any(map(unknown_keys, matches_of(item)))


def starts_of(routes: Iterable[str]) -> tuple[str, ...]:
    """Return the prefixes of routes: the entries that end in a star, without it."""
    return tuple(entry[:-1] for entry in routes if entry.endswith("*"))


class _BitAllocator:
    """Allocates one bit for each label, score, list of routes and predicate that some rule mentions."""

    def __init__(self) -> None:
        # The two lowest bits are taken.
        self._next = (PAGE << number for number in count(1))
        self.words: dict[str, int] = {}
        self.scores: dict[tuple[str, float], int] = {}
        # Lists of routes and actions; a rule without a list applies everywhere.
        self.routes: dict[frozenset[str], int] = {}
        self.predicates: dict[Predicate, int] = {}

    def mask(self, known: dict[K, int], things: Iterable[K]) -> int:
        """Return the bits of things of one kind."""
        mask = 0
        for thing in things:
            if thing not in known:
                known[thing] = next(self._next)
            mask |= known[thing]
        return mask

    def single(self) -> int:
        """Return a bit that nothing shares."""
        return next(self._next)

    def bits(self) -> Bits:
        scores = tuple((kind, least, bit) for (kind, least), bit in self.scores.items())
        # An entry with a star is also a name: decisions call that route `/api/*`.
        routes = tuple((names, starts_of(sorted(names)), bit) for names, bit in self.routes.items())
        return Bits(self.words, scores, routes, Predicates(self.predicates) if self.predicates else None)


def _rule(item: dict[str, Any], terms: Terms, bits: _BitAllocator) -> CompiledRule:
    choices = tuple(bits.mask(bits.words, _names(choice)) for choice in terms.choices)
    action = RuleAction(item["action"])
    counts = item["name"] if action == RuleAction.COUNT else None
    asked = sorted(terms.holding | terms.failing)
    # Without the visitor's request, conditions on it do not hold, the negated ones included.
    page = PAGE if any(each.subject in OF_PAGE for each in asked) else 0
    routes = frozenset(item.get("routes", ()))
    needed = bits.mask(bits.words, sorted(terms.needed)) | bits.mask(bits.scores, terms.scores.items())
    needed |= bits.mask(bits.routes, (routes,) if routes else ())
    return CompiledRule(
        needed=needed | page | bits.mask(bits.predicates, sorted(terms.holding)),
        choice=choices[0] if choices else ALWAYS,
        excluded=bits.mask(bits.words, sorted(terms.excluded)) | bits.mask(bits.predicates, sorted(terms.failing)),
        choices=choices[1:],
        counts=counts,
        adds=item.get("add", 0) if counts else 0,
        verdict=_verdict(item, Outcome.ALLOW if counts else Outcome(action)),
        limit=compile_rate(item, bits.single()) if RATE in item else None,
    )


def _names(choice: Choice) -> list[str]:
    return sorted(choice.labels) + [f"{prefix}." for prefix in sorted(choice.prefixes)]


def _verdict(item: dict[str, Any], outcome: Outcome) -> RuleVerdict:
    response = msgspec.convert(item["response"], RuleResponse) if "response" in item else None
    return RuleVerdict(outcome, item["name"], response, is_rate=RATE in item)
