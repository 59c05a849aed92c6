"""Counts, values, visitors and decisions of one site within a range, as the stores of events return them.

Callers pass moments; the stores read ranges of IDs and UTC days. No method reads outside the given range.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from agentgate.events.queries.records import Decision, VisitorSummary
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.database import Row
from agentgate.lib.enums import DecisionKind, LabelledFilter, Mode, Outcome, SolveType


class SiteNumber(Struct, frozen=True):
    """A site as configuration and as events know it."""

    id: str
    number: int


class Counts(Struct, frozen=True, gc=False):
    """The counts of events, in the order of the columns of `site_hour`. Requests and challenges are separate."""

    requests: int = 0
    allowed: int = 0
    challenged: int = 0
    blocked: int = 0
    dropped: int = 0
    would_challenge: int = 0
    would_block: int = 0
    would_drop: int = 0
    challenges_issued: int = 0
    challenges_passed: int = 0
    challenges_failed: int = 0
    duration_us: int = 0
    errors: int = 0


class Causes(Struct, frozen=True):
    """How many requests each rule decided, and how many had a reason and no rule."""

    rules: Mapping[str, int]
    reasons: Mapping[str, int]


class ValueCounts(Struct, frozen=True, kw_only=True):
    """How many requests had each value of a dimension, by name; of solved challenges, each kind of solution."""

    actions: Mapping[str, int]
    routes: Mapping[str, int]
    reasons: Mapping[str, int]
    labels: Mapping[str, int]
    agents: Mapping[str, int]
    solve_types: Mapping[SolveType, int]
    # Why requests were not allowed, and why enforce mode would not have allowed them.
    refused: Causes = Causes({}, {})
    would: Causes = Causes({}, {})


class CounterRow(Struct, frozen=True):
    """A counter of one hour (hours since 1970)."""

    hour: int
    name: str
    value: str
    counted: int


class DecisionFilters(Struct, frozen=True, kw_only=True):
    """Which decisions a list shows. None filters nothing."""

    kind: DecisionKind | None = None
    outcome: Outcome | None = None
    would: Outcome | None = None
    rule: str | None = None
    label: str | None = None
    visitor: int | None = None
    action: str | None = None
    # Requests that were, or in enforce mode would have been, challenged.
    labelling: bool = False
    labelled: LabelledFilter = LabelledFilter.ANY


class DecisionScan(Struct, frozen=True):
    """Decisions that were found, newest first, and the ID below which there may be more; None when there are none."""

    items: list[Decision]
    more_before: int | None


class VisitorScan(Struct, frozen=True):
    """Visitors that were found, latest first, and the ID below which the rest were last seen; None at the end."""

    items: list[VisitorSummary]
    more_before: int | None


class CountStore(Protocol):
    """Counts of a site's events by time."""

    async def list_hours(self, site: int, span: TimeRange) -> dict[int, Counts]:
        """Return exactly what the range holds, by hour since 1970; the hours at its ends may be counted in part."""

    async def list_days(self, site: int, first_day: int, last_day: int) -> dict[int, Counts]:
        """Return the counts of whole UTC days, both ends included, without days that have no events."""

    async def list_durations_us(self, site: int, span: TimeRange, limit: int) -> list[int]:
        """Return how long the newest requests of the range took, newest first."""

    async def count_sources(self, site: int, span: TimeRange) -> int:
        """Return how many different visitors the range has: exact up to 2,048, an estimate above."""

    async def estimate_sources(self, site: int, first_day: int, last_day: int) -> int:
        """Return the same of whole UTC days, also of those whose events are gone."""


class SightingStore(Protocol):
    """Times of the first and the last event of sites."""

    async def find_sighting(self, site: int) -> tuple[int, int] | None:
        """Return when a site was first and last seen, in ms, or None when it never was."""


class SiteSums(Protocol):
    """What all sites did today."""

    async def list_sums(self, today: int, first: int, last: int) -> list[list[Row]]:
        """Return rows of the sites with a number from `first` to `last`: the site, the time of its last event, and the
        requests that today (a UTC day) were allowed, challenged, blocked, dropped and monitored. Rows of a site add up.
        """


class ValueStore(Protocol):
    """What occurred how often, and what leaves no event."""

    async def count_values(self, site: int, span: TimeRange) -> ValueCounts:
        """Return exactly how often each value occurred in the range. Busy days omit their rarest values."""

    async def list_solve_times_ms(self, site: int, span: TimeRange, limit: int) -> list[int]:
        """Return how long the newest passed challenges took to solve, newest first."""

    async def list_counters(self, site: int, *, first_hour: int, last_hour: int) -> list[CounterRow]:
        """Return the hourly counters, both ends included."""

    async def find_first_counter_hour(self, site: int) -> int | None:
        """Return the earliest hour that has a counter, or None."""


class VisitorStore(Protocol):
    """A site's visitors."""

    async def list_visitors(self, site: int, span: TimeRange, *, before: int | None, limit: int) -> VisitorScan:
        """Return visitors, most recently seen first; with `before`, those last seen before that ID."""

    async def find_visitor(self, site: int, span: TimeRange, visitor: int) -> VisitorSummary | None:
        """Return one visitor, or None when it was not seen in the range."""


class DecisionStore(Protocol):
    """A site's decisions."""

    async def list_decisions(
        self, site: SiteNumber, span: TimeRange, filters: DecisionFilters, *, before: int | None, limit: int
    ) -> DecisionScan:
        """Return decisions, newest first; with `before`, those before that ID. A scan that takes too long is cut."""

    async def find_decision(self, site: SiteNumber, decision: int) -> Decision | None:
        """Return one decision of the site, or None."""


class TrafficStore(Protocol):
    """Everything that is read of events."""

    @property
    def counts(self) -> CountStore: ...

    @property
    def values(self) -> ValueStore: ...

    @property
    def visitors(self) -> VisitorStore: ...

    @property
    def decisions(self) -> DecisionStore: ...


class MeasuredSite(Protocol):
    """A site, as far as metrics show it."""

    @property
    def site_key(self) -> str: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def actions(self) -> Mapping[str, Any]: ...


class SiteFinder(Protocol):
    """Sites, as far as reading their events needs them."""

    async def find_site(self, site_key: str, *, account_id: str | None) -> MeasuredSite | None:
        """Return a site; None when there is none, or when it is not of the given account."""

    async def find_number(self, site_id: str) -> int:
        """Return the number under which events know an existing site."""


class TrafficStores(Protocol):
    """The repositories of the configuration that the read models use."""

    @property
    def sites(self) -> SiteFinder: ...
