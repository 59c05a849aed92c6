"""The composition root: settings, stores, services, two listeners. Only here are things put together."""

import asyncio
import multiprocessing
import socket
from functools import partial
from typing import Any

import apsw
import structlog

from agentgate import __version__
from agentgate.events import wiring as events
from agentgate.events.jobs import webhook_jobs
from agentgate.events.recorder import Recorder
from agentgate.events.storage.clickhouse.events import ClickhouseEvents
from agentgate.events.webhooks.health import HealthWatch
from agentgate.http.address import ClientAddress, address_id
from agentgate.http.asgi import HttpApp, Reach
from agentgate.http.connection.fast_functions import HotFunction, HotReply, HotRequest
from agentgate.http.connection.listener import Listener, ListenerOptions
from agentgate.http.connection.state import ConnectionLimits, room_for_connections
from agentgate.http.documentation.endpoints import Documentation
from agentgate.http.openapi.endpoints import Documents
from agentgate.http.readiness.checks import ReadinessCheck, ReadinessChecks
from agentgate.http.static_files import StaticFiles
from agentgate.lib.clock import Clock
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.foundation import Foundation
from agentgate.lib.keyring import REFRESH_MS, Keyring, Sealer, load_keys
from agentgate.lib.limiter import Limiter
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.background import BackgroundTasks
from agentgate.lib.tasks.periodic import PeriodicTask
from agentgate.lib.telemetry import series
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.lib.telemetry.requests import OutageLog, RequestObserver
from agentgate.lib.telemetry.tracing import Tracer, open_tracer
from agentgate.people import wiring as people
from agentgate.people.identity.operators import Operators
from agentgate.people.installation.endpoints import InstallationReader
from agentgate.protection.customers.endpoints import Invitations
from agentgate.protection.signals.page_board import PageBoard
from agentgate.protection.sites.editing import name_own_site
from agentgate.protection.sites.records import AdapterWriter
from agentgate.protection.snapshot_refresher import SnapshotRefresher
from agentgate.protection.threat_data.intel_file import IntelRefused
from agentgate.protection.tokens.receipts import SigningKeys
from agentgate.protection.wiring import DataPlane
from agentgate.routes import ADMIN_LISTENER, PUBLIC_LISTENER
from agentgate.server.adapter_texts import AdapterTexts
from agentgate.server.installation_report import InstallationReport, Sources
from agentgate.server.scheduler.jobs import JobRunner
from agentgate.server.secret_files import admin_key, root_secret
from agentgate.server.shared_memory import SharedMemory
from agentgate.server.stores.clock_mark import INTERVAL_MS, ClockMark, continue_clock
from agentgate.server.stores.open import Stores, open_stores
from agentgate.server.stores.restored import check_restored
from agentgate.server.worker_board import WorkerBoard, open_board

# Long enough for a proxy's next readiness probe to see that this one is going away.
NOTICE_S = 1.0
# A slow client is gone within 10 s: deadlines are looked at once a second, and a refusal lingers for a second more.
READ_DEADLINE_S = 8.0
# How often events that waited on disk are handed in.
SPOOL_S = 1.0

_ALIVE = HotReply(200, [(b"content-type", b"application/json"), (b"cache-control", b"no-store")], b'{"status":"ok"}')


def _alive(_request: HotRequest) -> HotReply:
    return _ALIVE


class Application:
    """One worker: its stores, its two listeners, its timed work."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        stores: Stores,
        keyring: Keyring,
        sealer: Sealer,
        *,
        pages: PageBoard | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.stores = stores
        self.keyring = keyring
        self.sealer = sealer
        self._clock_mark = ClockMark(settings.data_dir)
        self._board: WorkerBoard | None = None
        self.metrics = MetricRegistry(version=__version__, worker=multiprocessing.current_process().name)
        self.tracer: Tracer = open_tracer(settings.otlp_endpoint)
        self._outages = OutageLog()
        self.background = BackgroundTasks()
        self._limiter = Limiter(stores.shared_cache, clock)
        for name, database in stores.databases.items():
            database.watch(self.metrics.timing("postgresql" if database.dialect == "postgres" else name))
        foundation = Foundation(
            settings=settings,
            clock=clock,
            keyring=keyring,
            sealer=sealer,
            limiter=self._limiter,
            background=self.background,
            metrics=self.metrics,
        )
        self.refresher = SnapshotRefresher(
            stores.store, stores.shared_cache, settings=settings, clock=clock, keyring=keyring, pages=pages
        )
        stores.store.on_configuration_change = self.refresher.wake
        self.events = events.wire(foundation, stores, self.refresher.sites.key_of)
        self.recorder = self.events.recorder
        self.data_plane = DataPlane(foundation, stores, self.refresher, self.recorder)
        self.people = people.wire(foundation, stores.store, self.data_plane.own_form())
        health = HealthWatch(stores.store, self.data_plane.health.read, clock)
        self._jobs = JobRunner(
            (
                *self.people.jobs,
                *self.events.jobs,
                *webhook_jobs(self.events.push, health),
                *self.data_plane.jobs,
            ),
            store=stores.store,
            clock=clock,
            metrics=self.metrics,
        )
        checks = _checks(stores, self.metrics, self.refresher, self.recorder)
        self.readiness = ReadinessChecks((*checks, self._clock_check()))
        self._installation = InstallationReport(
            settings,
            Sources(
                stores=stores,
                jobs=self._jobs,
                readiness=self.readiness,
                metrics=self.metrics,
                refresher=self.refresher,
                recorder=self.recorder,
            ),
        )
        self._listeners: tuple[Listener, ...] = ()
        self._keys = PeriodicTask("keys", self._refresh_keys, interval_s=REFRESH_MS / 1000)
        self._marks = PeriodicTask("marks", self._keep_marks, interval_s=INTERVAL_MS / 2 / 1000)
        self._spool = _spool_delivery(stores, self.metrics)

    @property
    def signing_keys(self) -> SigningKeys:
        """The keys that sign receipts."""
        return self.data_plane.signing_keys

    @classmethod
    async def open(
        cls,
        settings: Settings,
        *,
        clock: Clock | None = None,
        cache_end: socket.socket | None = None,
        memory: SharedMemory | None = None,
    ) -> "Application":
        """Open and migrate the stores and read the keys, making what does not exist yet."""
        mark = ClockMark(settings.data_dir)
        clock = clock or continue_clock(mark)
        sealer = Sealer(root_secret(settings))
        stores = await open_stores(settings, clock, cache_end)
        try:
            await stores.migrate_databases(clock)
            await _migrate_events(stores, clock)
            await name_own_site(stores.store, settings.access_site_key)
            now_ms = clock.now_ms()
            await check_restored(stores, mark, now_ms)
            keyring = Keyring(await load_keys(stores.store, sealer, now_ms), now_ms)
        except BaseException:
            await stores.close()
            raise
        mark.note_ahead(clock)
        pages = None if memory is None else PageBoard(memory.open(), own=memory.own)
        return cls(settings, clock, stores, keyring, sealer, pages=pages)

    async def start(
        self, public_socket: socket.socket | None = None, admin_socket: socket.socket | None = None
    ) -> None:
        """Open both listeners."""
        settings, dependencies = self.settings, self._dependencies()
        self._listeners = (
            self._listener("public", dependencies, settings.public_listen, public_socket),
            self._listener("admin", dependencies, settings.admin_listen, admin_socket),
        )
        if settings.workers > 1:
            self._board = open_board(settings.data_dir, self.refresher, self.stores.store, self.metrics)
        await self.refresher.start()
        await self.recorder.start()
        for listener in self._listeners:
            await listener.start()
        self.people.link_urls.note_port(self.public_address[1])
        self._keys.start()
        self._marks.start()
        if self._spool is not None:
            self._spool.start()
        self._jobs.start()

    @property
    def public_address(self) -> tuple[str, int]:
        """The public listener's host and port."""
        return self._listeners[0].address

    @property
    def admin_address(self) -> tuple[str, int]:
        """The admin listener's host and port."""
        return self._listeners[1].address

    async def drain(self) -> None:
        """Say that this worker goes away, then take no more connections and finish what is open."""
        self.readiness.draining = True
        await asyncio.sleep(min(NOTICE_S, self.settings.drain_seconds))
        await asyncio.gather(*(listener.drain(self.settings.drain_seconds) for listener in self._listeners))

    async def close(self) -> None:
        """Close everything that was opened, the stores last."""
        await self._jobs.stop()
        await self._keys.stop()
        await self._marks.stop()
        if self._spool is not None:
            await self._spool.stop()
        for listener in self._listeners:
            await listener.drain(0)
        await self.background.finish()
        # When nobody makes events any more, and before the store goes away.
        await self.recorder.stop()
        if self._board is not None:
            self._board.close()
        await self.refresher.close()
        await self.data_plane.key_directories.close()
        self.people.close()
        # Telling the collector the last spans may take its time, which the event loop does not have.
        await asyncio.to_thread(self.tracer.close)
        await self.stores.close()
        self._clock_mark.note(self.clock.now_ms())

    def _listener(
        self, name: str, dependencies: dict[Any, Any], address: Any, inherited: socket.socket | None
    ) -> Listener:
        settings = self.settings
        surfaces = PUBLIC_LISTENER if name == "public" else ADMIN_LISTENER
        observer = RequestObserver(name, metrics=self.metrics, tracer=self.tracer, outages=self._outages)
        app = HttpApp(
            surfaces,
            {
                **dependencies,
                Documents: Documents(surfaces),
                Documentation: Documentation(feedback=surfaces is PUBLIC_LISTENER),
            },
            clock=self.clock,
            client_address=ClientAddress(
                map(str, settings.trusted_proxies), pseudonym=partial(address_id, self.keyring)
            ),
            reach=self._reach(name),
            observer=observer,
        )
        options = ListenerOptions(
            host=address.host,
            port=address.port,
            inherited=inherited,
            limits=ConnectionLimits(
                header_deadline_s=READ_DEADLINE_S,
                body_deadline_s=READ_DEADLINE_S,
                max_in_flight=settings.max_in_flight,
                max_connections=min(settings.max_connections, room_for_connections()),
            ),
        )
        hot_paths: dict[bytes, HotFunction] = {b"/healthz": _alive}
        if name == "public":
            hot_paths |= self.data_plane.hot_paths(app, metrics=self.metrics, observer=observer)
        listener = Listener(app, options, clock=self.clock, hot_paths=hot_paths)
        shed = self.data_plane.count_shed if name == "public" else (lambda: 0)

        def refused() -> dict[tuple[str, ...], int]:
            counts = {**listener.refused, "no_room": listener.shed + shed()}
            return {(name, reason): count for reason, count in counts.items()}

        self.metrics.watch(series.REFUSED, refused)
        self.metrics.watch(series.PUT_OFF, lambda: {(name,): listener.deferred})
        return listener

    def _reach(self, listener: str) -> Reach:
        https = self.settings.public_base_url.lower().startswith("https://")
        if listener == "public":
            return Reach(https=https)
        return Reach(allowed_hosts=frozenset(self.settings.admin_hosts), https=https, plain_pages=True)

    def _dependencies(self) -> dict[Any, Any]:
        """Return what handlers ask for, by type."""
        settings, store = self.settings, self.stores.store
        return {
            Store: store,
            AdapterWriter: AdapterTexts(settings),
            InstallationReader: self._installation,
            Invitations: Invitations(self.people.messenger, self.people.link_urls),
            Keyring: self.keyring,
            Limiter: self._limiter,
            MetricRegistry: self.metrics,
            Operators: Operators(admin_key(settings), store=store, keyring=self.keyring, limiter=self._limiter),
            ReadinessChecks: self.readiness,
            Sealer: self.sealer,
            StaticFiles: StaticFiles(),
            **self.people.dependencies,
            **self.events.dependencies,
            **self.data_plane.dependencies(),
        }

    async def _refresh_keys(self) -> None:
        """Take over keys that were rotated elsewhere, well before they are first used."""
        now_ms = self.clock.now_ms()
        self.keyring.replace(await load_keys(self.stores.store, self.sealer, now_ms), now_ms)

    def _clock_check(self) -> ReadinessCheck:
        async def probe() -> str:
            return self._clock_mark.check(self.clock)

        return ReadinessCheck("clock", required=False, probe=probe)

    async def _keep_marks(self) -> None:
        """Note the highest time seen, and hear of spends that somebody else has found to be lost."""
        self._clock_mark.note_ahead(self.clock)
        await self.stores.redemptions.read_floor()


async def _migrate_events(stores: Stores, clock: Clock) -> None:
    try:
        await stores.segments.migrate(clock)
    except StoreUnavailable as failure:
        if not isinstance(stores.events, ClickhouseEvents):
            raise
        # Decisions need no ClickHouse. Whoever delivers the spool makes the tables first.
        structlog.get_logger().warning("ClickHouse is away, events will wait in the spool", why=str(failure))


async def _probe_events(stores: Stores, metrics: MetricRegistry, recorder: Recorder) -> str:
    if not recorder.is_well:
        raise StoreUnavailable("events wait, or there are more than can wait")
    if not isinstance(stores.events, ClickhouseEvents):
        return "recorded"
    try:
        await stores.events.ping()
    except StoreUnavailable:
        metrics.store_answers("clickhouse", up=False)
        raise
    metrics.store_answers("clickhouse", up=True)
    return "recorded in ClickHouse"


def _spool_delivery(stores: Stores, metrics: MetricRegistry) -> PeriodicTask | None:
    """Return what hands events in that waited on disk, where there is ClickHouse."""
    events = stores.events
    if not isinstance(events, ClickhouseEvents):
        return None
    events.watch(metrics.timing("clickhouse"))
    metrics.watch(series.EVENTS_SPOOLED, lambda: {(): events.spooled[0]})
    metrics.watch(series.SPOOL_BYTES, lambda: {(): events.spooled[1]})
    return PeriodicTask("events-spool", events.deliver, interval_s=SPOOL_S)


def _checks(
    stores: Stores, metrics: MetricRegistry, refresher: SnapshotRefresher, recorder: Recorder
) -> tuple[ReadinessCheck, ...]:
    async def probe(name: str) -> str:
        database = stores.databases[name]
        try:
            await database.ping()
        except StoreUnavailable:
            metrics.store_answers(name, up=False)
            raise
        metrics.store_answers(name, up=True)
        return f"SQLite {apsw.sqlite_lib_version()}" if database.dialect == "sqlite" else "PostgreSQL"

    async def probe_fast() -> str:
        if not await stores.shared_cache.ping():
            raise StoreUnavailable("the shared cache is away; limits are counted per worker")
        return stores.shared_cache.kind

    async def probe_intel() -> str:
        is_well, line = refresher.intel.status()
        if not is_well:
            raise IntelRefused(line)
        return line

    # Without the configuration nothing can be decided, and without what happens once no token can be given or taken.
    # Counters and rate windows can be done without for a while.
    return (
        ReadinessCheck("config", required=True, probe=lambda: probe("config")),
        ReadinessCheck("hot", required=True, probe=lambda: probe("hot")),
        ReadinessCheck("stats", required=False, probe=lambda: probe("stats")),
        ReadinessCheck("events", required=False, probe=lambda: _probe_events(stores, metrics, recorder)),
        ReadinessCheck("fast", required=False, probe=probe_fast),
        ReadinessCheck("intel", required=False, probe=probe_intel),
    )
