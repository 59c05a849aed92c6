"""Filters of decisions as SQL: the leading filter and its index, and the conditions of the others on each row.

Of several filters the rarest on a day leads; how rare each is, the counters of its dimension tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from agentgate.events.queries.ports import DecisionFilters
from agentgate.events.records import Dimension
from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, signed
from agentgate.events.storage.days.postgres import LABEL_TERMS
from agentgate.events.storage.dictionary import KnownWords, WordKind
from agentgate.events.storage.shapes import outcome_word, stage_word, would_word
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
# If more events of a day have a label, scanning the site's events fills a page sooner than the index does.
MOST_IN_INDEX = 4_000


# The column by which patterns are found.
WORD = "word"


class Lead(NamedTuple):
    """One way to walk the events of a site by an index: a column of `event`; on SQLite, a word or a visitor."""

    column: str
    code: int
    table: str = "event"

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

    @property
    def value(self) -> tuple[int, int]:
        """Return dimension and value under which the filter's events are counted, where they are."""
        return self.dimension or 0, self.code

    def rank(self, count: int) -> int:
        """Return the expected number of a day's events that the filter finds, given their count if there is one."""
        if self.leads[0].table == "event_visitor":
            # Patterns do not have visitors, so no other filter finds all matching events.
            return -1
        return _GUESSES[self.leads[0].column] if self.dimension is None else count

    def can_lead(self, count: int, day: "Indexes") -> bool:
        """Return whether an index of a day finds the filter's events, given their number."""
        if self.leads[0].table != "event":
            return day.posted
        if self.dimension not in _INDEXED_LATER:
            return True
        return day.indexed and (self.dimension is not Dimension.LABEL or count <= MOST_IN_INDEX)


class Indexes(Protocol):
    """Which indexes a part of a day has."""

    @property
    def indexed(self) -> bool:
        """Whether labels and actions have theirs (PostgreSQL)."""

    @property
    def posted(self) -> bool:
        """Whether its events have postings (SQLite)."""


# On PostgreSQL these are indexed when the day is closed.
_INDEXED_LATER = frozenset((Dimension.ACTION, Dimension.LABEL))

# Without a filter to lead, the site's events in their order.
ALL = Filter("", 0)


async def resolve(filters: DecisionFilters, words: KnownWords, *, patterns: bool) -> list[Filter] | None:
    """Return the filters that are given, for a layout of days; None when one names a word that no event has."""
    found = [*_enumerated(filters, patterns=patterns)]
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
        in_label = _LABEL_IN_LIST if patterns else _LABEL_IN_TEXT
        condition = in_label if dimension is Dimension.LABEL else f"{column} = {{}}"
        lead = _word(number) if patterns else Lead(column, number)
        found.append(Filter(condition, number, (lead,), dimension))
    return found


def _enumerated(filters: DecisionFilters, *, patterns: bool) -> Iterable[Filter]:
    if filters.visitor is not None:
        code = signed(filters.visitor)
        lead = Lead("visitor", code, "event_visitor" if patterns else "event")
        yield Filter(lead.condition, code, (lead,))
    if filters.labelling:
        both = (Lead("outcome", _CHALLENGE), Lead("would", _CHALLENGE))
        words = (_word(outcome_word(Outcome.CHALLENGE)), _word(would_word(Outcome.CHALLENGE)))
        # The code is a parameter for one column and part of the text for the other.
        condition = f"kind = {_REQUEST} AND (outcome = {{}} OR would = {_CHALLENGE})"
        yield Filter(condition, _CHALLENGE, words if patterns else both)
    if filters.would is not None:
        column = Lead("would", OUTCOME_CODES[filters.would])
        yield Filter(column.condition, column.code, (_word(would_word(filters.would)) if patterns else column,))
    if filters.outcome is Outcome.ALLOW:
        # No index has it: nearly everything is allowed.
        yield Filter("outcome = {}", OUTCOME_CODES[Outcome.ALLOW])
    elif filters.outcome is not None:
        column = Lead("outcome", OUTCOME_CODES[filters.outcome])
        yield Filter(column.condition, column.code, (_word(outcome_word(filters.outcome)) if patterns else column,))
    if filters.kind is not None:
        # Likewise of requests. A challenge has a stage, and those have an index.
        columns = [Lead("stage", STAGE_CODES[stage]) for stage in ChallengeStage]
        stages = [_word(stage_word(stage)) for stage in ChallengeStage] if patterns else columns
        leads = () if filters.kind is DecisionKind.REQUEST else tuple(stages)
        yield Filter("kind = {}", KIND_CODES[filters.kind], leads)


def _word(number: int) -> Lead:
    return Lead(WORD, number, "pattern_word")


def choose(
    filters: Sequence[Filter], counts: Mapping[tuple[int, int], int], day: Indexes, *, known: bool
) -> Filter | None:
    """Return the filter that leads on a day, given how often each value occurred; None if no event can match.

    `known` means that values without a count did not occur.
    """
    ranked = []
    for place, each in enumerate(filters):
        count = counts.get(each.value, 0)
        if each.dimension is not None and known and count == 0:
            return None
        if each.leads and each.can_lead(count, day):
            ranked.append((each.rank(count), place))
    return filters[min(ranked)[1]] if ranked else ALL


# Assumed number of events that a filter without counts finds on a day of a busy site.
_GUESSES = {"visitor": 100, "would": 20_000, "outcome": 20_000, "stage": 50_000, WORD: 20_000}
