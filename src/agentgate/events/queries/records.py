"""The traffic read models as they go over the wire: metrics, visitors, decisions, analytics."""

from msgspec import UNSET, UnsetType, field

from agentgate.events.labels.records import DecisionLabel
from agentgate.lib.enums import DecisionKind, MetricsBucket, MetricsSource, Mode, Outcome, SolveType
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record, SiteKey, VisitorId


class OutcomeCounts(Record, frozen=True, kw_only=True):
    """Number of protected requests by outcome, and by outcome in enforce mode."""

    requests: int
    allowed: int
    challenged: int
    blocked: int
    dropped: int
    would_challenge: int
    would_block: int
    would_drop: int


class DailyPoint(OutcomeCounts, frozen=True, kw_only=True):
    """A whole UTC day."""

    day: str
    challenges_passed: int
    challenges_failed: int


class SeriesPoint(OutcomeCounts, frozen=True, kw_only=True):
    """One bucket of a series, clipped to the range: `start` belongs to it, `end` does not."""

    start: Moment
    end: Moment
    challenges_passed: int
    challenges_failed: int


class ChallengeCounts(Record, frozen=True, kw_only=True):
    """Issued challenges and their outcomes. `completionRate` is null if none was issued."""

    issued: int
    passed: int
    failed: int
    completion_rate: float | None


class Latency(Record, frozen=True, kw_only=True):
    """Decision latency. The percentiles are of the newest `samples` requests."""

    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    samples: int


class ErrorCounts(Record, frozen=True, kw_only=True):
    """Failures in AgentGate. `eventWriteFailures` counts since the process started; 0 in the console."""

    service_errors: int
    event_write_failures: int


class Retention(Record, frozen=True, kw_only=True):
    """Retention of events and daily aggregates, in days."""

    event_days: int
    metric_days: int


class Metrics(Record, frozen=True, kw_only=True):
    """A site's traffic in a time range. `source`: the exact range or whole UTC days were counted."""

    site_key: SiteKey
    mode: Mode
    from_: str = field(name="from")
    to: str
    range_from: Moment
    range_to: Moment
    source: MetricsSource
    bucket: MetricsBucket
    series: list[SeriesPoint]
    totals: OutcomeCounts
    challenges: ChallengeCounts
    latency: Latency
    errors: ErrorCounts
    unique_sources: int
    retention: Retention
    daily: list[DailyPoint]


class VisitorSummary(Record, frozen=True, kw_only=True):
    """A pseudonymous visitor and its activity in the time range."""

    id: VisitorId
    first_seen: Moment
    last_seen: Moment
    requests: int
    outcomes: dict[Outcome, int]
    monitored: int
    challenges: int
    challenges_passed: int
    actions: list[str]
    agents: list[str]


class VisitorPage(Record, frozen=True, kw_only=True):
    """Visitors, most recently seen first; `nextCursor` leads to the rest."""

    items: list[VisitorSummary]
    from_: Moment = field(name="from")
    to: Moment
    next_cursor: str | UnsetType = UNSET


class Decision(Record, frozen=True, kw_only=True):
    """One decision on a request or a challenge."""

    id: str
    site_id: str
    time: Moment
    kind: DecisionKind
    route: str
    method: str
    outcome: Outcome
    mode: str
    reasons: list[str]
    labels: list[str]
    status: int
    duration_us: int
    request_id: str | UnsetType = UNSET
    trace_id: str | UnsetType = UNSET
    visitor_id: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    would_decision: Outcome | UnsetType = UNSET
    matched_rule: str | UnsetType = UNSET
    rule_set_version: str | UnsetType = UNSET
    model_versions: dict[str, str] | UnsetType = UNSET
    scores: dict[str, float] | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    # How the visitor passed a challenge.
    solve_type: SolveType | UnsetType = UNSET
    operator_label: DecisionLabel | UnsetType = UNSET


class VisitorDetail(VisitorSummary, frozen=True, kw_only=True):
    """A visitor and its newest decisions."""

    recent: list[Decision]


class DecisionPage(Record, frozen=True, kw_only=True):
    """Decisions, newest first. A page may be short, even empty, and still have a `nextCursor`."""

    items: list[Decision]
    from_: Moment = field(name="from")
    to: Moment
    next_cursor: str | UnsetType = UNSET


class SolveTypes(Record, frozen=True, kw_only=True):
    """Number of challenges by kind of solution. The fields are values of an enumeration, so they keep their
    spelling."""

    invisible: int
    managed: int
    interactive: int
    step_up: int = field(name="step_up")


class AnalyticsChallenges(Record, frozen=True, kw_only=True):
    """Outcomes of challenges. Abandoned challenges were issued and neither passed nor failed."""

    issued: int
    passed: int
    failed: int
    abandoned: int
    solve_rate: float | None
    solve_types: SolveTypes
    median_solve_ms: float | None


class SiteverifyCounts(Record, frozen=True, kw_only=True):
    """Calls of siteverify by result, and issued and redeemed tokens."""

    calls: int
    success: int
    failures: dict[str, int]
    tokens_issued: int
    tokens_redeemed: int


class RefusedOrigin(Record, frozen=True, kw_only=True):
    """A page origin that the browser API rejected, and the number of rejections."""

    origin: str
    count: int


class Origins(Record, frozen=True, kw_only=True):
    """Page origins, most often rejected first."""

    refused: list[RefusedOrigin]


class NamedCount(Record, frozen=True, kw_only=True):
    """An entry of a top list."""

    name: str
    count: int


class Cause(Record, frozen=True, kw_only=True):
    """Why requests were not allowed: a rule, or a reason without one. `wouldRefuse` counts requests that monitor mode
    allowed."""

    reason: str
    refused: int
    would_refuse: int
    rule: str | UnsetType = UNSET


class TopLists(Record, frozen=True, kw_only=True):
    """The most frequent values of requests, ten of each. `causes` add up to the requests that were not allowed, and to
    those that enforce mode would not have allowed; the last one, `other`, has the rest. `refusedPrograms` are blocked
    clients that `wantedPrograms` could allow."""

    actions: list[NamedCount]
    routes: list[NamedCount]
    reasons: list[NamedCount]
    labels: list[NamedCount]
    agents: list[NamedCount]
    countries: list[NamedCount]
    asns: list[NamedCount]
    refused_programs: list[NamedCount]
    causes: list[Cause]


class AnalyticsPoint(SeriesPoint, frozen=True, kw_only=True):
    """One bucket of the analytics series."""

    siteverify_calls: int
    siteverify_failures: int


class SiteAnalytics(Record, frozen=True, kw_only=True):
    """Challenge statistics of a site. Events before `eventsFrom` and counters before `countersSince` are unknown."""

    site_key: SiteKey
    from_: Moment = field(name="from")
    to: Moment
    bucket: MetricsBucket
    challenges: AnalyticsChallenges
    gateway: OutcomeCounts
    siteverify: SiteverifyCounts
    origins: Origins
    top: TopLists
    series: list[AnalyticsPoint]
    events_from: Moment | UnsetType = UNSET
    counters_since: Moment | UnsetType = UNSET
