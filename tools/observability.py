# ruff: noqa: INP001 - outside of the package, for `generate.py`
"""The Grafana dashboard and alert rules for Prometheus, made from the list of series."""

import json
from typing import Any, NamedTuple

from agentgate.lib.telemetry import series as s

REQUESTS = f'{s.DECISIONS.shown}{{kind="request"}}'
UNAVAILABLE = f'{s.DECISIONS.shown}{{kind="request",reason="service_unavailable"}}'
SHED = f'{s.REFUSED.shown}{{listener="public",reason="no_room"}}'
# The share of checks that may fail: 99.95% of the checks of a month get a decision.
BUDGET = 0.0005


class Alert(NamedTuple):
    """An alert rule: it fires when the expression holds for the given time."""

    name: str
    severity: str
    expression: str
    lasting: str
    summary: str
    action: str


class Panel(NamedTuple):
    """A diagram of the dashboard: expressions with the names of their lines."""

    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]


def failed_checks(window: str) -> str:
    """Return the share of checks without a decision of the rules: shed under load, or decided without the stores."""
    # A series is missing until its first failure.
    unavailable, shed = (f"(sum(rate({each}[{window}])) or vector(0))" for each in (UNAVAILABLE, SHED))
    return f"({unavailable} + {shed}) / (sum(rate({REQUESTS}[{window}])) + {shed})"


def _quantile(share: float, described: s.Series, by: str = "", window: str = "5m") -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({described.name}_bucket[{window}])))"


RECORDED = tuple((f"agentgate:checks_failed:ratio_rate{window}", window) for window in ("5m", "30m", "1h", "6h"))


def _burning(times: float, short: str, long: str) -> str:
    limit = f"{times * BUDGET:.6f}".rstrip("0")
    return f"agentgate:checks_failed:ratio_rate{short} > {limit} and agentgate:checks_failed:ratio_rate{long} > {limit}"


ALERTS = (
    Alert(
        "AgentGateDown",
        "page",
        'up{job="agentgate"} == 0',
        "1m",
        "{{ $labels.instance }} does not respond",
        "Read its log. If no node responds, the proxies of sites in enforce mode block visitors.",
    ),
    Alert(
        "AgentGateChecksFailFast",
        "page",
        _burning(14.4, "5m", "1h"),
        "2m",
        "Checks fail at a rate that uses up the monthly error budget in two days",
        "See AgentGateStoreDown and agentgate_requests_refused_total: a store is unavailable, or workers are too few.",
    ),
    Alert(
        "AgentGateChecksFail",
        "ticket",
        _burning(6.0, "30m", "6h"),
        "15m",
        "Checks fail at a rate that uses up the monthly error budget in five days",
        "As for AgentGateChecksFailFast, less urgent.",
    ),
    Alert(
        "AgentGateStoreDown",
        "page",
        f"min by (instance, store) ({s.STORE_UP.name}) == 0",
        "1m",
        "The store {{ $labels.store }} does not respond to {{ $labels.instance }}",
        "Checks use cached configuration for 15 minutes; tokens cannot be redeemed. Check the database and the disk.",
    ),
    Alert(
        "AgentGateStoreSlow",
        "ticket",
        f"{_quantile(0.99, s.STORE_SECONDS, 'instance, store')} > 0.5",
        "10m",
        "The p99 latency of the store {{ $labels.store }} exceeds 0.5 s",
        "Check the disk of the database, long transactions, and the number of connections.",
    ),
    Alert(
        "AgentGateEventsLost",
        "page",
        f"increase({s.EVENT_FAILURES.shown}[10m]) > 0",
        "0m",
        "{{ $labels.instance }} has lost decision events",
        "The event store was unavailable for too long, or its disk is full.",
    ),
    Alert(
        "AgentGateEventsWaiting",
        "ticket",
        f"{s.EVENTS_WAITING.name} > 10000",
        "2m",
        "{{ $value }} decision events are queued on {{ $labels.instance }}",
        "Above 50,000 for each worker, events are lost. Check the event store.",
    ),
    Alert(
        "AgentGateSpoolGrows",
        "ticket",
        f"{s.SPOOL_BYTES.name} > 100e6",
        "10m",
        "More than 100 MB of events for ClickHouse are queued on the disk of {{ $labels.instance }}",
        "If the queue reaches AGENTGATE_EVENTS_SPOOL_MB, events are queued in memory and then lost. Check ClickHouse.",
    ),
    Alert(
        "AgentGateNoRoom",
        "page",
        f"sum by (instance) (rate({SHED}[5m])) > 1",
        "5m",
        "{{ $labels.instance }} sheds checks because it is overloaded",
        "Add workers or nodes (docs/scaling.md).",
    ),
    Alert(
        "AgentGateChecksSlow",
        "ticket",
        f"{_quantile(0.99, s.DECISION_SECONDS, 'instance, kind')} > 0.005",
        "10m",
        "The p99 decision time exceeds 5 ms",
        "Check the cache misses: a flood of new visitors, or rules that change often.",
    ),
    Alert(
        "AgentGateApiErrors",
        "ticket",
        f'sum by (instance) (rate({s.HTTP_REQUESTS.shown}{{status=~"5.."}}[5m]))'
        f" / sum by (instance) (rate({s.HTTP_REQUESTS.shown}[5m])) > 0.01",
        "10m",
        "More than 1% of the API calls to {{ $labels.instance }} fail",
        "Find the request IDs and tracebacks in the log.",
    ),
    Alert(
        "AgentGateNotAsked",
        "ticket",
        f"sum by (instance) (rate({REQUESTS}[15m])) == 0 and sum by (instance) (rate({REQUESTS}[15m] offset 1h)) > 0.1",
        "15m",
        "{{ $labels.instance }} no longer receives checks",
        "Check the proxies: a site without checks is not protected. Run agentgate doctor to find the cause.",
    ),
    Alert(
        "AgentGateWorkerMissing",
        "ticket",
        f"{s.WORKERS.name} < max_over_time({s.WORKERS.name}[1h])",
        "5m",
        "{{ $labels.instance }} has fewer workers than an hour ago",
        "Find the cause in the supervisor's log.",
    ),
    Alert(
        "AgentGateJobFails",
        "ticket",
        f'sum by (task) (increase({s.JOB_RUNS.shown}{{result="failed"}}[1h])) > 3',
        "0m",
        "The job {{ $labels.task }} fails repeatedly",
        "Find the traceback in the log: `job failed and will be retried`.",
    ),
    Alert(
        "AgentGateDaysNotClosed",
        "ticket",
        f'time() - max({s.JOB_DONE.name}{{task="close-days"}}) > 7200',
        "10m",
        "No node has aggregated events for two hours",
        "Check the job lease and the event store.",
    ),
    Alert(
        "AgentGateWebhooksFail",
        "ticket",
        f'sum by (type) (rate({s.WEBHOOKS.shown}{{result="failed"}}[30m]))'
        f" / sum by (type) (rate({s.WEBHOOKS.shown}[30m])) > 0.5",
        "30m",
        "More than half of the {{ $labels.type }} deliveries fail",
        "The page of the webhook shows the responses of the receiver.",
    ),
    Alert(
        "AgentGateModelDrift",
        "ticket",
        f"max by (kind, site) ({s.DRIFT.name}) >= 0.2",
        "10m",
        "The {{ $labels.kind }} scores of {{ $labels.site }} have changed since the week before",
        "Find the cause among the decisions of the bins that grew (docs/train-model.md).",
    ),
    Alert(
        "AgentGateFilesRunOut",
        "ticket",
        "process_open_fds / process_max_fds > 0.8",
        "10m",
        "{{ $labels.worker }} on {{ $labels.instance }} uses more than 80% of its open-file limit",
        "Raise LimitNOFILE, or find out which clients keep connections open.",
    ),
)


def _rate(described: s.Series, by: str) -> str:
    return f"sum by ({by}) (rate({described.shown}[$__rate_interval]))"


PANELS = (
    Panel("Decisions by outcome", "reqps", ((_rate(s.DECISIONS, "outcome"), "{{outcome}}"),)),
    Panel("Decisions by site", "reqps", ((f"topk(10, {_rate(s.DECISIONS, 'site')})", "{{site}}"),)),
    Panel(
        "Why requests were not allowed",
        "reqps",
        ((f'sum by (reason) (rate({s.DECISIONS.shown}{{outcome!="allow"}}[$__rate_interval]))', "{{reason}}"),),
    ),
    Panel(
        "Time to decide",
        "s",
        tuple(
            (_quantile(share, s.DECISION_SECONDS, "kind", "$__rate_interval"), f"{{{{kind}}}} p{share * 100:g}")
            for share in (0.5, 0.99)
        ),
    ),
    Panel(
        "Cache miss rate, by cache",
        "percentunit",
        (
            (
                f"{_rate(s.CACHE_MISSES, 'cache')} / scalar(sum(rate({REQUESTS}[$__rate_interval])))",
                "{{cache}}",
            ),
        ),
    ),
    Panel(
        "Share of failed checks",
        "percentunit",
        tuple((name, window) for name, window in RECORDED),
    ),
    Panel("Agents", "reqps", ((f"topk(10, {_rate(s.AGENT_DECISIONS, 'agent, outcome')})", "{{agent}} {{outcome}}"),)),
    Panel("Tokens", "reqps", ((_rate(s.TOKENS, "what"), "{{what}}"),)),
    Panel("Siteverify", "reqps", ((_rate(s.SITEVERIFY, "result"), "{{result}}"),)),
    Panel("Probes", "reqps", ((_rate(s.PROBES, "state"), "{{state}}"),)),
    Panel("Excluded probe families", "short", ((f"max({s.PROBES_LEFT_OUT.name})", "excluded"),)),
    Panel("Model drift", "short", ((f"topk(10, max by (kind, site) ({s.DRIFT.name}))", "{{kind}} {{site}}"),)),
    Panel("Bot scores of the last hour", "short", ((f'max by (from) ({s.SCORES.name}{{kind="bot"}})', "{{from}}"),)),
    Panel("API calls by status", "reqps", ((_rate(s.HTTP_REQUESTS, "surface, status"), "{{surface}} {{status}}"),)),
    Panel("API calls: p99", "s", ((_quantile(0.99, s.HTTP_SECONDS, "surface", "$__rate_interval"), "{{surface}}"),)),
    Panel(
        "In flight and queued",
        "short",
        ((f"sum({s.IN_FLIGHT.name})", "in flight"), (f"sum by (listener) ({s.PUT_OFF.name})", "queued, {{listener}}")),
    ),
    Panel("Rejected before routing", "reqps", ((_rate(s.REFUSED, "listener, reason"), "{{listener}} {{reason}}"),)),
    Panel(
        "Events",
        "reqps",
        (
            (f"sum(rate({s.EVENTS_SENT.shown}[$__rate_interval]))", "created"),
            (f"sum(rate({s.EVENTS_STORED.shown}[$__rate_interval]))", "stored"),
            (f"sum(rate({s.EVENT_FAILURES.shown}[$__rate_interval]))", "lost"),
        ),
    ),
    Panel("Events waiting", "short", ((f"sum by (instance) ({s.EVENTS_WAITING.name})", "{{instance}}"),)),
    Panel(
        "Events on disk for ClickHouse", "short", ((f"max by (instance) ({s.EVENTS_SPOOLED.name})", "{{instance}}"),)
    ),
    Panel("Stores: p99", "s", ((_quantile(0.99, s.STORE_SECONDS, "store", "$__rate_interval"), "{{store}}"),)),
    Panel(
        "Store availability", "short", ((f"min by (instance, store) ({s.STORE_UP.name})", "{{instance}} {{store}}"),)
    ),
    Panel("Webhooks", "reqps", ((_rate(s.WEBHOOKS, "type, result"), "{{type}} {{result}}"),)),
    Panel(
        "Jobs",
        "short",
        (
            (f"sum by (task, result) (increase({s.JOB_RUNS.shown}[1h]))", "{{task}} {{result}} in an hour"),
            (f"time() - max by (task) ({s.JOB_DONE.name})", "{{task}}: seconds since the last run"),
            (
                f"sum by (source, result) (increase({s.NETWORK_LISTS.shown}[1h]))",
                "network lists: {{source}} {{result}} in an hour",
            ),
            (f"sum by (result) (increase({s.BLOCK_FEED.shown}[1h]))", "feed for firewalls: {{result}} in an hour"),
            (f"sum by (result) (increase({s.DECOYS.shown}[1h]))", "decoys: {{result}} in an hour"),
        ),
    ),
    Panel("Time in jobs", "percentunit", ((_rate(s.JOB_SECONDS, "task"), "{{task}}"),)),
    Panel(
        "Workers and versions",
        "short",
        (
            (f"sum by (instance) ({s.WORKERS.name})", "{{instance}} workers"),
            (f"count by (version) ({s.BUILD.name})", "{{version}}"),
        ),
    ),
    Panel(
        "CPU",
        "percentunit",
        (("sum by (instance, worker) (rate(process_cpu_seconds_total[$__rate_interval]))", "{{instance}} {{worker}}"),),
    ),
    Panel(
        "Memory", "bytes", (("sum by (instance, worker) (process_resident_memory_bytes)", "{{instance}} {{worker}}"),)
    ),
)


def alert_rules() -> str:
    """Return deploy/prometheus/alerts.yaml: JSON, which is valid YAML, after a comment line."""
    recorded = [{"record": name, "expr": failed_checks(window)} for name, window in RECORDED]
    alerts = [
        {
            "alert": each.name,
            "expr": each.expression,
            "for": each.lasting,
            "labels": {"severity": each.severity},
            "annotations": {"summary": each.summary, "action": each.action},
        }
        for each in ALERTS
    ]
    groups = [{"name": "agentgate-slo", "rules": recorded}, {"name": "agentgate", "rules": alerts}]
    return "# Generated by `python tools/generate.py`. Do not edit.\n" + json.dumps({"groups": groups}, indent=2) + "\n"


def dashboard() -> str:
    """Return deploy/grafana/agentgate.json."""
    panels = [_panel(number, each) for number, each in enumerate(PANELS)]
    # The notice on the first line, because JSON has no comments.
    body = json.dumps({**_DASHBOARD, "panels": panels}, indent=2).removeprefix("{")
    return f'{{ "description": "Generated by `python tools/generate.py`.",{body}\n'


_SOURCE = {"type": "prometheus", "uid": "${source}"}
_DASHBOARD: dict[str, Any] = {
    "uid": "agentgate",
    "title": "AgentGate",
    "tags": ["agentgate"],
    "schemaVersion": 39,
    "editable": True,
    "refresh": "30s",
    "time": {"from": "now-6h", "to": "now"},
    "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]},
}
_WIDTH, _HEIGHT, _ACROSS = 8, 8, 3


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(number, _ACROSS)
    targets = [
        {"refId": chr(65 + place), "expr": expression, "legendFormat": name, "datasource": _SOURCE}
        for place, (expression, name) in enumerate(panel.lines)
    ]
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }
