"""Dependencies of a worker: those it must reach to be ready, and those that may be unavailable for a while."""

import apsw

from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.decision.threat_data.intel_file import IntelRefused
from agentgate.events.recorder import Recorder
from agentgate.events.storage.clickhouse.events import ClickhouseEvents
from agentgate.http.readiness.checks import ReadinessCheck
from agentgate.lib.clock import Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.server.stores.clock_mark import ClockMark
from agentgate.server.stores.open import Stores


def store_checks(stores: Stores, metrics: MetricRegistry) -> tuple[ReadinessCheck, ...]:
    """Return the checks of the databases and of the shared cache."""

    async def probe(name: str) -> str:
        database = stores.databases[name]
        try:
            await database.ping()
        except StoreUnavailable:
            metrics.store_answers(name, up=False)
            raise
        metrics.store_answers(name, up=True)
        return f"SQLite {apsw.sqlite_lib_version()}" if database.dialect == "sqlite" else "PostgreSQL"

    async def probe_shared_cache() -> str:
        if not await stores.shared_cache.ping():
            raise StoreUnavailable("the shared cache is unavailable; each worker counts rate limits separately")
        return stores.shared_cache.kind

    # Without the configuration nothing can be decided, and without what happens once no token can be given or taken.
    # Counters and rate windows can be done without for a while.
    return (
        ReadinessCheck("config", required=True, probe=lambda: probe("config")),
        ReadinessCheck("hot", required=True, probe=lambda: probe("hot")),
        ReadinessCheck("stats", required=False, probe=lambda: probe("stats")),
        ReadinessCheck("fast", required=False, probe=probe_shared_cache),
    )


def events_check(stores: Stores, metrics: MetricRegistry, recorder: Recorder) -> ReadinessCheck:
    """Return the check that events are recorded."""

    async def probe() -> str:
        if not recorder.is_well:
            raise StoreUnavailable("events are queued, or the queue is full")
        if not isinstance(stores.events, ClickhouseEvents):
            return "recorded"
        try:
            await stores.events.ping()
        except StoreUnavailable:
            metrics.store_answers("clickhouse", up=False)
            raise
        metrics.store_answers("clickhouse", up=True)
        return "recorded in ClickHouse"

    return ReadinessCheck("events", required=False, probe=probe)


def threat_data_check(refresher: SnapshotRefresher) -> ReadinessCheck:
    async def probe() -> str:
        is_well, line = refresher.intel.status()
        if not is_well:
            raise IntelRefused(line)
        return line

    return ReadinessCheck("intel", required=False, probe=probe)


def clock_check(mark: ClockMark, clock: Clock) -> ReadinessCheck:
    """Return the check that the machine's clock was not put back."""

    async def probe() -> str:
        return mark.check(clock)

    return ReadinessCheck("clock", required=False, probe=probe)
