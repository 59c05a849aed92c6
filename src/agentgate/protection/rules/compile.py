"""Compiling: an effective rule set to the form that `evaluate` reads. The set must be valid."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import msgspec

from agentgate.lib.enums import Outcome, RuleAction
from agentgate.protection.rules.conditions import terms_of
from agentgate.protection.rules.evaluate import ALWAYS, PAGE, Bits, CompiledRule, CompiledRules, RuleVerdict
from agentgate.protection.rules.patterns.predicates import OF_PAGE, Predicate, Predicates
from agentgate.protection.rules.records import RuleResponse, RuleSet
from agentgate.protection.rules.terms import Choice, Terms


def compile_rules(effective: RuleSet) -> CompiledRules:
    """Compile an effective set, in which managed groups and overrides are applied already."""
    given = _Given()
    rules = [_rule(item, terms_of(matches_of(item)), given) for item in effective.rules]
    return CompiledRules(effective.version, rules, bits=given.bits(), default=Outcome(effective.default_action))


def matches_of(item: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return all that must hold for a rule: its match, and what narrows its group down."""
    return (item["match"], item["scope_down"]) if "scope_down" in item else (item["match"],)


def starts_of(routes: Iterable[str]) -> tuple[str, ...]:
    """Return what routes may start with: the entries that end in a star, without it."""
    return tuple(entry[:-1] for entry in routes if entry.endswith("*"))


class _Given:
    """Gives each thing that some rule mentions a bit of its own, and knows it again."""

    def __init__(self) -> None:
        # The two lowest bits are taken.
        self._next = (PAGE << number for number in count(1))
        self._words: dict[str, int] = {}
        self._scores: dict[tuple[str, float], int] = {}
        self._routes: dict[frozenset[str], int] = {}
        self._predicates: dict[Predicate, int] = {}

    def words(self, names: Iterable[str]) -> int:
        mask = 0
        for name in names:
            if name not in self._words:
                self._words[name] = next(self._next)
            mask |= self._words[name]
        return mask

    def scores(self, least: dict[str, float]) -> int:
        mask = 0
        for key in least.items():
            if key not in self._scores:
                self._scores[key] = next(self._next)
            mask |= self._scores[key]
        return mask

    def routes(self, entries: Iterable[str]) -> int:
        """Return the bit of a list of routes and actions; an empty list means everywhere."""
        names = frozenset(entries)
        if not names:
            return 0
        if names not in self._routes:
            self._routes[names] = next(self._next)
        return self._routes[names]

    def predicates(self, predicates: Iterable[Predicate]) -> int:
        mask = 0
        for each in predicates:
            if each not in self._predicates:
                self._predicates[each] = next(self._next)
            mask |= self._predicates[each]
        return mask

    def bits(self) -> Bits:
        scores = tuple((kind, least, bit) for (kind, least), bit in self._scores.items())
        # An entry with a star also stands among the names: `/api/*` is what decisions call that route.
        routes = tuple((names, starts_of(sorted(names)), bit) for names, bit in self._routes.items())
        return Bits(self._words, scores, routes, Predicates(self._predicates) if self._predicates else None)


def _rule(item: dict[str, Any], terms: Terms, given: _Given) -> CompiledRule:
    choices = tuple(given.words(_names(choice)) for choice in terms.choices)
    action = RuleAction(item["action"])
    counts = item["name"] if action == RuleAction.COUNT else None
    asked = sorted(terms.holding | terms.failing)
    # Where the visitor's own request is not seen, nothing about it holds, not even that it is not so.
    page = PAGE if any(each.subject in OF_PAGE for each in asked) else 0
    needed = given.words(sorted(terms.needed)) | given.scores(terms.scores) | given.routes(item.get("routes", ()))
    return CompiledRule(
        needed=needed | page | given.predicates(sorted(terms.holding)),
        choice=choices[0] if choices else ALWAYS,
        excluded=given.words(sorted(terms.excluded)) | given.predicates(sorted(terms.failing)),
        choices=choices[1:],
        counts=counts,
        verdict=_verdict(item, Outcome.ALLOW if counts else Outcome(action)),
    )


def _names(choice: Choice) -> list[str]:
    return sorted(choice.labels) + [f"{prefix}." for prefix in sorted(choice.prefixes)]


def _verdict(item: dict[str, Any], outcome: Outcome) -> RuleVerdict:
    response = msgspec.convert(item["response"], RuleResponse) if "response" in item else None
    return RuleVerdict(outcome, item["name"], response)
