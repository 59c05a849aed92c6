"""The installation's state, put together from what this process knows and what the stores hold."""

import time
from dataclasses import dataclass, field

from msgspec import UNSET

from agentgate import __version__
from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.events.recorder import Recorder
from agentgate.http.readiness.checks import ReadinessChecks
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional
from agentgate.lib.settings.schema import Settings, describe
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.people.installation.endpoints import key_records
from agentgate.people.installation.records import (
    EventCounts,
    GatewayCounts,
    InstallationCheck,
    InstallationJob,
    InstallationSetting,
    InstallationSettings,
    InstallationState,
    MailCounts,
    ThreatList,
    WorkerCounts,
)
from agentgate.server.scheduler.jobs import JobRunner
from agentgate.server.scheduler.repository import JobResult, JobRun
from agentgate.server.stores.open import Stores

GATEWAY = "gateway"
BUNDLED = "bundled "


@dataclass(kw_only=True)
class InstallationReport:
    """Implements InstallationReader for one worker."""

    in_force: Settings
    stores: Stores
    jobs: JobRunner
    readiness: ReadinessChecks
    metrics: MetricRegistry
    refresher: SnapshotRefresher
    recorder: Recorder
    _started_s: float = field(default_factory=time.monotonic)

    async def report(self, now_ms: int) -> InstallationState:
        read = self.stores.store.read
        readiness = await self.readiness.report()
        alive = await read.worker_numbers.list_taken(now_ms)
        return InstallationState(
            version=__version__,
            time=Moment(now_ms),
            started_at=Moment(now_ms - round((time.monotonic() - self._started_s) * 1000)),
            status=readiness.status,
            checks=[
                InstallationCheck(name=name, ok=not found.startswith("failed"), found=found)
                for name, found in readiness.checks.items()
            ],
            workers=WorkerCounts(configured=self.in_force.workers, alive=len(alive)),
            events=EventCounts(**self.recorder.ledger()),
            gateway=self._gateway(),
            jobs=await self._jobs(),
            keys=key_records(await read.keys.list_keys(), now_ms),
            threat_lists=self._threat_lists(),
            mail=await self._mail(),
        )

    def settings(self) -> InstallationSettings:
        """Return the active settings, with secrets hidden."""
        rows = describe(self.in_force)
        return InstallationSettings(
            items=[
                InstallationSetting(name=name, value=value, source=source, meaning=meaning)
                for name, value, source, meaning in rows
            ]
        )

    def _gateway(self) -> GatewayCounts:
        answered, errors, p95_s = self.metrics.summary(GATEWAY)
        return GatewayCounts(answered=answered, errors=errors, p95_ms=UNSET if p95_s is None else p95_s * 1000)

    async def _jobs(self) -> list[InstallationJob]:
        stored = self.stores.store.read.jobs
        runs = {run.name: run for run in await stored.list_runs()}
        results = {result.name: result for result in await stored.list_results()}
        return [_job(job, runs.get(job.name), results.get(job.name)) for job in self.jobs.jobs]

    def _threat_lists(self) -> list[ThreatList]:
        intel = self.refresher.intel.current
        return [
            ThreatList(
                name=line.file,
                kind=line.kind,
                entries=line.taken,
                refused=line.refused,
                imported_at=UNSET if line.file.startswith(BUNDLED) else Moment(intel.imported_ms),
            )
            for line in intel.sources
        ]

    async def _mail(self) -> MailCounts:
        counts = await self.stores.store.read.outbox.count_unsent()
        return MailCounts(
            configured=bool(self.in_force.smtp_url),
            pending=counts.pending,
            failed=counts.failed,
            last_error=optional(counts.last_error),
        )


def _job(job: Job, run: JobRun | None, result: JobResult | None) -> InstallationJob:
    last_ms = max(run.last_ms if run else 0, result.started_ms if result else 0)
    held_ms = run.held_until_ms if run else 0
    return InstallationJob(
        name=job.name,
        interval_seconds=job.interval_ms // 1000,
        last_run_at=Moment(last_ms) if last_ms else UNSET,
        took_ms=result.took_ms if result else UNSET,
        failure=result.failure if result and result.failure else UNSET,
        next_run_at=Moment(last_ms + job.interval_ms) if last_ms and job.interval_ms else UNSET,
        held_until=Moment(held_ms) if held_ms else UNSET,
    )
