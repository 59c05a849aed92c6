"""The series that `/metrics` shows: one list, from which come the families themselves, docs/monitoring.md and deploy/."""

from enum import StrEnum

from msgspec import Struct
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

# From half a millisecond, because a gateway check takes less than one, to the longest deadline of a request.
DURATION_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class SeriesKind(StrEnum):
    """The types of Prometheus that are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Merge(StrEnum):
    """What one figure of several workers is."""

    SUM = "sum"
    LEAST = "least"
    GREATEST = "greatest"
    # Each worker's own, told apart by a label.
    EACH = "each"


class Series(Struct, frozen=True):
    """One series: its name without `_total`, its type, its labels, and what it means in one sentence."""

    name: str
    kind: SeriesKind
    labels: tuple[str, ...]
    meaning: str
    merge: Merge = Merge.SUM

    @property
    def shown(self) -> str:
        """The name as Prometheus has it."""
        return f"{self.name}_total" if self.kind is SeriesKind.COUNTER else self.name

    def counter(self) -> CounterMetricFamily:
        return CounterMetricFamily(self.name, self.meaning, labels=self.labels)

    def gauge(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self.meaning, labels=self.labels)

    def histogram(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self.meaning, labels=self.labels)


_C, _G, _H = SeriesKind.COUNTER, SeriesKind.GAUGE, SeriesKind.HISTOGRAM

DECISIONS = Series(
    "agentgate_decisions",
    _C,
    ("site", "kind", "outcome", "would", "reason"),
    "Decisions of gateway and browser check. `would` is what enforce mode would have done; past 2,000 combinations"
    " `site` is `other`",
)
DECISION_SECONDS = Series(
    "agentgate_decision_duration_seconds",
    _H,
    ("kind",),
    "Time to decide, without reading the request and sending the answer",
)
AGENT_DECISIONS = Series(
    "agentgate_agent_decisions",
    _C,
    ("agent", "outcome"),
    "Decisions about requests of agents, by the agent that they named; past 500 combinations `agent` is `other`",
)
CACHE_MISSES = Series(
    "agentgate_gateway_cache_misses",
    _C,
    ("cache",),
    "Checks for which headers, a fingerprint, page, visitor or decision were worked out because nothing was cached",
)
TOKENS = Series("agentgate_tokens", _C, ("what",), "Tokens `issued` by the browser check and `redeemed` by servers")
SITEVERIFY = Series("agentgate_siteverify", _C, ("result",), "Calls of siteverify: `success`, or the code of the error")
PROBES = Series("agentgate_probes_judged", _C, ("state",), "Verifications by what probes said")
PROBES_LEFT_OUT = Series(
    "agentgate_probes_left_out", _G, (), "Families of probes that browsers drifted on", Merge.GREATEST
)
HTTP_REQUESTS = Series(
    "agentgate_http_requests",
    _C,
    ("surface", "route", "status"),
    "Requests answered, but for gateway checks and `/healthz`. `route` is the template, or `(unknown)`",
)
HTTP_SECONDS = Series(
    "agentgate_http_request_duration_seconds",
    _H,
    ("surface", "route"),
    "Time from the request line to the end of the answer",
)
IN_FLIGHT = Series("agentgate_http_in_flight", _G, (), "Requests being answered")
PUT_OFF = Series(
    "agentgate_http_put_off",
    _G,
    ("listener",),
    "Requests that wait because more arrives than can be answered; above 0 for longer than a moment, add workers",
)
REFUSED = Series(
    "agentgate_requests_refused",
    _C,
    ("listener", "reason"),
    "Requests refused before routing; `no_room` when too many ran at once, or a check waited for too long",
)
EVENTS_SENT = Series("agentgate_events_sent", _C, (), "Decision events made")
EVENTS_STORED = Series("agentgate_events_stored", _C, (), "Decision events committed")
EVENTS_WAITING = Series(
    "agentgate_events_waiting",
    _G,
    (),
    "Decision events to be written; grows while the store is away, up to 50,000 for each worker",
)
EVENTS_SPOOLED = Series(
    "agentgate_events_spooled",
    _G,
    (),
    "Decision events of all workers that wait on disk because ClickHouse was away; they count as stored",
    Merge.GREATEST,
)
SPOOL_BYTES = Series(
    "agentgate_events_spool_bytes",
    _G,
    (),
    "Size of what waits on disk; at `AGENTGATE_EVENTS_SPOOL_MB` events wait in memory and are then lost",
    Merge.GREATEST,
)
EVENT_FAILURES = Series(
    "agentgate_event_write_failures",
    _C,
    (),
    "Decision events that will never be stored; anything above 0 is worth a look",
)
STORE_SECONDS = Series(
    "agentgate_store_duration_seconds",
    _H,
    ("store",),
    "Time until a store had committed or answered a unit of work; `events` for a batch of decisions",
)
STORE_UP = Series(
    "agentgate_store_up",
    _G,
    ("store",),
    "1 while the store (`config`, `hot`, `stats`, `clickhouse`) answers, 0 while it does not, as of the last `/readyz`",
    Merge.LEAST,
)
WEBHOOKS = Series(
    "agentgate_webhook_deliveries",
    _C,
    ("type", "result"),
    "Attempts to deliver to a webhook: `delivered` or `failed`",
)
JOB_RUNS = Series("agentgate_job_runs", _C, ("task", "result"), "Runs of timed jobs: `done` or `failed`")
JOB_SECONDS = Series("agentgate_job_seconds", _C, ("task",), "Time that timed jobs took, in seconds")
JOB_DONE = Series(
    "agentgate_job_last_done_timestamp_seconds",
    _G,
    ("task",),
    "When a timed job was last done, by the process that did it",
    Merge.GREATEST,
)
WORKERS = Series("agentgate_workers", _G, (), "Workers whose figures are in this answer")
BUILD = Series("agentgate_build_info", _G, ("version",), "Always 1, with the version", Merge.GREATEST)

_PROCESS = (
    ("process_cpu_seconds", _C, "CPU time used, in seconds"),
    ("process_resident_memory_bytes", _G, "Memory in use"),
    ("process_virtual_memory_bytes", _G, "Address space in use"),
    ("process_open_fds", _G, "Open files and connections"),
    ("process_max_fds", _G, "Files and connections that may be open"),
    ("process_start_time_seconds", _G, "When the process started"),
)

SERIES = (
    *(DECISIONS, DECISION_SECONDS, AGENT_DECISIONS, CACHE_MISSES, TOKENS, SITEVERIFY, PROBES, PROBES_LEFT_OUT),
    *(HTTP_REQUESTS, HTTP_SECONDS, IN_FLIGHT, PUT_OFF, REFUSED),
    *(EVENTS_SENT, EVENTS_STORED, EVENTS_WAITING, EVENTS_SPOOLED, SPOOL_BYTES, EVENT_FAILURES, STORE_SECONDS, STORE_UP),
    *(WEBHOOKS, JOB_RUNS, JOB_SECONDS, JOB_DONE, WORKERS, BUILD),
    *(Series(name, kind, ("worker",), meaning, Merge.EACH) for name, kind, meaning in _PROCESS),
)
BY_NAME = {series.name: series for series in SERIES}
