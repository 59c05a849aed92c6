"""Filters of decisions as SQL: the leading filter and its index, and the conditions of the others on each row.

Of several filters the rarest on a day leads. The counters of its dimension show how rare each is.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from agentgate.events.queries.ports import DecisionFilters
from agentgate.events.records import Dimension
from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, signed
from agentgate.events.storage.days.days import SegmentDays
from agentgate.events.storage.days.postgres import LABEL_TERMS
from agentgate.events.storage.dictionary import KnownWords, WordKind
from agentgate.events.storage.shapes import outcome_word, stage_word, would_word
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome

_CHALLENGE = OUTCOME_CODES[Outcome.CHALLENGE]
_REQUEST = KIND_CODES[DecisionKind.REQUEST]


# That an event has a label, for the index that a closed day has on PostgreSQL.
LABEL_IN_INDEX = LABEL_TERMS + " @> ARRAY[({})::BIGINT::TEXT || ':' || ($1)::BIGINT::TEXT]"
# If more events of a day have a label, scanning the site's events fills a page sooner than the index does.
MOST_IN_INDEX = 4_000


class Lead(NamedTuple):
    """One way to walk the events of a site by an index: a column of `event`."""

    column: str
    code: int

    @property
    def condition(self) -> str:
        """Return the condition, with `{}` where the code's place goes."""
        # Both databases use a partial index only for a condition that names its own.
        return "outcome = {} AND outcome <> 0" if self.column == "outcome" else f"{self.column} = {{}}"


class Filter(NamedTuple):
    """One filter: its condition on a row, and the indexes that together find all rows that match."""

    # `{}` marks the place of `code`. The text may contain AgentGate's own codes, but never numbers of dictionaries.
    condition: str
    code: int
    leads: tuple[Lead, ...] = ()
    dimension: Dimension | None = None
    # The words of which each matching event has one, and the columns of `site_hour` that count at least these events.
    words: tuple[int, ...] = ()
    counted: tuple[str, ...] = ()

    @property
    def value(self) -> tuple[int, int]:
        """Return dimension and value under which the filter's events are counted, where they are."""
        return self.dimension or 0, self.code

    def rank(self, count: int) -> int:
        """Return the expected number of a day's events that the filter finds, given their count if there is one."""
        return _GUESSES.get(self.leads[0].column, 0) if self.dimension is None else count

    def can_lead(self, count: int, *, indexed: bool) -> bool:
        """Return whether an index of a day finds the filter's events, given their number; a closed day has all."""
        if self.dimension not in _INDEXED_LATER:
            return bool(self.leads)
        return bool(self.leads) and indexed and (self.dimension is not Dimension.LABEL or count <= MOST_IN_INDEX)


# On PostgreSQL these are indexed when the day is closed.
_INDEXED_LATER = frozenset((Dimension.ACTION, Dimension.LABEL))

# Without a filter to lead, the site's events in their order.
ALL = Filter("", 0)


async def resolve(filters: DecisionFilters, words: KnownWords, days: SegmentDays) -> list[Filter] | None:
    """Return the filters that are given, with the indexes that days have; None when one names a word of no event."""
    found = [*_enumerated(filters)]
    named = (
        (WordKind.RULE, "rule", Dimension.RULE, filters.rule),
        (WordKind.ACTION, "action", Dimension.ACTION, filters.action),
        (WordKind.LABEL, "label", Dimension.LABEL, filters.label),
    )
    for kind, column, dimension, text in named:
        if text is None:
            continue
        number = await words.find(kind, text)
        if number is None:
            return None
        condition = days.has_label if dimension is Dimension.LABEL else f"{column} = {{0}}"
        found.append(Filter(condition, number, (Lead(column, number),), dimension, (number,)))
    return [each._replace(leads=tuple(lead for lead in each.leads if lead.column in days.indexed)) for each in found]


def _enumerated(filters: DecisionFilters) -> Iterable[Filter]:
    if filters.visitor is not None:
        lead = Lead("visitor", signed(filters.visitor))
        yield Filter(lead.condition, lead.code, (lead,))
    if filters.labelling:
        both = (Lead("outcome", _CHALLENGE), Lead("would", _CHALLENGE))
        words = (outcome_word(Outcome.CHALLENGE), would_word(Outcome.CHALLENGE))
        # The code is a parameter for one column and part of the text for the other.
        condition = f"kind = {_REQUEST} AND (outcome = {{0}} OR would = {_CHALLENGE})"
        yield Filter(condition, _CHALLENGE, both, None, words, ("challenged", "would_challenge"))
    if filters.would is not None:
        lead = Lead("would", OUTCOME_CODES[filters.would])
        counted = () if filters.would is Outcome.ALLOW else (f"would_{filters.would.value}", *_CHECKS)
        yield Filter(lead.condition, lead.code, (lead,), None, (would_word(filters.would),), counted)
    if filters.outcome is Outcome.ALLOW:
        # No index has it: nearly everything is allowed.
        yield Filter("outcome = {}", OUTCOME_CODES[Outcome.ALLOW])
    elif filters.outcome is not None:
        lead = Lead("outcome", OUTCOME_CODES[filters.outcome])
        counted = (_COUNTED_OUTCOMES[filters.outcome], *_CHECKS)
        yield Filter(lead.condition, lead.code, (lead,), None, (outcome_word(filters.outcome),), counted)
    if filters.kind is DecisionKind.REQUEST:
        # Likewise of requests.
        yield Filter("kind = {}", _REQUEST)
    elif filters.kind is not None:
        # A challenge has a stage, and those have an index.
        leads = tuple(Lead("stage", STAGE_CODES[stage]) for stage in ChallengeStage)
        yield Filter(
            "kind = {}", KIND_CODES[filters.kind], leads, None, tuple(map(stage_word, ChallengeStage)), _CHECKS
        )


def choose(
    filters: Sequence[Filter], counts: Mapping[tuple[int, int], int], *, indexed: bool, known: bool
) -> Filter | None:
    """Return the filter that leads on a day, given how often each value occurred; None if no event can match.

    `known` means that values without a count did not occur.
    """
    ranked = []
    for place, each in enumerate(filters):
        count = counts.get(each.value, 0)
        if each.dimension is not None and known and count == 0:
            return None
        if each.can_lead(count, indexed=indexed):
            ranked.append((each.rank(count), place))
    return filters[min(ranked)[1]] if ranked else ALL


# Assumed number of events that a filter without counts finds on a day of a busy site.
_GUESSES = {"visitor": 100, "would": 20_000, "outcome": 20_000, "stage": 50_000}
# Challenges have outcomes too, but `site_hour` counts them by their stage only.
_CHECKS = ("challenges_issued", "challenges_passed", "challenges_failed")
_COUNTED_OUTCOMES = {Outcome.CHALLENGE: "challenged", Outcome.BLOCK: "blocked", Outcome.DROP: "dropped"}
