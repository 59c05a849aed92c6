"""Evaluating compiled rules: labels and scores to the first match (hot, pure). How they are compiled is in
`compile`.

Each label, prefix, threshold, list of routes and predicate that some rule mentions has a bit. A request becomes one
number, every rule is a few operations on it, and verdicts are cached by that number. If it is unknown whether a
predicate holds (`Traits.maybe`), every rule that could decide is found, and the strictest verdict applies.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agentgate.lib.enums import Outcome
from agentgate.sites.rules.patterns.predicates import Predicates
from agentgate.sites.rules.rate import RuleLimit
from agentgate.sites.rules.records import RuleResponse
from agentgate.sites.rules.terms import prefixes_of

# The bit that is always set, so that a rule without a choice needs no special case.
ALWAYS = 1
# Set for a visitor's request to the site itself. Rules about its path, host, method and headers need it.
PAGE = 2
# The size of each cache. Visitors choose some labels (`net.asn.64500`), so no cache may grow with them.
CACHE_ENTRIES = 4_096
# Begins the name of the rule in a verdict by weight.
THRESHOLD = "weight:"
# Outcomes from the most permissive to the strictest.
STRICTNESS = {Outcome.ALLOW: 0, Outcome.CHALLENGE: 1, Outcome.BLOCK: 2, Outcome.DROP: 3}


class RuleVerdict(Struct, frozen=True, gc=False):
    """Verdict of the rules on a request."""

    outcome: Outcome
    # None: no rule decided, the set's default action did.
    rule: str | None = None
    response: RuleResponse | None = None
    # The names of `count` rules that matched before.
    counted: tuple[str, ...] = ()
    # An entry of the site's lists decided, before any rule. `waives`: no token or clearance is required either.
    listed: bool = False
    waives: bool = False
    # Rates that count the request and are not exceeded according to the bits.
    limits: tuple[RuleLimit, ...] = ()
    # The rule that decided has a rate.
    is_rate: bool = False


class Traits(NamedTuple):
    """The predicates that hold for a request and those that may, as bits of the rule set; and the site's list entry."""

    sure: int = 0
    maybe: int = 0
    # The verdict of the site's lists, and the specificity of their entry.
    listed: RuleVerdict | None = None
    rank: int = 0


NO_TRAITS = Traits()


class CompiledRule(NamedTuple):
    """One rule: the bits it needs, a choice of bits, the bits it excludes, further choices, and its verdict."""

    needed: int
    choice: int
    excluded: int
    choices: tuple[int, ...]
    # The name of a `count` rule, or None; and what it adds to the weight.
    counts: str | None
    adds: int
    verdict: RuleVerdict
    # It matches only once this is exceeded.
    limit: RuleLimit | None = None


# Labels, scores, route, action.
RuleInput = tuple[Sequence[str], Mapping[str, float], str, str | None]


class Bits(NamedTuple):
    """The bits of labels, scores, routes and predicates."""

    # Labels; and prefixes, which have a dot at the end, as no label has.
    words: Mapping[str, int]
    # Kind of model, least score, bit.
    scores: tuple[tuple[str, float, int], ...]
    # Names of routes and actions, starts of routes, bit.
    routes: tuple[tuple[frozenset[str], tuple[str, ...], int], ...]
    # None where no rule asks for more than labels, scores and routes.
    predicates: Predicates | None = None


class CompiledRules:
    """A compiled rule set. It is immutable except its cache of verdicts."""

    __slots__ = (
        "__weakref__",
        "_default",
        "_labels",
        "_places",
        "_routes",
        "_rules",
        "_scores",
        "_thresholds",
        "_unsure",
        "_verdicts",
        "_words",
        "limit_bits",
        "predicates",
        "version",
    )

    def __init__(
        self,
        version: str,
        rules: Sequence[CompiledRule],
        *,
        bits: Bits,
        default: Outcome,
        thresholds: Sequence[tuple[int, Outcome]] = (),
    ) -> None:
        self.version = version
        self._rules = tuple(rules)
        self.limit_bits = sum(rule.limit.bit for rule in self._rules if rule.limit is not None)
        self._words = dict(bits.words)
        self._scores = bits.scores
        self._routes = bits.routes
        self.predicates = bits.predicates
        self._default = RuleVerdict(default)
        # The least weight of each, ascending, and the verdict where no rule decides.
        self._thresholds = tuple((least, RuleVerdict(outcome, f"{THRESHOLD}{least}")) for least, outcome in thresholds)
        self._labels: dict[str, int] = {}
        self._places: dict[tuple[str, str | None], int] = {}
        self._verdicts: dict[int, RuleVerdict] = {}
        self._unsure: dict[tuple[int, int], tuple[RuleVerdict, ...]] = {}

    def evaluate(
        self,
        labels: Sequence[str],
        scores: Mapping[str, float],
        *,
        route: str,
        action: str | None,
        traits: Traits = NO_TRAITS,
    ) -> RuleVerdict:
        """Return the verdict of the first matching rule, or the default; of several candidates, the strictest."""
        mask = self._mask(labels, scores, route, action) | traits.sure
        if traits.maybe:
            return max(self._possible(mask, traits.maybe), key=_strictness)
        return self._verdicts.get(mask) or self._decide(mask)

    def possible(self, seen: RuleInput, traits: Traits) -> tuple[RuleVerdict, ...]:
        """Return every possible verdict; several where it is unknown whether a rule matches."""
        mask = self._mask(*seen) | traits.sure
        if traits.maybe:
            return self._possible(mask, traits.maybe)
        return (self._verdicts.get(mask) or self._decide(mask),)

    def _mask(self, labels: Sequence[str], scores: Mapping[str, float], route: str, action: str | None) -> int:
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
        return mask

    def _possible(self, mask: int, maybe: int) -> tuple[RuleVerdict, ...]:
        found = self._unsure.get((mask, maybe))
        if found is None:
            _evict(self._unsure)
            verdicts = tuple(self._walk(mask, mask | maybe))
            # Whichever of them applies, every rate that may count the request does.
            limits = tuple(dict.fromkeys(limit for each in verdicts for limit in each.limits))
            found = tuple(_with(each, limits=limits) for each in verdicts) if limits else verdicts
            self._unsure[mask, maybe] = found
        return found

    def _walk(self, mask: int, could: int) -> Iterator[RuleVerdict]:
        """Return the verdict of each rule that could be the first to match."""
        counted: tuple[str, ...] = ()
        limits: tuple[RuleLimit, ...] = ()
        least = most = 0
        for needed, choice, excluded, choices, counts, adds, verdict, limit in self._rules:
            if could & needed != needed or mask & excluded or not could & choice:
                continue
            if choices and not all(could & each for each in choices):
                continue
            is_sure = mask & needed == needed and not could & excluded and mask & choice > 0
            is_sure = is_sure and all(mask & each for each in choices)
            if limit is not None and not could & limit.bit:
                limits = (*limits, limit)
                continue
            is_sure = is_sure and (limit is None or mask & limit.bit > 0)
            if counts is not None:
                counted = (*counted, counts) if is_sure else counted
                least += adds if is_sure else min(adds, 0)
                most += adds if is_sure else max(adds, 0)
                continue
            yield _with(verdict, counted, limits)
            if is_sure:
                return
        yield _with(self._of_weight(least), counted, limits)
        for at_least, verdict in self._thresholds:
            if least < at_least <= most:
                yield _with(verdict, counted, limits)

    def _of_weight(self, weight: int) -> RuleVerdict:
        """Return the verdict where no rule decides: that of the highest threshold reached, or the default."""
        found = self._default
        for at_least, verdict in self._thresholds:
            if weight >= at_least:
                found = verdict
        return found

    def _decide(self, mask: int) -> RuleVerdict:
        # Nothing is unknown, so only one rule could be the first to match.
        found = next(self._walk(mask, mask))
        _evict(self._verdicts)
        self._verdicts[mask] = found
        return found

    def _learn_label(self, label: str) -> int:
        bits = self._words.get(label, 0)
        for prefix in prefixes_of(label):
            bits |= self._words.get(f"{prefix}.", 0)
        _evict(self._labels)
        self._labels[label] = bits
        return bits

    def _learn_place(self, route: str, action: str | None) -> int:
        bits = 0
        for names, starts, bit in self._routes:
            if route in names or action in names or route.startswith(starts):
                bits |= bit
        _evict(self._places)
        self._places[route, action] = bits
        return bits


def _with(verdict: RuleVerdict, counted: tuple[str, ...] = (), limits: tuple[RuleLimit, ...] = ()) -> RuleVerdict:
    if not counted and not limits:
        return verdict
    return replace(verdict, counted=counted or verdict.counted, limits=limits)


def _strictness(verdict: RuleVerdict) -> int:
    return STRICTNESS[verdict.outcome]


def _evict(cache: MutableMapping[Any, Any]) -> None:
    if len(cache) >= CACHE_ENTRIES:
        # Clearing is rare; evicting single entries would cost time at every insertion.
        cache.clear()
