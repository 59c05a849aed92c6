"""`/healthz`, `/readyz` and `/metrics`. The public listener tells the state, the admin listener also the checks."""

from typing import Literal

from agentgate.http.call import Call
from agentgate.http.readiness.checks import ReadinessChecks, ReadinessLevel
from agentgate.http.readiness.checks import ReadinessReport as ReadinessReport  # noqa: PLC0414 - the row names it
from agentgate.http.replies import Reply, Text
from agentgate.lib.limits import STORE_UNAVAILABLE_RETRY_AFTER_S
from agentgate.lib.records import Record
from agentgate.lib.telemetry.metrics import MetricRegistry


class Alive(Record, frozen=True, kw_only=True):
    """The process runs."""

    status: Literal["ok"] = "ok"


class ReadinessState(Record, frozen=True, kw_only=True):
    """Readiness to decide."""

    status: ReadinessLevel


async def read_health(call: Call) -> Alive:  # noqa: ARG001 - every handler is given its call
    """Check that the process runs."""
    return Alive()


async def read_readiness(call: Call, readiness: ReadinessChecks) -> Reply[ReadinessState]:  # noqa: ARG001
    """Check whether AgentGate can decide: `ready`, or `degraded` if only optional data is missing."""
    report = await readiness.report()
    return _reply(report, ReadinessState(status=report.status))


async def read_readiness_report(call: Call, readiness: ReadinessChecks) -> Reply[ReadinessReport]:  # noqa: ARG001
    """Say whether decisions can be made, and the result of each check."""
    report = await readiness.report()
    return _reply(report, report)


class MetricsQuery(Record, frozen=True, kw_only=True):
    """The metrics to read."""

    # `machine`: the metrics of all workers together. `worker`: the metrics of the worker that responds.
    of: Literal["machine", "worker"] = "machine"


async def read_metrics(call: Call, query: MetricsQuery, metrics: MetricRegistry) -> Text:  # noqa: ARG001
    """Read the metrics of all workers of this machine in the Prometheus text format."""
    content, media_type = metrics.exposition() if query.of == "worker" else await metrics.exposition_of_all()
    return Text(content, media_type)


def _reply(report: ReadinessReport, body: Record) -> Reply:  # type: ignore[type-arg]
    if report.status == "unavailable":
        return Reply(body=body, status=503, headers=(("retry-after", str(STORE_UNAVAILABLE_RETRY_AFTER_S)),))
    return Reply(body=body)
