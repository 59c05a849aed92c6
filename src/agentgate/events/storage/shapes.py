"""Shapes and patterns: the fields that many events have in common, encoded once and counted as often as they occur.

How an event becomes a row is in `encoding`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress
from operator import attrgetter, itemgetter
from typing import Any

from agentgate.events.decision_ids import id_time_ms
from agentgate.events.records import Dimension
from agentgate.events.storage.codes import OUTCOME_CODES, STAGE_CODES
from agentgate.events.storage.dictionary import OTHER
from agentgate.lib.database import Row
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome

# The number of patterns, and of shapes and lists of labels, to cache. If one kind reaches it, all are evicted.
MOST_REMEMBERED = 8_192

# Places among the columns that count a site's events by the hour.
_REQUESTS_PLACE = 0
_OUTCOME_PLACE = {Outcome.ALLOW: 1, Outcome.CHALLENGE: 2, Outcome.BLOCK: 3, Outcome.DROP: 4}
_WOULD_PLACE = {Outcome.CHALLENGE: 5, Outcome.BLOCK: 6, Outcome.DROP: 7}
_STAGE_PLACE = {ChallengeStage.ISSUED: 8, ChallengeStage.PASSED: 9, ChallengeStage.FAILED: 10}
_DURATION_PLACE, ERRORS_PLACE, _LAST_PLACE = 11, 12, 13

# A value of a dimension as one number, the dimension in front: quicker to find and to sort than a pair. Counts
# are kept under these numbers.
DIMENSION_SHIFT = 24
_PLACES = [dimension.value << DIMENSION_SHIFT for dimension in Dimension]
ACTION, ROUTE, REASON, LABEL, AGENT, RULE, SOLVE_TYPE, *_PLACES_OF_REQUESTS, CHECK_LABEL, CHECK_ACTION = _PLACES
REFUSED_REASON, REFUSED_RULE, WOULD_REASON, WOULD_RULE = _PLACES_OF_REQUESTS


_id, _duration_us, _pattern = itemgetter(1), itemgetter(3), itemgetter(4)
_is_request = attrgetter("shape.is_request")

# Words that find events but are not texts. They are below zero, where the dictionary has no numbers.
_OUTCOME_WORD, _WOULD_WORD, _STAGE_WORD = -10, -20, -30


class Listed:
    """Texts of one kind that an event has together: as numbers, and as they are written into its row."""

    __slots__ = ("numbers", "written")

    def __init__(self, numbers: Iterable[int]) -> None:
        # Each number once: several words past the last number are all `other`.
        self.numbers = tuple(dict.fromkeys(numbers))
        self.written = "[" + ",".join(map(str, self.numbers)) + "]"


class Shape:
    """The columns that events share but for ID, visitor, duration and labels, and the counters that each adds to."""

    __slots__ = ("columns", "is_request", "site", "values", "words")

    def __init__(self, columns: Row, values: list[int], words: list[int], *, is_request: bool) -> None:
        self.site: int = columns[0]
        self.columns = columns
        # Words by which events are found, besides labels.
        self.words = words
        # The values of dimensions, and the places among COUNT_COLUMNS (they are smaller than every value).
        self.values = values
        # Only these have a duration.
        self.is_request = is_request


class StoredPattern:
    """All that events have in common which differ in ID, visitor, duration and details alone."""

    __slots__ = ("epoch", "labels", "last", "number", "shape", "site")

    def __init__(self, shape: Shape, labels: Listed, last: tuple[int | None, str | None, str | None]) -> None:
        self.shape = shape
        self.site = shape.site
        self.labels = labels
        # Versions of models, scores, and scores of candidates.
        self.last = last
        # The number that the pattern has in a day, and in which: see `days/patterns.py`. Both change at once.
        self.epoch: int | None = None
        self.number = 0

    @property
    def columns(self) -> Row:
        """In the order of PATTERN_COLUMNS."""
        return (*self.shape.columns, self.labels.written, *self.last)

    @property
    def words(self) -> set[int]:
        """Words by which events are found, except texts for which the dictionary had no number."""
        return {*self.shape.words, *self.labels.numbers} - {OTHER}


# Site, ID, visitor, duration, and everything else.
EncodedEvent = tuple[int, int, int | None, int, StoredPattern]


class Remembered:
    """Shapes, label lists and patterns of earlier batches. Numbers of words never change, so these stay valid."""

    def __init__(self) -> None:
        # Replaced whenever the cache is cleared, so that patterns can detect whether they are still cached.
        self.since = object()
        self.shapes: dict[tuple[Any, ...], Shape] = {}
        self.labels: dict[tuple[str, ...], Listed] = {}
        self.patterns: dict[tuple[Any, ...], StoredPattern] = {}

    def make_room(self) -> None:
        """Forget everything when it has become much: simpler than any order of age, and as good here."""
        kinds: tuple[dict[Any, Any], ...] = (self.shapes, self.labels, self.patterns)
        if max(map(len, kinds)) >= MOST_REMEMBERED:
            # Clear all kinds together: a pattern of an evicted shape would never be found again.
            for each in kinds:
                each.clear()
            self.since = object()


class SiteHour:
    """The events of one site in one hour, to be counted. There is at least one, and the newest is the last."""

    def __init__(self, events: Sequence[EncodedEvent]) -> None:
        self._events = events
        # Counted once: patterns are far fewer than events, and what they have is added up for each.
        self._patterns = Counter(map(_pattern, events))

    def take(self) -> tuple[list[int], dict[int, int]]:
        """Return the values of COUNT_COLUMNS with the newest event's time, and the events by value, without labels."""
        found: dict[int, int] = {}
        for pattern, events in self._patterns.items():
            for value in pattern.shape.values:
                found[value] = found.get(value, 0) + events
        counts = [found.pop(place, 0) for place in range(_LAST_PLACE + 1)]
        durations: Iterable[int] = map(_duration_us, self._events)
        if not all(map(_is_request, self._patterns)):
            durations = compress(durations, map(_is_request, map(_pattern, self._events)))
        counts[_DURATION_PLACE] = sum(durations)
        counts[_LAST_PLACE] = id_time_ms(_id(self._events[-1]))
        return counts, found

    def count_labels(self, values: dict[int, int]) -> None:
        for pattern, events in self._patterns.items():
            for label in pattern.labels.numbers:
                key = LABEL + label
                values[key] = values.get(key, 0) + events
                if not pattern.shape.is_request:
                    key = CHECK_LABEL + label
                    values[key] = values.get(key, 0) + events


def places_of(
    kind: DecisionKind, stage: ChallengeStage | None, outcome: Outcome, would: Outcome | None
) -> tuple[int, ...]:
    """Return which of COUNT_COLUMNS count an event. Challenges do not count as requests and have separate columns."""
    if kind is DecisionKind.CHALLENGE:
        return () if stage is None else (_STAGE_PLACE[stage],)
    if would is None or would is Outcome.ALLOW:
        return (_REQUESTS_PLACE, _OUTCOME_PLACE[outcome])
    return (_REQUESTS_PLACE, _OUTCOME_PLACE[outcome], _WOULD_PLACE[would])


def outcome_word(outcome: Outcome) -> int:
    """Return the word of events with an outcome. Nearly all events are allowed, so no filter uses the word of ALLOW."""
    return _OUTCOME_WORD - OUTCOME_CODES[outcome]


def would_word(would: Outcome) -> int:
    """Return the word of events that enforce mode would have decided so."""
    return _WOULD_WORD - OUTCOME_CODES[would]


def stage_word(stage: ChallengeStage) -> int:
    return _STAGE_WORD - STAGE_CODES[stage]
