"""From events to rows: texts become numbers of the dictionary, and everything that is counted is counted here.

Pure and synchronous; it runs on a thread, because a thousand events take some milliseconds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import msgspec

from agentgate.core.clock import HOUR_MS
from agentgate.core.database import Row, Sums
from agentgate.core.decision_ids import id_time_ms
from agentgate.core.enums import ChallengeStage, DecisionKind, Outcome
from agentgate.events.records import Dimension, Event
from agentgate.store.sql.event_codes import (
    KIND_CODES,
    MODE_CODES,
    OUTCOME_CODES,
    SOLVE_TYPE_CODES,
    STAGE_CODES,
    signed,
)
from agentgate.store.sql.event_words import LONGEST, OTHER, WordKind, Words

EVENT_COLUMNS = (
    *("id", "site", "visitor", "kind", "mode", "outcome", "would", "method", "route", "action", "status"),
    *("duration_us", "ruled", "rule", "rule_set_version", "model_versions", "agent", "stage", "solve_type"),
    *("solve_ms", "error", "reasons", "labels", "scores", "shadow_scores", "request_id", "trace_id"),
)
LABEL_COLUMNS = ("site", "label", "id")
COUNT_COLUMNS = (
    *("requests", "allowed", "challenged", "blocked", "dropped", "would_challenge", "would_block", "would_drop"),
    *("challenges_issued", "challenges_passed", "challenges_failed", "duration_us", "errors"),
)
SITE_HOUR = Sums("site_hour", ("site", "hour"), COUNT_COLUMNS, ("last_event_ms",))
PACK_COLUMNS = ("site", "hour", "keys", "counts")
DIMENSION_HOUR = Sums("dimension_hour", ("site", "hour", "dimension", "value"), ("events",))

_OUTCOME_PLACE = {Outcome.ALLOW: 1, Outcome.CHALLENGE: 2, Outcome.BLOCK: 3, Outcome.DROP: 4}
_WOULD_PLACE = {Outcome.CHALLENGE: 5, Outcome.BLOCK: 6, Outcome.DROP: 7}
_STAGE_PLACE = {ChallengeStage.ISSUED: 8, ChallengeStage.PASSED: 9, ChallengeStage.FAILED: 10}
_DURATION_PLACE, _ERRORS_PLACE, _LAST_PLACE = 11, 12, 13

# A value of a dimension as one number, the dimension in front: quicker to find and to sort than a pair. Packed counts
# are kept under these numbers.
_DIMENSION_SHIFT = 24
_VALUE_MASK = (1 << _DIMENSION_SHIFT) - 1
_ACTION, _ROUTE, _REASON, _LABEL, _AGENT, _RULE, _SOLVE_TYPE = (
    dimension.value << _DIMENSION_SHIFT for dimension in Dimension
)
_CHALLENGE = DecisionKind.CHALLENGE

_to_json = msgspec.json.Encoder(order="sorted").encode

# Texts of one kind that go into an event together, as numbers and as they are written into its row.
_Listed = tuple[tuple[int, ...], str]


@dataclass(frozen=True)
class EncodedEvents:
    """Rows for one transaction. Those that are added up are sorted."""

    events: list[Row]
    hours: list[Row]
    # In the order of DIMENSION_HOUR's columns; packed, in that of PACK_COLUMNS.
    dimensions: list[Row]
    # Packed, there are none.
    labels: list[Row]


class _Hour:
    """What is counted of one site in one hour."""

    __slots__ = ("counts", "labelled", "values")

    def __init__(self) -> None:
        self.counts = [0] * (_LAST_PLACE + 1)
        # Labels -> the events that had just these. The same few hundred lists come again and again.
        self.labelled: dict[tuple[int, ...], list[int]] = {}
        # Dimension and value -> events.
        self.values: dict[int, int] = {}

    def add(self, event: Event, time_ms: int) -> None:
        """Count an event. Challenges are no requests, so they have columns of their own."""
        counts = self.counts
        counts[_LAST_PLACE] = max(counts[_LAST_PLACE], time_ms)
        if event.kind is _CHALLENGE:
            if event.stage is not None:
                counts[_STAGE_PLACE[event.stage]] += 1
            return
        counts[0] += 1
        counts[_OUTCOME_PLACE[event.outcome]] += 1
        if event.would is not None and event.would is not Outcome.ALLOW:
            counts[_WOULD_PLACE[event.would]] += 1
        counts[_DURATION_PLACE] += event.duration_us
        if event.error:
            counts[_ERRORS_PLACE] += 1

    def add_value(self, value: int) -> None:
        """Count an event under a value, its dimension in front."""
        self.values[value] = self.values.get(value, 0) + 1

    def count_labels(self) -> None:
        """Count each label."""
        values = self.values
        for labels, events in self.labelled.items():
            for label in labels:
                key = _LABEL + label
                values[key] = values.get(key, 0) + len(events)

    def events_by_label(self) -> dict[int, list[int]]:
        """Return the IDs of events by label, and count each label."""
        found: dict[int, list[int]] = {}
        for labels, events in self.labelled.items():
            for label in labels:
                if label in found:
                    found[label] += events
                else:
                    found[label] = events.copy()
        for label, events in found.items():
            self.values[_LABEL + label] = len(events)
        return found


class _Numbers(dict[str, int]):
    """Text -> number of one kind, for one batch. What was looked up once is found without a call."""

    def __init__(self, words: Words, kind: WordKind, missing: set[tuple[WordKind, str]]) -> None:
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


class _Lists(dict[tuple[str, ...], _Listed]):
    """Texts -> their numbers and how these are written. Many events of a batch have the very same lists."""

    def __init__(self, numbers: _Numbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, texts: tuple[str, ...]) -> _Listed:
        # Each number once: several words past the last number are all `other`.
        numbers = tuple(dict.fromkeys(map(self._numbers.__getitem__, texts)))
        listed = self[texts] = numbers, "[" + ",".join(map(str, numbers)) + "]"
        return listed


class EventEncoder:
    """Encodes one batch. What has no number yet is gathered in `missing`; then the rows are of no use."""

    def __init__(self, words: Words) -> None:
        self.missing: set[tuple[WordKind, str]] = set()
        self._methods = _Numbers(words, WordKind.METHOD, self.missing)
        self._routes = _Numbers(words, WordKind.ROUTE, self.missing)
        self._actions = _Numbers(words, WordKind.ACTION, self.missing)
        self._rules = _Numbers(words, WordKind.RULE, self.missing)
        self._agents = _Numbers(words, WordKind.AGENT, self.missing)
        self._rule_set_versions = _Numbers(words, WordKind.RULE_SET_VERSION, self.missing)
        self._model_versions = _Numbers(words, WordKind.MODEL_VERSIONS, self.missing)
        self._labels = _Lists(_Numbers(words, WordKind.LABEL, self.missing))
        self._reasons = _Lists(_Numbers(words, WordKind.REASON, self.missing))
        # The versions of the event before, and their number: nearly all events of a batch have the same.
        self._last_versions: tuple[Mapping[str, str], Mapping[str, str], int] | None = None

    def encode(self, events: Sequence[Event], *, packed: bool = False) -> EncodedEvents:
        """Return the rows of a batch; packed, one row for all values of a site's hour."""
        hours: defaultdict[tuple[int, int], _Hour] = defaultdict(_Hour)
        rows = [self._row(event, hours) for event in events]
        rows.sort(key=itemgetter(0))
        in_order = sorted(hours.items(), key=itemgetter(0))
        counted = [(*place, *hour.counts) for place, hour in in_order]
        if packed:
            return EncodedEvents(
                rows, counted, dimensions=[_packed(place, hour) for place, hour in in_order], labels=[]
            )
        labels: list[Row] = []
        for (site, _), hour in in_order:
            # Neighbours in the index come one after the other, but for a batch at the turn of an hour.
            for label, events_of_label in sorted(hour.events_by_label().items()):
                labels += [(site, label, event) for event in events_of_label]
        return EncodedEvents(rows, counted, dimensions=list(_apart(in_order)), labels=labels)

    def _row(self, event: Event, hours: defaultdict[tuple[int, int], _Hour]) -> Row:
        identifier, site = event.id, event.site
        time_ms = id_time_ms(identifier)
        hour = hours[site, time_ms // HOUR_MS]
        labels, labels_json = self._labels[event.labels]
        reasons, reasons_json = self._reasons[event.reasons]
        route = self._routes[event.route]
        action = None if event.action is None else self._actions[event.action]
        rule = None if event.rule is None else self._rules[event.rule]
        agent = None if event.agent is None else self._agents[event.agent]
        solve_type = None if event.solve_type is None else SOLVE_TYPE_CODES[event.solve_type]
        hour.add(event, time_ms)
        hour.labelled.setdefault(labels, []).append(identifier)
        hour.add_value(_ROUTE + route)
        for reason in reasons:
            hour.add_value(_REASON + reason)
        if action is not None:
            hour.add_value(_ACTION + action)
        if rule is not None:
            hour.add_value(_RULE + rule)
        if agent is not None:
            hour.add_value(_AGENT + agent)
        if solve_type is not None:
            hour.add_value(_SOLVE_TYPE + solve_type)
        return (
            identifier,
            site,
            None if event.visitor is None else signed(event.visitor),
            KIND_CODES[event.kind],
            MODE_CODES[event.mode],
            OUTCOME_CODES[event.outcome],
            None if event.would is None else OUTCOME_CODES[event.would],
            self._methods[event.method],
            route,
            action,
            event.status,
            event.duration_us,
            int(event.ruled),
            rule,
            None if event.rule_set_version is None else self._rule_set_versions[event.rule_set_version],
            self._versions_number(event),
            agent,
            None if event.stage is None else STAGE_CODES[event.stage],
            solve_type,
            event.solve_ms,
            int(event.error),
            reasons_json,
            labels_json,
            _json(event.scores),
            _json(event.shadow_scores),
            _text(event.request_id),
            _text(event.trace_id),
        )

    def _versions_number(self, event: Event) -> int | None:
        active, shadow = event.model_versions, event.shadow_versions
        last = self._last_versions
        if last is not None and last[0] == active and last[1] == shadow:
            return last[2]
        if not active and not shadow:
            return None
        number = self._model_versions[_to_json({"active": dict(active), "shadow": dict(shadow)}).decode()]
        self._last_versions = active, shadow, number
        return number


def packed_key(dimension: int, value: int) -> int:
    """Return the number under which a count is kept."""
    return dimension << _DIMENSION_SHIFT | value


def unpacked_key(key: int) -> tuple[int, int]:
    """Return dimension and value of a number under which a count is kept."""
    return key >> _DIMENSION_SHIFT, key & _VALUE_MASK


def _apart(hours: Iterable[tuple[tuple[int, int], _Hour]]) -> Iterator[Row]:
    for place, hour in hours:
        for key, counted in sorted(hour.values.items()):
            yield (*place, *unpacked_key(key), counted)


def _packed(place: tuple[int, int], hour: _Hour) -> Row:
    hour.count_labels()
    values = hour.values
    return (*place, "{" + ",".join(map(str, values)) + "}", "{" + ",".join(map(str, values.values())) + "}")


def _json(values: Mapping[str, float]) -> str | None:
    if not values:
        return None
    return _to_json(values if type(values) is dict else dict(values)).decode()


def _text(text: str | None) -> str | None:
    """Return text that both databases keep: without NUL and lone surrogates."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "")
