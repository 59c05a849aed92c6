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
from agentgate.events.storage.dictionary import OTHER, KnownWords
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import read_events
from agentgate.events.storage.queries.days import DayPart, TrafficDays
from agentgate.events.storage.queries.filters import ALL, LABEL_IN_INDEX, MOST_IN_INDEX, WORD, Filter, choose, resolve
from agentgate.events.storage.queries.joined import count_array_values, count_json_values
from agentgate.events.storage.queries.scan import find_newest, find_patterns, scan_part
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

_COLUMNS = ", ".join(EVENT_COLUMNS)

# Dimension and value -> how many events.
_ByValue = dict[tuple[int, int], int]


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

    async def list_decisions(
        self, site: SiteNumber, span: TimeRange, filters: DecisionFilters, *, before: int | None, limit: int
    ) -> DecisionScan:
        resolved = await resolve(filters, self._words, patterns=self._days.layout.patterns)
        if resolved is None:
            return DecisionScan([], None)
        # Fetch one extra row to detect a next page.
        scan = _Scan(site, resolved, filters.labelled is LabelledFilter.NO, limit + 1)
        parts = [part for part in await self._days.parts(span) if before is None or part.least < before]
        counted = await self._closed_counts(scan, parts)
        budget = _Budget()
        rows: list[Row] = []
        left = [part._replace(end=part.end if before is None else min(part.end, before)) for part in parts]
        pieces: list[DayPart] = []
        days_together = 1
        while left or pieces:
            pieces = pieces or await self._split(scan, left.pop(0))
            part = pieces.pop(0)
            lead = await self._lead(scan, part, counted)
            if lead is None:
                continue
            if lead.leads and lead.leads[0].column == WORD:
                stopped = await self._scan_patterns(scan, part, lead, (rows, budget))
            elif self._finds_rows(scan, lead):
                part = self._joined(scan, part, lead, (left, counted, days_together))
                # Few at first, because most pages are full soon.
                days_together *= 2
                stopped = await self._scan_rows(scan, part, lead, (rows, budget))
            else:
                stopped = await self._scan_part(scan, part, lead, (rows, budget))
            if len(rows) >= scan.wanted:
                break
            # Many days with little on each take long as well.
            if stopped is None and len(parts) - len(left) >= FEWEST_DAYS and (left or pieces) and budget.is_spent:
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

    async def _split(self, scan: _Scan, part: DayPart) -> list[DayPart]:
        """If filters use postings, split a part into pieces whose events either all have postings or have none."""
        if not self._days.layout.patterns or not any(each.leads for each in scan.filters):
            return [part]
        return await self._days.split(part, scan.site.number)

    async def _scan_patterns(
        self, scan: _Scan, part: DayPart, lead: Filter, found: tuple[list[Row], _Budget]
    ) -> int | None:
        """Do the same as `_scan_part` through the patterns for which all filters hold, if these are not too many."""
        rows, budget = found
        session, site = self._days.session(part.day), scan.site.number
        patterns = await find_patterns(session, site, scan.filters, lead)
        limit = min(scan.wanted, LARGEST_BATCH)
        while patterns is not None and len(rows) < scan.wanted:
            newest = await find_newest(session, site, part, patterns=patterns, limit=limit)
            if newest is None:
                break
            rows += await self._unlabelled(scan, newest)
            if len(newest) < limit:
                return None
            part = part._replace(end=newest[-1][0])
            if budget.is_spent:
                return part.end
        return await self._scan_rows(scan, part, ALL, found)

    async def _scan_part(
        self, scan: _Scan, part: DayPart, lead: Filter, found: tuple[list[Row], _Budget]
    ) -> int | None:
        """Add a day's rows; return None at the day's end, or the ID before which the scan was cut."""
        rows, budget = found
        end = part.end
        batch = min(scan.wanted, LARGEST_BATCH)
        while len(rows) < scan.wanted:
            scanned = await scan_part(
                self._days.session(part.day),
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
        """Return whether one statement with all filters finds rows.

        On SQLite: if no filter leads and at least one is set. On PostgreSQL: if no filter leads and one of them has a
        dimension, or if the leading filter uses the index of labels or of visitors.
        """
        if self._days.layout.patterns:
            return lead is ALL and bool(scan.filters)
        if lead is ALL:
            return any(each.dimension for each in scan.filters)
        return lead.dimension is Dimension.LABEL or lead.leads[0].column == "visitor"

    def _joined(
        self, scan: _Scan, part: DayPart, lead: Filter, rest: tuple[list[DayPart], dict[int, _ByValue], int]
    ) -> DayPart:
        """Return a part that takes in older days on which the same filter leads, and take these from the rest.

        Planning a statement takes PostgreSQL longer than looking a rare value up, so one looks on many days.
        """
        left, counted, days = rest
        events = counted.get(part.day, {}).get(lead.value, 0)
        while lead is not ALL and left and left[0].rolled_up and days > 1:
            counts = counted.get(left[0].day, {})
            events += counts.get(lead.value, 0)
            if self._closed_lead(scan, left[0], counts) not in {lead, None} or events > MOST_IN_INDEX:
                break
            part = part._replace(least=left.pop(0).least)
            days -= 1
        return part

    async def _scan_rows(
        self, scan: _Scan, part: DayPart, lead: Filter, found: tuple[list[Row], _Budget]
    ) -> int | None:
        """Do the same as `_scan_part`, with one statement for each window of the day."""
        rows, budget = found
        windows = [(part.least, part.end)] if lead is not ALL else await self._windows(scan.site.number, part)
        for least, window_end in windows:
            end = window_end
            while len(rows) < scan.wanted:
                limit = min(scan.wanted, LARGEST_BATCH)
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

    async def _windows(self, site: int, part: DayPart) -> list[tuple[int, int]]:
        """Return the parts of a day that are looked through in one go, newest first."""
        hours = await self._days.session(part.day).all(
            """SELECT hour, requests + challenges_issued + challenges_passed + challenges_failed FROM site_hour
                WHERE site = $1 AND hour >= $2 AND hour < $3 ORDER BY hour DESC""",
            site,
            id_time_ms(part.least) // HOUR_MS,
            -(-id_time_ms(part.end) // HOUR_MS),
        )
        return day_windows(hours, part)

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

    async def _lead(self, scan: _Scan, part: DayPart, counted: dict[int, _ByValue]) -> Filter | None:
        asked = [each.value for each in scan.filters if each.dimension is not None]
        if not asked:
            return choose(scan.filters, {}, part, known=False)
        if part.rolled_up:
            return self._closed_lead(scan, part, counted.get(part.day, {}))
        [first, *others] = scan.filters
        if not others and first.dimension is Dimension.RULE and first.can_lead(0, part):
            # Nothing to choose between, and its index tells as soon whether there is any.
            return first
        if part.day not in counted:
            counted[part.day] = await self._open_counts(scan, part, asked)
        return choose(scan.filters, counted[part.day], part, known=True)

    def _closed_lead(self, scan: _Scan, part: DayPart, counts: _ByValue) -> Filter | None:
        asked = {each.dimension for each in scan.filters if each.dimension is not None}
        # The rarest values of a busy day are counted together: then a missing one may be among them.
        known = not any((dimension.value, OTHER) in counts for dimension in asked)
        return choose(scan.filters, counts, part, known=known)

    async def _open_counts(self, scan: _Scan, part: DayPart, asked: list[tuple[int, int]]) -> _ByValue:
        session, hours = self._days.session(part.day), (part.day * 24, part.day * 24 + 24)
        count = count_json_values if self._days.layout.patterns else count_array_values
        return await count(session, scan.site.number, hours, asked)

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

    Hours come with their number of events, newest first.
    """
    found: list[tuple[int, int]] = []
    end, events = part.end, 0
    for hour, count in hours:
        least = max(first_id(hour * HOUR_MS), part.least)
        events += count
        if events >= WINDOW_ROWS and least < end:
            pieces = events // WINDOW_ROWS
            bounds = [end - (end - least) * piece // pieces for piece in range(pieces)]
            found += [(lower, upper) for upper, lower in pairwise([*bounds, least]) if lower < upper]
            end, events = least, 0
    return [*found, (part.least, end)] if part.least < end else found


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
