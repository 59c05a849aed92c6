# ruff: noqa: INP001 - beside the package, for `generate.py`
"""The page about monitoring: its tables of metrics and alerts are made from the same lists as the metrics and alerts."""

import re

from agentgate.lib.telemetry.series import SERIES, Merge
from tools.observability import ALERTS

# What Prometheus fills in, as `$labels.store`.
_TEMPLATE = re.compile(r"\{\{ \$(?:labels\.)?(\w+) \}\}")

_PAGE = """<!-- {notice} -->

# Monitoring: metrics, alerts, logs, traces, SLOs

Which endpoints to probe, which metrics and alerts exist, what to do when an alert fires, and how to read logs and traces.

## Health endpoints

| Path | Listener | Response |
| --- | --- | --- |
| `/healthz` | both | 200 while the process runs. Restart the process if this fails. |
| `/readyz` | public | 200 with `ready` or `degraded`, 503 with `unavailable`. Send traffic while it returns 200. |
| `/readyz` | admin | the same, with the result of each check |

Required checks: `config` and `hot` (databases). Optional checks, which make the state `degraded`: `stats`, `events`, `fast`
(Redis), `intel` (threat data) and `clock`. On SIGTERM `/readyz` returns 503 at once.

## Prometheus and Grafana

`/metrics` on the admin listener returns the metrics of all workers of a machine; counters and gauges are added up. The values of
a worker that ended remain in the totals until the service restarts. `/metrics?of=worker` returns only the responding
worker. For a worker that hangs, `/metrics` repeats its last values.

```yaml
scrape_configs:
  - job_name: agentgate
    static_configs: [{{targets: ["127.0.0.1:8081"]}}]
rule_files: [alerts.yaml]
```

```sh
cp deploy/prometheus/alerts.yaml /etc/prometheus/ && promtool check rules /etc/prometheus/alerts.yaml
```

In Grafana, import [the dashboard](../deploy/grafana/agentgate.json) and choose your Prometheus data source.

## SLOs

Four objectives over 30 days. The [alert rules](../deploy/prometheus/alerts.yaml) watch the first; you can choose others.

| Objective | Indicator | Target | Error budget |
| --- | --- | --- | --- |
| Checks get a decision | 1 - `agentgate:checks_failed:ratio_rate30d`: share of checks without `no_room` and `service_unavailable` | 99.95% | 22 minutes of full outage |
| Decisions are fast | `agentgate_decision_duration_seconds_bucket{{kind="request",le="0.005"}}` | 99% within 5 ms | 7 hours |
| Events are stored | `agentgate_event_write_failures_total` of `agentgate_events_sent_total` | 99.999% | 1 of 100,000 |
| Tokens are redeemed | `agentgate_siteverify_total{{result="unavailable"}}` of all results | 99.9% | 43 minutes |

The objectives do not cover the network between proxy and AgentGate. `AgentGateNotAsked` detects a proxy that sends no checks.
`AgentGateChecksFailFast` fires if 14.4 times the budget is used over 5 minutes and 1 hour, `AgentGateChecksFail` at 6 times over
30 minutes and 6 hours.

## Respond to an alert

1. Read `/readyz` on the admin listener of each node: it shows which store fails. The dashboard shows since when.
2. **A store is unavailable:** checks use cached configuration for 15 minutes, and tokens cannot be redeemed. Restore the store;
   queued events are then written automatically.
3. **`no_room`:** workers are saturated. Add workers up to the number of cores, then nodes ([Scale AgentGate](scaling.md)).
4. **Decisions are slow or caches miss:** find the site in "Decisions by site".
5. **One wrong decision:** its `requestId` is in the proxy's log, and `traceUrl` links to the trace. To log every
   decision for a minute, set `AGENTGATE_DECISION_LOG_EVERY=1` on one node.

## Metrics

| Metric | Type | Labels | Meaning |
| --- | --- | --- | --- |
{series}

Cache hit rate: 1 - `agentgate_gateway_cache_misses_total` / `agentgate_decisions_total{{kind="request"}}`.

## Alerts

`page` needs a response now, `ticket` during working hours.

| Alert | Severity | Duration | Meaning and action |
| --- | --- | --- | --- |
{alerts}

## Logs

AgentGate logs one JSON object per line to standard error, or readable lines if that is a terminal. Change this with
`AGENTGATE_LOG_FORMAT` and `AGENTGATE_LOG_LEVEL`. Each request except gateway checks creates a line:

| Field | Meaning |
| --- | --- |
| `event` | `request`; other lines have events such as `serving` or `worker died` |
| `timestamp`, `level` | UTC; `error` for unexpected failures |
| `request_id` | also in the response header `X-Request-Id` |
| `trace_id` | trace, if one exists |
| `surface`, `method`, `route`, `status`, `duration_ms` | request and result; 499 if the client disconnected |
| `code` | error code of a rejected request |
| `actor`, `site`, `account` | caller, site and customer, if known; users and API tokens appear as IDs |
| `links_read` | number of messages with a link that an operator read in the outbox |
| `exception` | traceback of a failure |

With `AGENTGATE_DECISION_LOG_EVERY=100`, every hundredth gateway decision of a worker creates a line `decision` with its ID,
`request_id`, `trace_id`, `site`, `kind`, `method`, `route`, `status`, `outcome`, `would`, `reason`, `rule`, `agent` and
`duration_us`. A line costs about as much CPU time as two checks.

If a store is unavailable, a worker logs `requests failed, a store is away` once per second with the number of failed
requests, instead of one line for each. No line contains a secret, a client address or a body.

## Traces

Set `AGENTGATE_OTLP_ENDPOINT` to send a span for each request to an OpenTelemetry collector over HTTP. This needs the
packages of the extra `otel`; if they are missing, AgentGate does not start. Spans contain method, route, status and
listener. AgentGate continues a caller's `traceparent` on the admin listener only; a gateway decision records the trace ID of
the caller's `traceparent`, otherwise the ID of its own span. If the collector is unavailable, spans are lost and requests are
not affected. Tracing costs CPU time for each check. `AGENTGATE_TRACE_URL_TEMPLATE` links decisions to your tracing tool.
"""


def monitoring_page(notice: str) -> str:
    """Return docs/monitoring.md."""
    rows = [
        f"| `{each.shown}` | {each.kind.value} | {', '.join(f'`{name}`' for name in each.labels)} | {each.meaning}"
        f"{' (for each worker)' if each.merge is Merge.EACH else ''} |"
        for each in SERIES
    ]
    alerts = [
        f"| `{each.name}` | {each.severity} | {each.lasting} | {_TEMPLATE.sub(_named, each.summary)}. {each.action} |"
        for each in ALERTS
    ]
    return _PAGE.format(notice=notice, series="\n".join(rows), alerts="\n".join(alerts))


def _named(match: re.Match[str]) -> str:
    return f"*{match[1]}*"
