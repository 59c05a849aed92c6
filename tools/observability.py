# ruff: noqa: INP001 - beside the package, for `generate.py`
"""The page of series, a Grafana dashboard and alert rules for Prometheus, all made from the list of series."""

import json
import re
from typing import Any, NamedTuple

from agentgate.lib.telemetry import series as s
from agentgate.lib.telemetry.series import SERIES, Merge

REQUESTS = f'{s.DECISIONS.shown}{{kind="request"}}'
UNAVAILABLE = f'{s.DECISIONS.shown}{{kind="request",reason="service_unavailable"}}'
SHED = f'{s.REFUSED.shown}{{listener="public",reason="no_room"}}'
# The share of checks that may fail: 99.95 % of a month are answered by a decision.
BUDGET = 0.0005


class Alert(NamedTuple):
    """A rule: when it holds for so long, somebody is told."""

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
    """Return the share of checks without a decision of the rules: refused unseen, or decided without the stores."""
    # Where nothing failed, there may be no series.
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
        "{{ $labels.instance }} does not answer",
        "Look at its log; the proxies of enforced sites refuse visitors while no node answers.",
    ),
    Alert(
        "AgentGateChecksFailFast",
        "page",
        _burning(14.4, "5m", "1h"),
        "2m",
        "Checks fail so fast that two days use up the month's budget",
        "Look at AgentGateStoreDown and agentgate_requests_refused_total: a store is away, or workers are too few.",
    ),
    Alert(
        "AgentGateChecksFail",
        "ticket",
        _burning(6.0, "30m", "6h"),
        "15m",
        "Checks fail so often that five days use up the month's budget",
        "As above, with less haste.",
    ),
    Alert(
        "AgentGateStoreDown",
        "page",
        f"min by (instance, store) ({s.STORE_UP.name}) == 0",
        "1m",
        "The store {{ $labels.store }} does not answer {{ $labels.instance }}",
        "Checks go on by what is known for 15 minutes; tokens cannot be spent. Look at the database and the disk.",
    ),
    Alert(
        "AgentGateStoreSlow",
        "ticket",
        f"{_quantile(0.99, s.STORE_SECONDS, 'instance, store')} > 0.5",
        "10m",
        "The store {{ $labels.store }} takes half a second and more",
        "Look at the disk of the database, at long transactions, and at the number of connections.",
    ),
    Alert(
        "AgentGateEventsLost",
        "page",
        f"increase({s.EVENT_FAILURES.shown}[10m]) > 0",
        "0m",
        "Decisions of {{ $labels.instance }} were not stored and never will be",
        "The store of events was away for too long, or its disk is full.",
    ),
    Alert(
        "AgentGateEventsWaiting",
        "ticket",
        f"{s.EVENTS_WAITING.name} > 10000",
        "2m",
        "{{ $value }} decisions wait to be stored on {{ $labels.instance }}",
        "Past 50,000 for each worker they are lost. Look at the store of events.",
    ),
    Alert(
        "AgentGateSpoolGrows",
        "ticket",
        f"{s.SPOOL_BYTES.name} > 100e6",
        "10m",
        "Decisions wait on the disk of {{ $labels.instance }} for ClickHouse, over 100 MB of them",
        "Full (AGENTGATE_EVENTS_SPOOL_MB), decisions wait in memory and are then lost. Look at ClickHouse.",
    ),
    Alert(
        "AgentGateNoRoom",
        "page",
        f"sum by (instance) (rate({SHED}[5m])) > 1",
        "5m",
        "{{ $labels.instance }} refuses checks because more arrive than it can answer",
        "Add workers or nodes (docs/scaling.md).",
    ),
    Alert(
        "AgentGateChecksSlow",
        "ticket",
        f"{_quantile(0.99, s.DECISION_SECONDS, 'instance, kind')} > 0.005",
        "10m",
        "One in a hundred decisions takes longer than 5 ms",
        "Look at the cache misses: a flood of strangers, or rules that change all the time.",
    ),
    Alert(
        "AgentGateApiErrors",
        "ticket",
        f'sum by (instance) (rate({s.HTTP_REQUESTS.shown}{{status=~"5.."}}[5m]))'
        f" / sum by (instance) (rate({s.HTTP_REQUESTS.shown}[5m])) > 0.01",
        "10m",
        "More than one in a hundred API calls of {{ $labels.instance }} fails",
        "The log has the request IDs and tracebacks.",
    ),
    Alert(
        "AgentGateNotAsked",
        "ticket",
        f"sum by (instance) (rate({REQUESTS}[15m])) == 0 and sum by (instance) (rate({REQUESTS}[15m] offset 1h)) > 0.1",
        "15m",
        "No proxy asks {{ $labels.instance }} any more",
        "Look at the proxies: a site without checks is a site without protection. agentgate doctor says what is wrong.",
    ),
    Alert(
        "AgentGateWorkerMissing",
        "ticket",
        f"{s.WORKERS.name} < max_over_time({s.WORKERS.name}[1h])",
        "5m",
        "{{ $labels.instance }} has fewer workers than an hour ago",
        "The supervisor's log says why they die.",
    ),
    Alert(
        "AgentGateJobFails",
        "ticket",
        f'sum by (task) (increase({s.JOB_RUNS.shown}{{result="failed"}}[1h])) > 3',
        "0m",
        "The job {{ $labels.task }} fails again and again",
        "The log has the traceback: `job failed and will be retried`.",
    ),
    Alert(
        "AgentGateDaysNotClosed",
        "ticket",
        f'time() - max({s.JOB_DONE.name}{{task="close-days"}}) > 7200',
        "10m",
        "No node has rolled up events for two hours",
        "Look for the lease of the jobs and the store of events.",
    ),
    Alert(
        "AgentGateWebhooksFail",
        "ticket",
        f'sum by (type) (rate({s.WEBHOOKS.shown}{{result="failed"}}[30m]))'
        f" / sum by (type) (rate({s.WEBHOOKS.shown}[30m])) > 0.5",
        "30m",
        "More than half of the {{ $labels.type }} deliveries fail",
        "The webhook's own page says what the receiver answered.",
    ),
    Alert(
        "AgentGateFilesRunOut",
        "ticket",
        "process_open_fds / process_max_fds > 0.8",
        "10m",
        "{{ $labels.worker }} on {{ $labels.instance }} has opened four fifths of the files it may",
        "Raise LimitNOFILE, or find who keeps so many connections open.",
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
        "Share of checks that were worked out anew, by cache",
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
    Panel("Families of probes left out", "short", ((f"max({s.PROBES_LEFT_OUT.name})", "left out"),)),
    Panel("API calls by status", "reqps", ((_rate(s.HTTP_REQUESTS, "surface, status"), "{{surface}} {{status}}"),)),
    Panel("API calls: p99", "s", ((_quantile(0.99, s.HTTP_SECONDS, "surface", "$__rate_interval"), "{{surface}}"),)),
    Panel(
        "Being answered, and put off",
        "short",
        ((f"sum({s.IN_FLIGHT.name})", "in flight"), (f"sum by (listener) ({s.PUT_OFF.name})", "put off, {{listener}}")),
    ),
    Panel("Refused before routing", "reqps", ((_rate(s.REFUSED, "listener, reason"), "{{listener}} {{reason}}"),)),
    Panel(
        "Events",
        "reqps",
        (
            (f"sum(rate({s.EVENTS_SENT.shown}[$__rate_interval]))", "made"),
            (f"sum(rate({s.EVENTS_STORED.shown}[$__rate_interval]))", "stored"),
            (f"sum(rate({s.EVENT_FAILURES.shown}[$__rate_interval]))", "lost"),
        ),
    ),
    Panel("Events waiting", "short", ((f"sum by (instance) ({s.EVENTS_WAITING.name})", "{{instance}}"),)),
    Panel(
        "Events on disk for ClickHouse", "short", ((f"max by (instance) ({s.EVENTS_SPOOLED.name})", "{{instance}}"),)
    ),
    Panel("Stores: p99", "s", ((_quantile(0.99, s.STORE_SECONDS, "store", "$__rate_interval"), "{{store}}"),)),
    Panel("Stores answer", "short", ((f"min by (instance, store) ({s.STORE_UP.name})", "{{instance}} {{store}}"),)),
    Panel("Webhooks", "reqps", ((_rate(s.WEBHOOKS, "type, result"), "{{type}} {{result}}"),)),
    Panel(
        "Jobs",
        "short",
        (
            (f"sum by (task, result) (increase({s.JOB_RUNS.shown}[1h]))", "{{task}} {{result}} in an hour"),
            (f"time() - max by (task) ({s.JOB_DONE.name})", "{{task}}: seconds since it was done"),
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


def metrics_page() -> str:
    """Return docs/metrics.md."""
    rows = [
        f"| `{each.shown}` | {each.kind.value} | {', '.join(f'`{name}`' for name in each.labels)} | {each.meaning}"
        f"{' (one for each worker)' if each.merge is Merge.EACH else ''} |"
        for each in SERIES
    ]
    alerts = [
        f"| `{each.name}` | {each.severity} | {each.lasting} | {_TEMPLATE.sub(_named, each.summary)}. {each.action} |"
        for each in ALERTS
    ]
    return _METRICS.format(series="\n".join(rows), alerts="\n".join(alerts))


# What Prometheus fills in, as `$labels.store`.
_TEMPLATE = re.compile(r"\{\{ \$(?:labels\.)?(\w+) \}\}")


def _named(match: re.Match[str]) -> str:
    return f"*{match[1]}*"


_METRICS = """<!-- Generated by `python tools/generate.py`. Do not edit. -->

# Series and alerts

`/metrics` on the admin listener, for Prometheus, has the figures of all workers of the machine in one answer, whichever
of them answers: counters and gauges are added up. A worker that has ended counts on in the sums until the service is
restarted, so that no counter falls. `/metrics?of=worker` shows the one that answers. A worker that hangs is shown with
the figures of the scrape before. From the same list come the [dashboard](../deploy/grafana/agentgate.json) for Grafana
and the [alert rules](../deploy/prometheus/alerts.yaml); [slo.md](slo.md) says which promises they watch.

```yaml
scrape_configs:
  - job_name: agentgate
    static_configs: [{{targets: ["127.0.0.1:8081"]}}]
rule_files: [alerts.yaml]
```

| Series | Type | Labels | Meaning |
| --- | --- | --- | --- |
{series}

The hit rate of a cache is 1 - `agentgate_gateway_cache_misses_total` / `agentgate_decisions_total{{kind="request"}}`.

## Alerts

`page` wakes somebody, `ticket` waits for the morning.

| Alert | Severity | Lasting | What, and what to do |
| --- | --- | --- | --- |
{alerts}
"""


def alert_rules() -> str:
    """Return deploy/prometheus/alerts.yaml. It is JSON, which every reader of YAML reads, but for the first line."""
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
