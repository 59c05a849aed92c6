"""A site's decisions in SQL, newest first: day by day, found by the rarest filter, then checked against the others.

A scan ends after a limit of rows or time and returns where it stopped, so that no page takes long.
"""

import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from agentgate.events.decision_ids import first_id, id_day, id_time_ms, write_id
from agentgate.events.labels.records import StoredLabel
from agentgate.events.labels.repository import LabelStore
from agentgate.events.queries.ports import DecisionFilters, DecisionScan, DecisionStore, SiteNumber
from agentgate.events.queries.records import Decision
from agentgate.events.records import Dimension, Event
from agentgate.events.storage.days.days import Dimensioned, HourCounts, Narrowed
from agentgate.events.storage.dictionary import OTHER, KnownWords
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import read_events
from agentgate.events.storage.queries.days import DayPart, TrafficDays
from agentgate.events.storage.queries.filters import ALL, LABEL_IN_INDEX, MOST_IN_INDEX, Filter, choose, resolve
from agentgate.events.storage.queries.scan import scan_part
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Reader, Row
from agentgate.lib.enums import LabelledFilter, LabelSource
from agentgate.lib.ids import write_visitor
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional

SCANNED_ROWS = 20_000
SCANNED_S = 0.035
# Events that PostgreSQL looks through in one statement. Only after it is the time looked at.
WINDOW_ROWS = 8_000
# The number of days to scan regardless of time, so that empty pages are rare.
FEWEST_DAYS = 8
# Rows looked at in one go: few at first, because most pages are full soon.
LARGEST_BATCH = 1_000
_GROWTH = 4

# Assumed number of events of a day that match a filter without a count.
UNCOUNTED = 20_000

_COLUMNS = ", ".join(EVENT_COLUMNS)

_ByValue = dict[Dimensioned, int]


class _Budget:
    """How much more a scan may look at."""

    def __init__(self) -> None:
        self._rows = SCANNED_ROWS
        self._until_s = time.monotonic() + SCANNED_S

    def spend(self, rows: int) -> None:
        self._rows -= rows

    @property
    def is_spent(self) -> bool:
        return self._rows <= 0 or time.monotonic() >= self._until_s


class _Scan(NamedTuple):
    """The site, the filters and the size of a scan."""

    site: SiteNumber
    filters: list[Filter]
    without_labelled: bool
    wanted: int


class _Counted:
    """How often the values of filters occur: on closed days, and by hour on days that have been scanned."""

    def __init__(self, closed: dict[int, _ByValue]) -> None:
        self._closed = closed
        self.hours: dict[int, dict[Dimensioned, HourCounts]] = {}

    def of_day(self, part: DayPart) -> _ByValue:
        if part.rolled_up or part.day not in self.hours:
            return self._closed.get(part.day, {})
        return {value: sum(hours.values()) for value, hours in self.hours[part.day].items()}


class DecisionRows:
    """Decisions of rows in the order of EVENT_COLUMNS, with what operators said of them."""

    def __init__(self, words: KnownWords, labels: LabelStore) -> None:
        self._words = words
        self._labels = labels

    async def decisions(self, site: SiteNumber, rows: list[Row]) -> list[Decision]:
        labels = await self._operator_labels(site.id, rows)
        return await read_events(rows, self._words, lambda event: decision_of(site.id, event, labels.get(event.id)))

    async def unlabelled(self, site: SiteNumber, rows: list[Row]) -> list[Row]:
        """Return the rows of decisions of which no operator said anything."""
        labels = await self._operator_labels(site.id, rows)
        return [row for row in rows if row[0] not in labels]

    async def _operator_labels(self, site_id: str, rows: list[Row]) -> dict[int, StoredLabel]:
        labels = await self._labels.find_labels(site_id, [row[0] for row in rows])
        return {label.decision: label for label in labels if label.source is LabelSource.OPERATOR}


class SqlDecisions(DecisionRows, DecisionStore):
    def __init__(self, stats: Reader, days: TrafficDays, words: KnownWords, labels: LabelStore) -> None:
        super().__init__(words, labels)
        self._stats = stats
        self._days = days
        self._stored = days.stored

    async def list_decisions(
        self, site: SiteNumber, span: TimeRange, filters: DecisionFilters, *, before: int | None, limit: int
    ) -> DecisionScan:
        resolved = await resolve(filters, self._words, self._stored)
        if resolved is None:
            return DecisionScan([], None)
        # Fetch one extra row to detect a next page.
        scan = _Scan(site, resolved, filters.labelled is LabelledFilter.NO, limit + 1)
        parts = [part for part in await self._days.parts(span) if before is None or part.least < before]
        counted = _Counted(await self._closed_counts(scan, parts))
        budget = _Budget()
        rows: list[Row] = []
        left = [part._replace(end=part.end if before is None else min(part.end, before)) for part in parts]
        days_together = 1
        while left:
            part = left.pop(0)
            lead = await self._lead(scan, part, counted)
            if lead is None:
                continue
            if self._finds_rows(scan, lead):
                part = self._joined(scan, part, lead, (left, counted, days_together))
                # Few at first, because most pages are full soon.
                days_together *= 2
                stopped = await self._scan_rows(scan, part, lead, (rows, budget, counted))
            else:
                stopped = await self._scan_part(scan, part, lead, (rows, budget))
            if len(rows) >= scan.wanted:
                break
            # Many days with little on each take long as well.
            if stopped is None and len(parts) - len(left) >= FEWEST_DAYS and left and budget.is_spent:
                stopped = part.least
            if stopped is not None:
                return DecisionScan(await self.decisions(site, rows), stopped)
        more = rows[limit - 1][0] if len(rows) > limit else None
        return DecisionScan(await self.decisions(site, rows[:limit]), more)

    async def find_decision(self, site: SiteNumber, decision: int) -> Decision | None:
        row = await self._days.session(id_day(decision)).one(
            f"SELECT {_COLUMNS} FROM event WHERE id = $1 AND site = $2",  # noqa: S608
            decision,
            site.number,
        )
        return (await self.decisions(site, [row]))[0] if row else None

    async def _scan_part(
        self, scan: _Scan, part: DayPart, lead: Filter, found: tuple[list[Row], _Budget]
    ) -> int | None:
        """Add a day's rows; return None at the day's end, or the ID before which the scan was cut."""
        rows, budget = found
        end = part.end
        batch = min(scan.wanted, LARGEST_BATCH)
        while len(rows) < scan.wanted:
            scanned = await scan_part(
                self._stored,
                scan.site.number,
                part._replace(end=end),
                filters=scan.filters,
                lead=lead,
                limit=batch,
            )
            rows += await self._unlabelled(scan, scanned.rows)
            if scanned.last is None or scanned.events < batch:
                return None
            end = scanned.last
            budget.spend(scanned.events)
            if budget.is_spent:
                return end
            batch = min(batch * _GROWTH, LARGEST_BATCH)
        return end

    def _finds_rows(self, scan: _Scan, lead: Filter) -> bool:
        """Return whether one statement with all filters finds rows: if no filter leads and at least one is set, or if
        the index of the leading filter looks on many days in one statement.
        """
        return bool(scan.filters) if lead is ALL else lead.leads[0].column in self._stored.found_together

    def _joined(self, scan: _Scan, part: DayPart, lead: Filter, rest: tuple[list[DayPart], "_Counted", int]) -> DayPart:
        """Return a part that takes in older days on which the same filter leads, and take these from the rest.

        Planning a statement takes PostgreSQL longer than looking a rare value up, so one looks on many days.
        """
        left, counted, days = rest
        events = counted.of_day(part).get(lead.value, 0)
        while lead is not ALL and left and left[0].rolled_up and days > 1:
            counts = counted.of_day(left[0])
            events += counts.get(lead.value, 0)
            if self._closed_lead(scan, left[0], counts) not in {lead, None} or events > MOST_IN_INDEX:
                break
            part = part._replace(least=left.pop(0).least)
            days -= 1
        return part

    async def _scan_rows(
        self, scan: _Scan, part: DayPart, lead: Filter, found: tuple[list[Row], _Budget, "_Counted"]
    ) -> int | None:
        """Do the same as `_scan_part`, with one statement for each window of the day."""
        rows, budget, counted = found
        windows, narrowed = [(part.least, part.end)], None
        if lead is ALL:
            narrowed = await self._narrow(scan, part, counted)
            if narrowed is not None and narrowed.is_empty:
                return None
            windows = await self._windows(scan, part, counted)
        for least, window_end in windows:
            end = window_end
            while len(rows) < scan.wanted:
                limit = min(scan.wanted, LARGEST_BATCH)
                if narrowed is not None:
                    matching = await narrowed.newest(least, end, limit)
                else:
                    matching = await self._rows(scan, part._replace(least=least, end=end), lead, limit)
                rows += await self._unlabelled(scan, matching)
                if len(matching) < limit:
                    break
                end = int(matching[-1][0])
                if budget.is_spent:
                    return end
            if len(rows) >= scan.wanted or (budget.is_spent and least > part.least):
                return least
        return None

    async def _narrow(self, scan: _Scan, part: DayPart, counted: "_Counted") -> Narrowed | None:
        """Return the events for which all filters hold, if the words of the rarest of them are few enough."""
        counts = counted.of_day(part)
        with_words = [each for each in scan.filters if each.words]
        if not with_words:
            return None
        rarest = min(with_words, key=lambda each: counts.get(each.value, 0) if each.dimension else UNCOUNTED)
        # One with several words also finds events that do not match, so check its condition too.
        others = [each for each in scan.filters if each is not rarest or len(each.words) > 1]
        conditions = [(each.condition, each.code) for each in others]
        return await self._stored.narrow(part.day, scan.site.number, rarest.words, conditions)

    async def _windows(self, scan: _Scan, part: DayPart, counted: "_Counted") -> list[tuple[int, int]]:
        """Return the parts of a day that are looked through in one go, newest first: hours that may have a match."""
        may_match = "".join(f" AND {' + '.join(each.counted)} > 0" for each in scan.filters if each.counted)
        hours = await self._days.session(part.day).all(
            f"""SELECT hour, requests + challenges_issued + challenges_passed + challenges_failed,
                    CASE WHEN 1 = 1{may_match} THEN 1 ELSE 0 END FROM site_hour
                WHERE site = $1 AND hour >= $2 AND hour < $3 ORDER BY hour DESC""",  # noqa: S608
            scan.site.number,
            id_time_ms(part.least) // HOUR_MS,
            -(-id_time_ms(part.end) // HOUR_MS),
        )
        by_value = (await self._count_hours(scan, part, counted)).values()
        matching = [(hour, events, may and all(hour in counts for counts in by_value)) for hour, events, may in hours]
        return day_windows(matching, part)

    async def _rows(self, scan: _Scan, part: DayPart, lead: Filter, limit: int) -> list[Row]:
        """Return the newest rows of a window for which all filters hold."""
        conditions = {each: each.condition.format(f"${place}") for place, each in enumerate(scan.filters, 5)}
        if lead.dimension is Dimension.LABEL:
            # Apart, and with nothing else to find them by: PostgreSQL would rather use an index that it knows more of.
            by_label = LABEL_IN_INDEX.format(f"${5 + scan.filters.index(lead)}")
            others = "".join(f" AND {condition}" for each, condition in conditions.items() if each is not lead)
            sql = f"""WITH found AS MATERIALIZED (
                    SELECT {_COLUMNS} FROM event WHERE id >= $2 AND id < $3 AND {by_label})
                SELECT {_COLUMNS} FROM found WHERE site = $1{others} ORDER BY id DESC LIMIT $4"""  # noqa: S608
        else:
            sql = f"""SELECT {_COLUMNS} FROM event
                WHERE site = $1 AND id >= $2 AND id < $3 AND {" AND ".join(conditions.values())}
                ORDER BY id DESC LIMIT $4"""  # noqa: S608
        codes = (each.code for each in scan.filters)
        return await self._days.session(part.day).all(sql, scan.site.number, part.least, part.end, limit, *codes)

    async def _unlabelled(self, scan: _Scan, rows: list[Row]) -> list[Row]:
        return await self.unlabelled(scan.site, rows) if scan.without_labelled else rows

    async def _lead(self, scan: _Scan, part: DayPart, counted: "_Counted") -> Filter | None:
        if all(each.dimension is None for each in scan.filters):
            return choose(scan.filters, {}, indexed=part.indexed, known=False)
        if part.rolled_up:
            return self._closed_lead(scan, part, counted.of_day(part))
        [first, *others] = scan.filters
        if not others and first.dimension is Dimension.RULE and first.can_lead(0, indexed=part.indexed):
            # Nothing to choose between, and its index tells as soon whether there is any.
            return first
        await self._count_hours(scan, part, counted)
        return choose(scan.filters, counted.of_day(part), indexed=part.indexed, known=True)

    def _closed_lead(self, scan: _Scan, part: DayPart, counts: _ByValue) -> Filter | None:
        asked = {each.dimension for each in scan.filters if each.dimension is not None}
        # The rarest values of a busy day are counted together: then a missing one may be among them.
        known = not any((dimension.value, OTHER) in counts for dimension in asked)
        return choose(scan.filters, counts, indexed=part.indexed, known=known)

    async def _count_hours(self, scan: _Scan, part: DayPart, counted: "_Counted") -> dict[Dimensioned, HourCounts]:
        asked = [each.value for each in scan.filters if each.dimension is not None]
        if asked and part.day not in counted.hours:
            counted.hours[part.day] = await self._stored.count_by_hour(part.day, scan.site.number, asked)
        return counted.hours.get(part.day, {})

    async def _closed_counts(self, scan: _Scan, parts: list[DayPart]) -> dict[int, _ByValue]:
        asked = [each.value for each in scan.filters if each.dimension is not None]
        days = [part.day for part in parts if part.rolled_up]
        if not asked or not days:
            return {}
        condition, values = _any_of([*asked, *((dimension, OTHER) for dimension, _ in asked)])
        # By day, because a range of days would read all other values between them.
        rows = await self._stats.all(
            f"""SELECT segment.day, dimension, value, dimension_day.events FROM segment CROSS JOIN dimension_day
                WHERE segment.day >= $2 AND segment.day <= $3
                    AND site = $1 AND dimension_day.day = segment.day AND {condition}""",  # noqa: S608
            scan.site.number,
            min(days),
            max(days),
            *values,
        )
        found: dict[int, _ByValue] = {}
        for day, dimension, value, count in rows:
            found.setdefault(day, {})[dimension, value] = count
        return found


def day_windows(hours: Iterable[Row], part: DayPart) -> list[tuple[int, int]]:
    """Return a part of a day in windows, each with about as many events as one statement may look at: some hours
    together, or parts of a busy one.

    Hours come with their number of events and whether any of them may match, newest first. Other hours have no events.
    """
    found: list[tuple[int, int]] = []
    events = between = 0
    for hour, count, may_match in hours:
        least, end = max(first_id(hour * HOUR_MS), part.least), min(first_id((hour + 1) * HOUR_MS), part.end)
        if not may_match or least >= end:
            between += count
        elif found and events + between + count <= WINDOW_ROWS:
            found[-1] = (least, found[-1][1])
            events, between = events + between + count, 0
        else:
            pieces = max(1, -(-count // WINDOW_ROWS))
            bounds = [end - (end - least) * piece // pieces for piece in range(pieces)]
            found += [(lower, upper) for upper, lower in pairwise([*bounds, least]) if lower < upper]
            events, between = count // pieces, 0
    return found


def _any_of(values: Sequence[tuple[int, int]]) -> tuple[str, list[int]]:
    """Return a condition with places from $4 on, and their values."""
    places = range(4, 4 + 2 * len(values), 2)
    pairs = ", ".join(f"(CAST(${place} AS INTEGER), CAST(${place + 1} AS INTEGER))" for place in places)
    return f"(dimension, value) IN (VALUES {pairs})", [number for pair in values for number in pair]


def decision_of(site_id: str, event: Event, label: StoredLabel | None) -> Decision:
    """Return an event as it goes over the wire."""
    return Decision(
        id=write_id(event.id),
        site_id=site_id,
        time=Moment(id_time_ms(event.id)),
        kind=event.kind,
        route=event.route,
        method=event.method,
        outcome=event.outcome,
        mode=event.mode.value,
        reasons=list(event.reasons),
        labels=list(event.labels),
        status=event.status,
        duration_us=event.duration_us,
        request_id=optional(event.request_id),
        trace_id=optional(event.trace_id),
        visitor_id=optional(None if event.visitor is None else write_visitor(event.visitor)),
        action=optional(event.action),
        would_decision=optional(event.would),
        matched_rule=optional(event.rule),
        rule_set_version=optional(event.rule_set_version),
        model_versions=optional(dict(event.model_versions) or None),
        scores=optional(dict(event.scores) or None),
        agent=optional(event.agent),
        solve_type=optional(event.solve_type),
        operator_label=optional(None if label is None else label.wire()),
    )
