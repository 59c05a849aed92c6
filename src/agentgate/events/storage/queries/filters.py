"""Filters of decisions as SQL: which of them leads, through which index, and what the others ask of each row.

Of several filters the rarest on a day leads; how rare each is, the counters of its dimension tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from agentgate.events.queries.ports import DecisionFilters
from agentgate.events.records import Dimension
from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, signed
from agentgate.events.storage.days.postgres import LABEL_TERMS
from agentgate.events.storage.dictionary import WordKind, Words
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome

_CHALLENGE = OUTCOME_CODES[Outcome.CHALLENGE]
_REQUEST = KIND_CODES[DecisionKind.REQUEST]


# An event has a label, in its own text: on SQLite; and on PostgreSQL, where what comes first rules out most, and what
# is in brackets is worked out once.
_LABEL_IN_LIST = "instr(',' || trim(labels, '[]') || ',', ',' || {} || ',') > 0"
_LABEL_IN_TEXT = """labels LIKE (SELECT '%' || ({0})::BIGINT::TEXT || '%')
    AND translate(labels, '[]', ',,') LIKE (SELECT '%,' || ({0})::BIGINT::TEXT || ',%')"""
# The same, for the index that a closed day has on PostgreSQL.
LABEL_IN_INDEX = LABEL_TERMS + " @> ARRAY[({})::BIGINT::TEXT || ':' || ($1)::BIGINT::TEXT]"
# Past so many events of a day with a label, walking the site's events finds a page of them sooner than the index.
MOST_IN_INDEX = 4_000


class Lead(NamedTuple):
    """One way to walk the events of a site by an index: a column of `event`, or of the postings of SQLite."""

    column: str
    code: int
    table: str = "event"

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

    @property
    def is_posted(self) -> bool:
        """Tell whether postings lead to what it asks for (SQLite)."""
        return any(lead.table != "event" for lead in self.leads)

    def can_lead(self, count: int, day: "Indexes") -> bool:
        """Tell whether an index of a day finds what the filter asks for, of which there are so many."""
        if self.is_posted:
            walked = day.walked
            return not any((lead.column, lead.code) in walked or (lead.column, None) in walked for lead in self.leads)
        if self.dimension not in _INDEXED_LATER:
            return True
        return day.indexed and (self.dimension is not Dimension.LABEL or count <= MOST_IN_INDEX)


class Indexes(Protocol):
    """What a part of a day has of indexes."""

    @property
    def indexed(self) -> bool:
        """Whether labels and actions have theirs (PostgreSQL)."""
        ...

    @property
    def walked(self) -> frozenset[tuple[str, int | None]]:
        """Columns and values without postings (SQLite); None stands for every value."""
        ...


# What has no index when it is written: on PostgreSQL.
_INDEXED_LATER = _POSTED = frozenset((Dimension.ACTION, Dimension.LABEL))

# Without a filter to lead, the site's events in their order.
ALL = Filter("", 0)


async def resolve(filters: DecisionFilters, words: Words, *, postings: bool) -> list[Filter] | None:
    """Return the filters that are given, for a layout of days; None when one names a word that no event has."""
    found = [*_enumerated(filters, postings=postings)]
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
        in_label = _LABEL_IN_LIST if postings else _LABEL_IN_TEXT
        condition = in_label if dimension is Dimension.LABEL else f"{column} = {{}}"
        lead = Lead("word", number, "event_word") if dimension in _POSTED and postings else Lead(column, number)
        found.append(Filter(condition, number, (lead,), dimension))
    return found


def _enumerated(filters: DecisionFilters, *, postings: bool) -> Iterable[Filter]:
    if filters.visitor is not None:
        code = signed(filters.visitor)
        lead = Lead("visitor", code, "event_visitor" if postings else "event")
        yield Filter(lead.condition, code, (lead,))
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


def choose(
    filters: Sequence[Filter], counts: Mapping[tuple[int, int], int], day: Indexes, *, known: bool
) -> Filter | None:
    """Return the filter that leads on a day, given how often each value occurred; None when there cannot be any.

    `known` says that what is not among the counts did not occur.
    """
    ranked = []
    for place, each in enumerate(filters):
        count = counts.get(each.value, 0)
        if each.dimension is not None and known and count == 0:
            return None
        if each.leads and each.can_lead(count, day):
            ranked.append((_GUESSES[each.leads[0].column] if each.dimension is None else count, place))
    return filters[min(ranked)[1]] if ranked else ALL


# How many events of a busy site's day a filter finds, where nothing counts it.
_GUESSES = {"visitor": 100, "would": 20_000, "outcome": 20_000, "stage": 50_000}
