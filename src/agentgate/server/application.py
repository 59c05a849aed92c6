"""The composition root: makes the parts of a worker from the settings and connects them."""

import asyncio
import multiprocessing
import socket
from collections.abc import Iterable
from functools import partial
from typing import Any

import structlog

from agentgate import __version__
from agentgate.agents import wiring as agents
from agentgate.browser_check import wiring as browser_check
from agentgate.browser_check.tokens.fast_siteverify import FastSiteverify
from agentgate.browser_check.tokens.receipts import SigningKeys
from agentgate.decision import wiring as decision
from agentgate.decision.rates.board import SharedBoards, open_boards
from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.events import wiring as events
from agentgate.events.jobs import webhook_jobs
from agentgate.events.storage.clickhouse.events import ClickhouseEvents
from agentgate.events.webhooks.health import HealthWatch
from agentgate.gateway import wiring as gateway
from agentgate.gateway.notices.sending import NoticeSending, notice_jobs
from agentgate.gateway.own_paths import OwnPaths
from agentgate.http.address import ClientAddress, address_id
from agentgate.http.asgi import HttpApp, Reach
from agentgate.http.connection.asgi_function import Direct
from agentgate.http.connection.fast_functions import HotFunction, HotReply, HotRequest
from agentgate.http.connection.listener import Listener, ListenerOptions
from agentgate.http.connection.state import ConnectionLimits, room_for_connections
from agentgate.http.readiness.checks import ReadinessChecks
from agentgate.http.static_files import StaticFiles
from agentgate.lib.clock import Clock
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.foundation import Foundation
from agentgate.lib.keyring import REFRESH_MS, Keyring, Sealer, load_keys
from agentgate.lib.limiter import Limiter
from agentgate.lib.settings.schema import Settings
from agentgate.lib.settings.values import ListenAddress
from agentgate.lib.tasks.background import BackgroundTasks, PeriodicTask
from agentgate.lib.tasks.fair_threads import FairThreads
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry import series
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.lib.telemetry.requests import OutageLog, RequestObserver
from agentgate.lib.telemetry.tracing import Tracer, open_tracer
from agentgate.pages.documentation.endpoints import Documentation
from agentgate.pages.reference.endpoints import Documents
from agentgate.pages.web_app import STATIC
from agentgate.people import wiring as people
from agentgate.people.identity.operators import Operators
from agentgate.people.installation.endpoints import InstallationReader
from agentgate.routes import ADMIN_LISTENER, PUBLIC_LISTENER
from agentgate.server.installation_report import InstallationReport
from agentgate.server.readiness import clock_check, events_check, store_checks, threat_data_check
from agentgate.server.scheduler.jobs import JobRunner
from agentgate.server.secret_files import admin_key, root_secret
from agentgate.server.shared_memory import SharedMemory
from agentgate.server.stores.clock_mark import INTERVAL_MS, ClockMark, continue_clock
from agentgate.server.stores.open import Stores, open_stores
from agentgate.server.stores.restored import check_restored
from agentgate.server.worker_channel import WorkerChannel, open_channel
from agentgate.sites import wiring as sites
from agentgate.sites.customers.endpoints import Invitations
from agentgate.sites.editing import name_own_site
from agentgate.sites.records import AdapterWriter, Examiner
from agentgate.sites.rules.explanations import with_explanation
from agentgate_tools.adapters.texts import AdapterTexts
from agentgate_tools.doctor.examiner import DoctorExaminer

# Long enough for a proxy's next readiness probe to see that this one is going away.
NOTICE_S = 1.0
# A slow client is disconnected within 10 s: deadlines are checked once a second, and the connection is kept open for
# one more second after the error response.
READ_DEADLINE_S = 8.0
# How often events that wait on disk are delivered.
SPOOL_S = 1.0
# Threads for CPU-bound work. Each running thread delays the event loop by a thread switch.
THREADS = 4

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
        boards: SharedBoards | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.stores = stores
        self.keyring = keyring
        self.sealer = sealer
        self._clock_mark = ClockMark(settings.data_dir)
        self._channel: WorkerChannel | None = None
        self.metrics = MetricRegistry(version=__version__, worker=multiprocessing.current_process().name)
        self.tracer: Tracer = open_tracer(settings.otlp_endpoint)
        self._outages = OutageLog()
        self.background = BackgroundTasks()
        self._limiter = Limiter(stores.shared_cache, clock)
        self._watch_databases()
        foundation = Foundation(
            settings=settings,
            clock=clock,
            keyring=keyring,
            sealer=sealer,
            limiter=self._limiter,
            background=self.background,
            metrics=self.metrics,
        )
        self.refresher = refresher = SnapshotRefresher(
            stores.store,
            stores.shared_cache,
            settings=settings,
            clock=clock,
            keyring=keyring,
            boards=boards,
        )
        stores.store.on_configuration_change = self.refresher.wake
        self.events = events.wire(foundation, stores, self.refresher.sites.key_of, with_explanation)
        self.recorder = recorder = self.events.recorder
        self.sites = sites.wire(foundation, stores, refresher.sites, refresher.decider.visitors)
        self.decision = decision.wire(foundation, stores, refresher)
        self.browser_check = browser_check.wire(foundation, stores, refresher, recorder, self.sites.uses)
        self.agents = agents.wire(foundation, stores, refresher, recorder, self.browser_check)
        self.gateway = gateway.wire(
            foundation, stores, refresher, recorder, checks=self.browser_check, agents=self.agents
        )
        self.people = people.wire(foundation, stores.store, self.browser_check.own_form)
        rooms = (self.people, self.events, self.sites, self.decision, self.browser_check, self.agents, self.gateway)
        self._jobs = self._job_runner(job for room in rooms for job in room.jobs)
        self._room_dependencies = {kind: value for room in rooms for kind, value in room.dependencies.items()}
        self.readiness = self._readiness_checks()
        self._installation = InstallationReport(
            in_force=settings,
            stores=stores,
            jobs=self._jobs,
            readiness=self.readiness,
            metrics=self.metrics,
            refresher=self.refresher,
            recorder=self.recorder,
        )
        self._listeners: tuple[Listener, ...] = ()
        self._keys = PeriodicTask("keys", self._refresh_keys, interval_s=REFRESH_MS / 1000)
        self._marks = PeriodicTask("marks", self._keep_marks, interval_s=INTERVAL_MS / 2 / 1000)
        self._spool = _spool_delivery(stores, self.metrics)

    def _watch_databases(self) -> None:
        for name, database in self.stores.databases.items():
            database.watch(self.metrics.timing("postgresql" if database.dialect == "postgres" else name))

    def _job_runner(self, jobs: Iterable[Job]) -> JobRunner:
        health = HealthWatch(self.stores.store, self.sites.health.read, self.clock)
        notices = NoticeSending(
            store=self.stores.store,
            read_health=self.sites.health.read,
            counts=self.stores.traffic.counts,
            messenger=self.people.messenger,
            console_url=self.people.link_urls.console_url,
            clock=self.clock,
        )
        # Without a mail server, notices would fill the outbox.
        mails = notice_jobs(notices) if self.settings.smtp_url else ()
        every = (*jobs, *webhook_jobs(self.events.push, health), *mails)
        return JobRunner(every, store=self.stores.store, clock=self.clock, metrics=self.metrics)

    def _readiness_checks(self) -> ReadinessChecks:
        return ReadinessChecks(
            (
                *store_checks(self.stores, self.metrics),
                events_check(self.stores, self.metrics, self.recorder),
                threat_data_check(self.refresher),
                clock_check(self._clock_mark, self.clock),
            )
        )

    @property
    def signing_keys(self) -> SigningKeys:
        return self.browser_check.signing_keys

    @classmethod
    async def open(
        cls,
        settings: Settings,
        *,
        clock: Clock | None = None,
        cache_end: socket.socket | None = None,
        memory: SharedMemory | None = None,
    ) -> "Application":
        """Open and migrate the stores and load the keys; create what does not exist yet."""
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
        if memory is None:
            return cls(settings, clock, stores, keyring, sealer)
        boards = open_boards(memory.open(), own=memory.own, secret=memory.secret)
        return cls(settings, clock, stores, keyring, sealer, boards=boards)

    async def start(
        self,
        public_socket: socket.socket | None = None,
        admin_socket: socket.socket | None = None,
        local_socket: socket.socket | None = None,
    ) -> None:
        """Open both listeners."""
        settings, dependencies = self.settings, self._dependencies()
        # For `asyncio.to_thread`.
        asyncio.get_running_loop().set_default_executor(FairThreads(THREADS, "worker-thread"))
        self._listeners = (
            self._listener("public", dependencies, settings.public_listen, inherited=public_socket, local=local_socket),
            self._listener("admin", dependencies, settings.admin_listen, inherited=admin_socket),
        )
        self.stores.store.until_in_force = self.refresher.sites.until_active
        if settings.workers > 1:
            self._channel = open_channel(settings.data_dir, self.refresher, self.stores.store, self.metrics)
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
        """Report not ready and ask clients to reconnect, then accept no more connections and finish open requests."""
        self.readiness.draining = True
        for listener in self._listeners:
            listener.announce_close()
        await asyncio.sleep(min(NOTICE_S, self.settings.drain_seconds))
        await asyncio.gather(*(listener.drain(self.settings.drain_seconds) for listener in self._listeners))

    async def close(self) -> None:
        """Close everything that was opened, the stores last."""
        await self._jobs.stop()
        await self.events.push.stop()
        await self._keys.stop()
        await self._marks.stop()
        if self._spool is not None:
            await self._spool.stop()
        for listener in self._listeners:
            await listener.drain(0)
        await self.background.finish()
        # After the last event, and before the store is closed.
        await self.recorder.stop()
        if self._channel is not None:
            self._channel.close()
        await self.refresher.close()
        await self.agents.key_directories.close()
        self.people.close()
        # Sending the last spans may take long, which would block the event loop.
        await asyncio.to_thread(self.tracer.close)
        await self.stores.close()
        self._clock_mark.note(self.clock.now_ms())

    def _listener(
        self,
        name: str,
        dependencies: dict[Any, Any],
        address: ListenAddress,
        *,
        inherited: socket.socket | None,
        local: socket.socket | None = None,
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
            local=local,
            limits=ConnectionLimits(
                header_deadline_s=READ_DEADLINE_S,
                body_deadline_s=READ_DEADLINE_S,
                max_in_flight=settings.max_in_flight,
                max_connections=min(settings.max_connections, room_for_connections()),
            ),
        )
        served: Any = app
        hot_paths: dict[bytes, HotFunction] = {b"/healthz": _alive}
        if name == "public":
            hot_paths |= self.gateway.hot_paths(self.tracer)
            # With a collector, siteverify takes the path that is traced.
            if not self.tracer.is_tracing:
                hot_paths[b"POST /v1/siteverify"] = FastSiteverify(
                    self.browser_check.redeemer,
                    asgi_path=Direct(app),
                    clock=self.clock,
                    metrics=self.metrics,
                    observer=observer,
                )
            served = OwnPaths(app, self.refresher.sites, self.clock)
        listener = Listener(served, options, clock=self.clock, hot_paths=hot_paths)

        def refused() -> dict[tuple[str, ...], int]:
            shed = self.gateway.check.shed if name == "public" else 0
            counts = {**listener.refused, "no_room": listener.shed + shed}
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
        """Return the dependencies of handlers by type."""
        settings, store = self.settings, self.stores.store
        return {
            Store: store,
            AdapterWriter: AdapterTexts(settings),
            Examiner: DoctorExaminer(settings, self.clock),
            InstallationReader: self._installation,
            Invitations: Invitations(self.people.messenger, self.people.link_urls),
            Keyring: self.keyring,
            Limiter: self._limiter,
            MetricRegistry: self.metrics,
            Operators: Operators(admin_key(settings), store=store, keyring=self.keyring, limiter=self._limiter),
            ReadinessChecks: self.readiness,
            Sealer: self.sealer,
            StaticFiles: StaticFiles(STATIC),
            **self._room_dependencies,
        }

    async def _refresh_keys(self) -> None:
        """Load keys that another worker rotated, well before they are first used."""
        now_ms = self.clock.now_ms()
        self.keyring.replace(await load_keys(self.stores.store, self.sealer, now_ms), now_ms)

    async def _keep_marks(self) -> None:
        """Write the clock mark, and read the spend floor that another worker may have raised."""
        self._clock_mark.note_ahead(self.clock)
        await self.stores.redemptions.read_floor()


async def _migrate_events(stores: Stores, clock: Clock) -> None:
    try:
        await stores.segments.migrate(clock)
    except StoreUnavailable as failure:
        if not isinstance(stores.events, ClickhouseEvents):
            raise
        # Decisions need no ClickHouse. The delivery of the spool makes the tables first.
        structlog.get_logger().warning("ClickHouse is unavailable: events are written to the spool", why=str(failure))


def _spool_delivery(stores: Stores, metrics: MetricRegistry) -> PeriodicTask | None:
    """Return the task that delivers spooled events to ClickHouse; None without ClickHouse."""
    events = stores.events
    if not isinstance(events, ClickhouseEvents):
        return None
    events.watch(metrics.timing("clickhouse"))
    metrics.watch(series.EVENTS_SPOOLED, lambda: {(): events.spooled[0]})
    metrics.watch(series.SPOOL_BYTES, lambda: {(): events.spooled[1]})
    return PeriodicTask("events-spool", events.deliver, interval_s=SPOOL_S)
