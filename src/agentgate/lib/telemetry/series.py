"""The series that `/metrics` shows. From this list come the families themselves, docs/monitoring.md and deploy/."""

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
    """The kind of a metric of several workers."""

    SUM = "sum"
    LEAST = "least"
    GREATEST = "greatest"
    # One series per worker, distinguished by a label.
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
    "Time to decide, without reading the request and sending the response",
)
AGENT_DECISIONS = Series(
    "agentgate_agent_decisions",
    _C,
    ("agent", "outcome"),
    "Decisions about agent requests, by claimed agent; beyond 500 combinations `agent` is `other`",
)
CACHE_MISSES = Series(
    "agentgate_gateway_cache_misses",
    _C,
    ("cache",),
    "Checks without a cached result for headers, fingerprint, page, visitor or decision",
)
TOKENS = Series("agentgate_tokens", _C, ("what",), "Tokens `issued` by the browser check and `redeemed` by servers")
SITEVERIFY = Series("agentgate_siteverify", _C, ("result",), "Calls of siteverify: `success`, or the code of the error")
PROBES = Series("agentgate_probes_judged", _C, ("state",), "Verifications by probe result")
PROBES_LEFT_OUT = Series(
    "agentgate_probes_left_out",
    _G,
    (),
    "Probe families disabled because a browser update changed their results",
    Merge.GREATEST,
)
DRIFT = Series(
    "agentgate_model_drift",
    _G,
    ("kind", "site"),
    "Population stability index of a model's scores: the last hour against the 7 days before, for up to 100 sites",
    Merge.GREATEST,
)
SCORES = Series(
    "agentgate_model_scores",
    _G,
    ("kind", "from"),
    "Requests of the last hour by score, in ten bins by lower bound; of up to 20,000 requests",
    Merge.GREATEST,
)
HTTP_REQUESTS = Series(
    "agentgate_http_requests",
    _C,
    ("surface", "route", "status"),
    "Requests except gateway checks and `/healthz`. `route` is the template, or `(unknown)`",
)
HTTP_SECONDS = Series(
    "agentgate_http_request_duration_seconds",
    _H,
    ("surface", "route"),
    "Time from the request line to the end of the response",
)
IN_FLIGHT = Series("agentgate_http_in_flight", _G, (), "Requests in progress")
PUT_OFF = Series(
    "agentgate_http_put_off",
    _G,
    ("listener",),
    "Requests queued because the worker is saturated; if above 0 for more than a few seconds, add workers",
)
REFUSED = Series(
    "agentgate_requests_refused",
    _C,
    ("listener", "reason"),
    "Requests rejected before routing; `no_room`: too many concurrent requests, or a check queued for too long",
)
EVENTS_SENT = Series("agentgate_events_sent", _C, (), "Decision events created")
EVENTS_STORED = Series("agentgate_events_stored", _C, (), "Decision events committed")
EVENTS_WAITING = Series(
    "agentgate_events_waiting",
    _G,
    (),
    "Decision events queued for writing; grows while the store is unavailable, up to 50,000 per worker",
)
EVENTS_SPOOLED = Series(
    "agentgate_events_spooled",
    _G,
    (),
    "Decision events of all workers spooled on disk because ClickHouse was unavailable; they count as stored",
    Merge.GREATEST,
)
SPOOL_BYTES = Series(
    "agentgate_events_spool_bytes",
    _G,
    (),
    "Size of the spool; above `AGENTGATE_EVENTS_SPOOL_MB`, events are queued in memory and then lost",
    Merge.GREATEST,
)
EVENT_FAILURES = Series(
    "agentgate_event_write_failures", _C, (), "Decision events that were lost; investigate any value above 0"
)
STORE_SECONDS = Series(
    "agentgate_store_duration_seconds",
    _H,
    ("store",),
    "Time until a store completed a unit of work; `events` for a batch of decisions",
)
STORE_UP = Series(
    "agentgate_store_up",
    _G,
    ("store",),
    "1 if the store (`config`, `hot`, `stats`, `clickhouse`) responded at the last `/readyz`, otherwise 0",
    Merge.LEAST,
)
WEBHOOKS = Series(
    "agentgate_webhook_deliveries", _C, ("type", "result"), "Attempts to deliver to a webhook: `delivered` or `failed`"
)
NETWORK_LISTS = Series(
    "agentgate_network_list_refreshes",
    _C,
    ("source", "result"),
    "Reads of network lists from outside: `changed`, `unchanged` or `failed`",
)
BLOCK_FEED = Series(
    "agentgate_block_feed_addresses",
    _C,
    ("result",),
    "Addresses of the block feed: `listed`, `spared` because of people at the address, or `full` at its limit",
)
DECOYS = Series(
    "agentgate_decoy_requests",
    _C,
    ("result",),
    "Requests of decoys: `touched`, or `ignored` because no page of the site led to them or the client is a crawler",
)
JOB_RUNS = Series("agentgate_job_runs", _C, ("task", "result"), "Runs of scheduled jobs: `done` or `failed`")
JOB_SECONDS = Series("agentgate_job_seconds", _C, ("task",), "Duration of scheduled jobs, in seconds")
JOB_DONE = Series(
    "agentgate_job_last_done_timestamp_seconds",
    _G,
    ("task",),
    "Time of the last completed run of a scheduled job, by process",
    Merge.GREATEST,
)
WORKERS = Series("agentgate_workers", _G, (), "Workers included in these metrics")
BUILD = Series("agentgate_build_info", _G, ("version",), "Always 1; the version is a label", Merge.GREATEST)

_PROCESS = (
    ("process_cpu_seconds", _C, "CPU time used, in seconds"),
    ("process_resident_memory_bytes", _G, "Memory in use"),
    ("process_virtual_memory_bytes", _G, "Address space in use"),
    ("process_open_fds", _G, "Open files and connections"),
    ("process_max_fds", _G, "Maximum number of open files and connections"),
    ("process_start_time_seconds", _G, "Start time of the process"),
)

SERIES = (
    *(DECISIONS, DECISION_SECONDS, AGENT_DECISIONS, CACHE_MISSES, TOKENS, SITEVERIFY, PROBES, PROBES_LEFT_OUT),
    *(DRIFT, SCORES),
    *(HTTP_REQUESTS, HTTP_SECONDS, IN_FLIGHT, PUT_OFF, REFUSED),
    *(EVENTS_SENT, EVENTS_STORED, EVENTS_WAITING, EVENTS_SPOOLED, SPOOL_BYTES, EVENT_FAILURES, STORE_SECONDS, STORE_UP),
    *(WEBHOOKS, NETWORK_LISTS, BLOCK_FEED, DECOYS, JOB_RUNS, JOB_SECONDS, JOB_DONE, WORKERS, BUILD),
    *(Series(name, kind, ("worker",), meaning, Merge.EACH) for name, kind, meaning in _PROCESS),
)
BY_NAME = {series.name: series for series in SERIES}
