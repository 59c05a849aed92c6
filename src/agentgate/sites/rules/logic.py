"""Reasoning about terms: can they hold at all, does one follow from another, and which request shows it.

Exact about labels that must or must not be present, choices, thresholds, places, addresses and methods. The number of
labels is unlimited, so a choice by prefix can never be exhausted. About globs it is sound, not complete (`witness`).
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from agentgate.lib.records import optional
from agentgate.sites.rules.patterns.predicates import OF_PAGE
from agentgate.sites.rules.patterns.witness import excludes, find_request, follows, is_impossible
from agentgate.sites.rules.records import Witness
from agentgate.sites.rules.terms import Choice, Terms, has_prefix

# The route of requests for which a site has none.
NO_ROUTE = "*"


class RuleCondition(Struct, frozen=True):
    """The condition of a rule: its terms, and its routes and actions (none means everywhere)."""

    terms: Terms
    routes: tuple[str, ...] = ()


def find_witness(asked: RuleCondition) -> Witness | None:
    """Return a request for which this holds, or None when none is found."""
    return _witness(asked.terms, _example(asked.routes[0]) if asked.routes else (NO_ROUTE, None))


def is_dead(asked: RuleCondition) -> bool:
    """Return whether no request can match."""
    return _labels(asked.terms) is None or is_impossible(asked.terms.holding, asked.terms.failing)


def find_shared_witness(one: RuleCondition, other: RuleCondition) -> Witness | None:
    """Return a request for which both hold, or None when none is found."""
    place = next(_shared_places(one.routes, other.routes), None)
    return None if place is None else _witness(both(one.terms, other.terms), place)


def _witness(terms: Terms, place: tuple[str, str | None]) -> Witness | None:
    labels = _labels(terms)
    request = None if labels is None else find_request(terms.holding, terms.failing)
    if labels is None or request is None:
        return None
    route, action = place
    return Witness(labels=sorted(labels), scores=dict(terms.scores), route=route, action=optional(action), **request)


def implies(one: RuleCondition, other: RuleCondition) -> bool:
    """Return whether `other` holds whenever `one` does. `one` must be able to hold."""
    if other.routes and not (one.routes and all(_is_covered(entry, other.routes) for entry in one.routes)):
        return False
    mine, theirs = one.terms, other.terms
    return (
        theirs.needed <= _forced(mine)
        and theirs.excluded <= mine.excluded
        and all(mine.scores.get(kind, -1.0) >= least for kind, least in theirs.scores.items())
        and all(_must_hit(mine, choice) for choice in theirs.choices)
        and all(follows(mine.holding, mine.failing, holds=each) for each in theirs.holding)
        and all(excludes(mine.holding, mine.failing, fails=each) for each in theirs.failing)
        # A rule about the page does not cover requests without a page.
        and (not _is_about_page(theirs) or _is_about_page(mine))
    )


def both(one: Terms, other: Terms) -> Terms:
    scores = {kind: max(one.scores.get(kind, 0.0), other.scores.get(kind, 0.0)) for kind in one.scores | other.scores}
    return Terms(
        one.needed | other.needed,
        one.excluded | other.excluded,
        [*one.choices, *other.choices],
        dict(scores),
        one.holding | other.holding,
        one.failing | other.failing,
    )


def _is_about_page(terms: Terms) -> bool:
    return any(each.subject in OF_PAGE for each in terms.holding | terms.failing)


def _labels(terms: Terms) -> frozenset[str] | None:
    if terms.needed & terms.excluded:
        return None
    found = set(terms.needed)
    for choice in terms.choices:
        if _hits(found, choice):
            continue
        label = next(_candidates(choice, terms.excluded), None)
        if label is None:
            return None
        found.add(label)
    return frozenset(found)


def _candidates(choice: Choice, excluded: set[str]) -> Iterator[str]:
    yield from sorted(choice.labels - excluded)
    for prefix in sorted(choice.prefixes):
        # A prefix alone is not a label, so the example gets one more part.
        below = (f"{prefix}.{name}" for name in ("any", *(f"any_{number}" for number in range(len(excluded) + 1))))
        yield next(label for label in below if label not in excluded)


def _hits(labels: Iterable[str], choice: Choice) -> bool:
    return any(label in choice.labels or has_prefix(label, choice.prefixes) for label in labels)


def _forced(terms: Terms) -> set[str]:
    """Return the labels that are there whenever the terms hold."""
    forced = set(terms.needed)
    for choice in terms.choices:
        possible = choice.labels - terms.excluded
        if len(possible) == 1 and not choice.prefixes:
            forced |= possible
    return forced


def _must_hit(terms: Terms, target: Choice) -> bool:
    """Return whether one of the target's labels is there whenever the terms hold."""
    if _hits(terms.needed, target):
        return True
    return any(not _avoids(choice, terms.excluded, target) for choice in terms.choices)


def _avoids(choice: Choice, excluded: set[str], target: Choice) -> bool:
    """Return whether the choice can be met without meeting the target."""
    if any(not _hits([label], target) for label in choice.labels - excluded):
        return True
    return any(not has_prefix(prefix, target.prefixes) for prefix in choice.prefixes)


def _example(entry: str) -> tuple[str, str | None]:
    return (entry, None) if _is_route(entry) else (NO_ROUTE, entry)


def _is_route(entry: str) -> bool:
    return entry.startswith(("/", "*"))


def _is_covered(entry: str, by: Iterable[str]) -> bool:
    return any(_covers(other, entry) for other in by)


def _covers(other: str, entry: str) -> bool:
    """Return whether every request that one entry means is one that the other means."""
    if other in {entry, "*"}:
        return True
    # A route with a star covers routes and longer prefixes, and never actions.
    return other.endswith("*") and _is_route(entry) and entry.removesuffix("*").startswith(other[:-1])


def _shared_places(one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    if not one or not other:
        yield _example((one or other or (NO_ROUTE,))[0])
        return
    for mine in one:
        for theirs in other:
            if _covers(theirs, mine):
                yield _example(mine)
            elif _covers(mine, theirs):
                yield _example(theirs)
            elif _is_route(mine) != _is_route(theirs):
                route, action = (mine, theirs) if _is_route(mine) else (theirs, mine)
                yield route, action
