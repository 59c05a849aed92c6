"""Filters of decisions as SQL: which of them leads, through which index, and what the others ask of each row.

Of several filters the rarest on a day leads; how rare each is, the counters of its dimension tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from agentgate.core.enums import ChallengeStage, DecisionKind, Outcome
from agentgate.events.records import Dimension
from agentgate.store.sql.event_codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, signed
from agentgate.store.sql.event_words import WordKind, Words
from agentgate.traffic.ports import DecisionFilters

_CHALLENGE = OUTCOME_CODES[Outcome.CHALLENGE]
_REQUEST = KIND_CODES[DecisionKind.REQUEST]


class Lead(NamedTuple):
    """One way to walk the events of a site by an index: a column of `event`, or the postings of a label."""

    column: str
    code: int

    @property
    def condition(self) -> str:
        """Return the condition, with `{}` where the code's place goes."""
        # Both databases use a partial index only for a condition that names its own.
        return "outcome = {} AND outcome <> 0" if self.column == "outcome" else f"{self.column} = {{}}"


class Filter(NamedTuple):
    """One filter: what it asks of a row, and the indexes that together find all rows for which it holds."""

    # With `{}` where the place of `code` goes; numbers of ours stand in the text, those of dictionaries never.
    condition: str
    code: int
    leads: tuple[Lead, ...] = ()
    dimension: Dimension | None = None

    @property
    def value(self) -> tuple[int, int]:
        """Return what is counted of the filter, when it is: dimension and value."""
        return self.dimension or 0, self.code


# Without a filter to lead, the site's events in their order.
ALL = Filter("", 0)


async def resolve(filters: DecisionFilters, words: Words) -> list[Filter] | None:
    """Return the filters that are given; None when one names a word that no event has."""
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
        found.append(_named(column, dimension, number))
    return found


def _named(column: str, dimension: Dimension, number: int) -> Filter:
    lead = Lead(column, number)
    if column != "label":
        return Filter(lead.condition, number, (lead,), dimension)
    condition = """EXISTS (SELECT 1 FROM event_label WHERE event_label.site = $1 AND event_label.label = {}
        AND event_label.id = event.id AND event_label.id >= $2 AND event_label.id < $3)"""
    return Filter(condition, number, (lead,), dimension)


def _enumerated(filters: DecisionFilters) -> Iterable[Filter]:
    if filters.visitor is not None:
        yield _led("visitor", signed(filters.visitor))
    if filters.labelling:
        both = (Lead("outcome", _CHALLENGE), Lead("would", _CHALLENGE))
        # The code is asked of one column and stands in the text for the other.
        yield Filter(f"kind = {_REQUEST} AND (outcome = {{}} OR would = {_CHALLENGE})", _CHALLENGE, both)
    if filters.would is not None:
        yield _led("would", OUTCOME_CODES[filters.would])
    if filters.outcome is Outcome.ALLOW:
        # No index has it: nearly everything is allowed.
        yield Filter("outcome = {}", OUTCOME_CODES[Outcome.ALLOW])
    elif filters.outcome is not None:
        yield _led("outcome", OUTCOME_CODES[filters.outcome])
    if filters.kind is not None:
        # Likewise of requests. A challenge has a stage, and those have an index.
        stages = tuple(Lead("stage", STAGE_CODES[stage]) for stage in ChallengeStage)
        leads = () if filters.kind is DecisionKind.REQUEST else stages
        yield Filter("kind = {}", KIND_CODES[filters.kind], leads)


def _led(column: str, code: int) -> Filter:
    lead = Lead(column, code)
    return Filter(lead.condition, code, (lead,))


def choose(filters: Sequence[Filter], counts: Mapping[tuple[int, int], int], *, known: bool) -> Filter | None:
    """Return the filter that leads on a day, given how often each value occurred; None when there cannot be any.

    `known` says that what is not among the counts did not occur.
    """
    ranked = []
    for place, each in enumerate(filters):
        if each.dimension is not None:
            count = counts.get(each.value, 0)
            if known and count == 0:
                return None
            ranked.append((count, place))
        elif each.leads:
            ranked.append((_GUESSES[each.leads[0].column], place))
    return filters[min(ranked)[1]] if ranked else ALL


# How many events of a busy site's day a filter finds, where nothing counts it.
_GUESSES = {"visitor": 100, "would": 20_000, "outcome": 20_000, "stage": 50_000}
