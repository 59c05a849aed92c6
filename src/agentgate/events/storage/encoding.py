"""From events to rows: texts become numbers of the dictionary, and all counts are computed here.

Encoding is pure and synchronous, in steps of a few events each, because a batch of a thousand would block the event
loop. Events that differ only in individual values, such as the ID, share one pattern; it is encoded once and counted as
often as it occurs.
"""

from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import msgspec

from agentgate.events.decision_ids import first_id, id_time_ms
from agentgate.events.records import SHAPE, Event, Pattern, Recorded, Repeated
from agentgate.events.storage.codes import KIND_CODES, MODE_CODES, OUTCOME_CODES, SOLVE_TYPE_CODES, STAGE_CODES
from agentgate.events.storage.dictionary import LONGEST, OTHER, KnownWords, WordKind
from agentgate.events.storage.shapes import (
    ACTION,
    AGENT,
    CHECK_ACTION,
    DIMENSION_SHIFT,
    ERRORS_PLACE,
    REASON,
    REFUSED_REASON,
    REFUSED_RULE,
    ROUTE,
    RULE,
    SOLVE_TYPE,
    WOULD_REASON,
    WOULD_RULE,
    EncodedEvent,
    Listed,
    Remembered,
    Shape,
    SiteHour,
    StoredPattern,
    outcome_word,
    places_of,
    stage_word,
    would_word,
)
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Row, Sums
from agentgate.lib.enums import DecisionKind, Outcome

# As readers ask for them.
EVENT_COLUMNS = (
    *("id", "site", "visitor", "kind", "mode", "outcome", "would", "method", "route", "action", "status"),
    *("duration_us", "ruled", "rule", "rule_set_version", "model_versions", "agent", "stage", "solve_type"),
    *("solve_ms", "error", "reasons", "labels", "scores", "shadow_scores", "request_id", "trace_id"),
)
# Columns that events of a pattern share, and columns of a single event, which few events have.
PATTERN_COLUMNS = (
    *("site", "kind", "mode", "outcome", "would", "method", "route", "action", "status", "ruled", "rule"),
    *("rule_set_version", "agent", "stage", "solve_type", "error", "reasons"),
    *("labels", "model_versions", "scores", "shadow_scores"),
)
DETAIL_COLUMNS = ("request_id", "trace_id", "solve_ms")
# An event as one wide row.
WIDE_COLUMNS = ("id", "visitor", "duration_us", *PATTERN_COLUMNS, *DETAIL_COLUMNS)
COUNT_COLUMNS = (
    *("requests", "allowed", "challenged", "blocked", "dropped", "would_challenge", "would_block", "would_drop"),
    *("challenges_issued", "challenges_passed", "challenges_failed", "duration_us", "errors"),
)
SITE_HOUR = Sums("site_hour", ("site", "hour"), COUNT_COLUMNS, ("last_event_ms",))
# On PostgreSQL, and on SQLite.
ARRAY_COLUMNS = ("site", "hour", "keys", "counts")
OBJECT_COLUMNS = ("site", "hour", "counts")

# Events encoded before yielding to the event loop.
STEP = 32

_VALUE_MASK = (1 << DIMENSION_SHIFT) - 1
_CHALLENGE = DecisionKind.CHALLENGE
_SIGN = 1 << 63

_OWN_LAST = slice(SHAPE.stop, None)
_SITE_AND_ID = itemgetter(0, 1)
_as_tuple = msgspec.structs.astuple
_to_json = msgspec.json.Encoder(order="sorted").encode
_to_object = msgspec.json.Encoder().encode


# Request ID, trace ID, time of solving.
Details = tuple[str | None, str | None, int | None]
NO_DETAILS: Details = (None, None, None)


@dataclass(frozen=True)
class EncodedEvents:
    """Rows for one transaction. All are sorted."""

    events: list[EncodedEvent]
    # Values of DETAIL_COLUMNS by site and ID of the event.
    details: dict[tuple[int, int], Details]
    hours: list[Row]
    # Site, hour, and how many events each value has, under its key.
    dimensions: list[tuple[int, int, dict[int, int]]]

    def wide(self) -> list[Row]:
        """Return whole events in the order of WIDE_COLUMNS."""
        found, columns = self.details.get, {pattern: pattern.columns for *_, pattern in self.events}
        return [
            (identifier, visitor, duration_us, *columns[pattern], *found((site, identifier), NO_DETAILS))
            for site, identifier, visitor, duration_us, pattern in self.events
        ]

    def arrays(self) -> list[Row]:
        """Return the counts by value in the order of ARRAY_COLUMNS."""
        return [
            (site, hour, "{" + ",".join(map(str, values)) + "}", "{" + ",".join(map(str, values.values())) + "}")
            for site, hour, values in self.dimensions
        ]

    def objects(self) -> list[Row]:
        """Return the same in the order of OBJECT_COLUMNS."""
        return [(site, hour, _to_object(values).decode()) for site, hour, values in self.dimensions]


class _Numbers(dict[str, int]):
    """Text -> number of one kind, for one batch. A text that was looked up once is found without a call."""

    def __init__(self, words: KnownWords, kind: WordKind, missing: set[tuple[WordKind, str]]) -> None:
        super().__init__()
        self._known = words.numbers(kind)
        self._is_full = words.is_full(kind)
        self._kind = kind
        self._missing = missing

    def __missing__(self, text: str) -> int:
        number = self._known.get(text, OTHER)
        if number == OTHER and not self._is_full and len(text) <= LONGEST and _text(text) == text:
            self._missing.add((self._kind, text))
        self[text] = number
        return number


class EventEncoder:
    """Encodes one batch. If `missing` contains any words without a number, discard the rows."""

    def __init__(self, words: KnownWords, remembered: Remembered | None = None) -> None:
        self.missing: set[tuple[WordKind, str]] = set()
        self._methods = _Numbers(words, WordKind.METHOD, self.missing)
        self._routes = _Numbers(words, WordKind.ROUTE, self.missing)
        self._actions = _Numbers(words, WordKind.ACTION, self.missing)
        self._rules = _Numbers(words, WordKind.RULE, self.missing)
        self._agents = _Numbers(words, WordKind.AGENT, self.missing)
        self._rule_set_versions = _Numbers(words, WordKind.RULE_SET_VERSION, self.missing)
        self._model_versions = _Numbers(words, WordKind.MODEL_VERSIONS, self.missing)
        self._labels = _Numbers(words, WordKind.LABEL, self.missing)
        self._reason_numbers = _Numbers(words, WordKind.REASON, self.missing)
        self._reasons: dict[tuple[str, ...], Listed] = {}
        self._remembered = remembered or Remembered()
        self._remembered.make_room()
        # Shapes and patterns made after the first word without a number, for this batch only.
        self._unnumbered = Remembered()
        self._rows: list[EncodedEvent] = []
        self._details: dict[tuple[int, int], Details] = {}
        # Patterns of this batch.
        self._repeated: dict[Pattern, tuple[StoredPattern, Details | None]] = {}
        # The versions of models that the event before had, with their number.
        self._versions: tuple[Mapping[str, str], Mapping[str, str], int | None] = ({}, {}, None)

    def encode(self, events: Sequence[Recorded]) -> EncodedEvents:
        """Return the rows of a batch."""
        steps = self.steps(events)
        while True:
            try:
                next(steps)
            except StopIteration as finished:
                encoded: EncodedEvents = finished.value
                return encoded

    def steps(self, events: Sequence[Recorded]) -> Generator[None, None, EncodedEvents]:
        """Encode a batch, a little with each step."""
        for start in range(0, len(events), STEP):
            self._add(events[start : start + STEP])
            yield
        # By site and ID, which are never both equal. Without a key, which would be another tuple for each event.
        ordered: list[Any] = self._rows
        ordered.sort()
        hours: list[Row] = []
        dimensions = []
        for site, number, rows in _by_hour(self._rows):
            hour = SiteHour(rows)
            counts, values = hour.take()
            hours.append((site, number, *counts))
            yield
            hour.count_labels(values)
            dimensions.append((site, number, values))
            yield
        return EncodedEvents(self._rows, self._details, hours, dimensions)

    def _add(self, events: Sequence[Recorded]) -> None:
        """Encode some events. A plain loop takes half the time of `map` and `zip` over columns of all events."""
        known, put = self._repeated, self._rows.append
        for event in events:
            if isinstance(event, Repeated):
                pattern = event.pattern
                stored, details = known.get(pattern) or self._repeat(pattern)
                if event.correlation is not None:
                    details = (*event.correlation, pattern.event.solve_ms)
            else:
                stored, details = self._encode(event)
            visitor, site = event.visitor, stored.site
            if visitor is not None and visitor >= _SIGN:
                # As `signed`, without a call for each.
                visitor -= 2 * _SIGN
            put((site, event.id, visitor, event.duration_us, stored))
            if details is not None:
                self._details[site, event.id] = details

    def _repeat(self, pattern: Pattern) -> tuple[StoredPattern, Details | None]:
        """Return what events of a pattern have in common, and let the next ones of this batch find it."""
        remembered, stored, details = pattern.encoded
        if remembered is not self._remembered.since:
            stored, details = self._encode(pattern.event)
            # Cache only complete encodings: a word without a number may get one later.
            if not self.missing:
                pattern.encoded = self._remembered.since, stored, details
        self._repeated[pattern] = stored, details
        return stored, details

    def _encode(self, event: Event) -> tuple[StoredPattern, Details | None]:
        """Return what an event has in common with others, and its details."""
        values = _as_tuple(event)
        key, last = values[SHAPE], values[_OWN_LAST]
        shape = self._known().shapes.get(key) or self._shape(key)
        listed = self._known().labels.get(last[0]) or self._list(last[0])
        return self._pattern(shape, listed, last), _details(last)

    def _pattern(self, shape: Shape, listed: Listed, last: tuple[Any, ...]) -> StoredPattern:
        _, scores, active, shadow_scores, shadow, *_ = last
        versions = self._versions
        own = (
            versions[2] if versions[0] is active and versions[1] is shadow else self._versions_number(active, shadow),
            _json(scores) if scores else None,
            _json(shadow_scores) if shadow_scores else None,
        )
        known, key = self._known().patterns, (shape, listed, own)
        found = known.get(key)
        if found is None:
            found = known[key] = StoredPattern(shape, listed, own)
        return found

    def _known(self) -> Remembered:
        # Cache only complete encodings: a word without a number may get one later.
        return self._unnumbered if self.missing else self._remembered

    def _list(self, labels: tuple[str, ...]) -> Listed:
        listed = Listed(map(self._labels.__getitem__, labels))
        self._known().labels[labels] = listed
        return listed

    def _shape(self, key: tuple[Any, ...]) -> Shape:
        site, kind, mode, outcome, method, route, status, would, action = key[:9]
        reasons, ruled, rule, rule_set_version, agent, stage, solve_type, error = key[9:]
        listed = self._reasons.get(reasons)
        if listed is None:
            listed = self._reasons[reasons] = Listed(map(self._reason_numbers.__getitem__, reasons))
        route = self._routes[route]
        action = None if action is None else self._actions[action]
        rule = None if rule is None else self._rules[rule]
        agent = None if agent is None else self._agents[agent]
        solve_type = None if solve_type is None else SOLVE_TYPE_CODES[solve_type]
        words = [] if outcome is Outcome.ALLOW else [outcome_word(outcome)]
        if would is not None:
            words.append(would_word(would))
        if stage is not None:
            words.append(stage_word(stage))
        words += [word for word in (action, rule) if word is not None]
        is_request = kind is not _CHALLENGE
        named: tuple[tuple[int, int | None], ...] = ((ACTION, action), (RULE, rule), (SOLVE_TYPE, solve_type))
        named += ((ROUTE, route), (AGENT, agent)) if is_request else ((CHECK_ACTION, action),)
        values = [*places_of(kind, stage, outcome, would)]
        values += [dimension + value for dimension, value in named if value is not None]
        if is_request:
            values += [REASON + reason for reason in listed.numbers]
            values += _causes(outcome, would, rule, listed)
            if error:
                values.append(ERRORS_PLACE)
        columns = (
            site,
            KIND_CODES[kind],
            MODE_CODES[mode],
            OUTCOME_CODES[outcome],
            None if would is None else OUTCOME_CODES[would],
            self._methods[method],
            route,
            action,
            status,
            int(ruled),
            rule,
            None if rule_set_version is None else self._rule_set_versions[rule_set_version],
            agent,
            None if stage is None else STAGE_CODES[stage],
            solve_type,
            int(error),
            listed.written,
        )
        shape = Shape(columns, values, words, is_request=is_request)
        self._known().shapes[key] = shape
        return shape

    def _versions_number(self, active: Mapping[str, str], shadow: Mapping[str, str]) -> int | None:
        last = self._versions
        if last[0] == active and last[1] == shadow:
            number = last[2]
        else:
            written = _to_json({"active": dict(active), "shadow": dict(shadow)}).decode()
            number = self._model_versions[written] if active or shadow else None
        self._versions = active, shadow, number
        return number


def _causes(outcome: Outcome, would: Outcome | None, rule: int | None, reasons: Listed) -> Iterator[int]:
    """Yield why a request was not allowed, or would not have been: the rule that decided, or the reason."""
    for is_refused, of_rule, of_reason in (
        (outcome is not Outcome.ALLOW, REFUSED_RULE, REFUSED_REASON),
        (would is not None and would is not Outcome.ALLOW, WOULD_RULE, WOULD_REASON),
    ):
        if is_refused:
            yield from [of_reason + reason for reason in reasons.numbers] if rule is None else (of_rule + rule,)


def _by_hour(rows: Sequence[EncodedEvent]) -> Iterator[tuple[int, int, Sequence[EncodedEvent]]]:
    """Yield each site and hour with its events. They are adjacent, because rows are sorted by site and ID."""
    start = 0
    while start < len(rows):
        site, identifier = _SITE_AND_ID(rows[start])
        hour = id_time_ms(identifier) // HOUR_MS
        end = bisect_left(rows, (site, first_id((hour + 1) * HOUR_MS)), start + 1, key=_SITE_AND_ID)
        yield site, hour, rows[start:end]
        start = end


def value_key(dimension: int, value: int) -> int:
    """Return the number under which a count is kept."""
    return dimension << DIMENSION_SHIFT | value


def split_key(key: int) -> tuple[int, int]:
    """Return dimension and value of a number under which a count is kept."""
    return key >> DIMENSION_SHIFT, key & _VALUE_MASK


def _json(values: Mapping[str, float]) -> str:
    return _to_json(values if type(values) is dict else dict(values)).decode()


def _details(last: tuple[Any, ...]) -> Details | None:
    """Return request ID, trace ID and solve time of an event's last fields; None when it has none of them."""
    request_id, trace_id, solve_ms = last[5:8]
    if request_id is None and trace_id is None and solve_ms is None:
        return None
    return (
        None if request_id is None else _text(request_id),
        None if trace_id is None else _text(trace_id),
        solve_ms,
    )


def _text(text: str) -> str:
    """Return text that both databases keep: without NUL and lone surrogates."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "")
