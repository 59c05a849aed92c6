"""The composition root: settings, stores, services, two listeners. Only here are things put together."""

import asyncio
import multiprocessing
import socket
from functools import partial
from typing import Any

import apsw

from agentgate import __version__
from agentgate.events.decision_counts import DecisionMetrics
from agentgate.events.decision_log import DecisionLog
from agentgate.events.ports import EventStore
from agentgate.events.queries.ports import TrafficStore
from agentgate.events.queries.terms import TrafficTerms
from agentgate.events.recorder import Recorder
from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.health import HealthWatch
from agentgate.http.address import ClientAddress, address_id
from agentgate.http.asgi import HttpApp, Reach
from agentgate.http.connection.fast_functions import HotFunction, HotReply, HotRequest
from agentgate.http.connection.listener import Listener, ListenerOptions
from agentgate.http.connection.state import ConnectionLimits, room_for_connections
from agentgate.http.documentation.endpoints import Documentation
from agentgate.http.openapi.endpoints import Documents
from agentgate.http.readiness.checks import Check, Readiness
from agentgate.http.static_files import StaticFiles
from agentgate.http.surface import Surface
from agentgate.lib.clock import SECOND_MS, Clock
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.keyring import REFRESH_MS, Keyring, Sealer, load_keys
from agentgate.lib.limiter import Limiter
from agentgate.lib.outbound.client import Outbound
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.background import Background
from agentgate.lib.tasks.periodic import Recurring
from agentgate.lib.telemetry.metrics import Metrics
from agentgate.lib.telemetry.outages import OutageLog
from agentgate.lib.telemetry.requests import RequestObserver
from agentgate.lib.telemetry.tracing import Tracer, open_tracer
from agentgate.people.accounts.code_check import CodeCheck
from agentgate.people.accounts.password_check import PasswordCheck
from agentgate.people.accounts.password_reset import PasswordReset
from agentgate.people.identity.browser_check import BrowserCheck
from agentgate.people.identity.known_devices import KnownDevices
from agentgate.people.identity.links import LinkUrls
from agentgate.people.identity.mfa import SecondFactor
from agentgate.people.identity.operators import Operators
from agentgate.people.identity.passwords import Passwords
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.sign_in_limits import SignInLimits
from agentgate.people.installation.ports import InstallationReader
from agentgate.people.outbox.deliver import Delivery
from agentgate.people.outbox.messages import Messenger
from agentgate.people.outbox.smtp import read_mail_url
from agentgate.protection.customers.invitations import Invitations
from agentgate.protection.lists.backtest import ListBacktests
from agentgate.protection.rules.backtest import Backtests
from agentgate.protection.rules.ports import Explainer
from agentgate.protection.scoring.ports import Evidence, RulesInForce, ScoreSamples
from agentgate.protection.sites.adapters import AdapterWriter
from agentgate.protection.sites.editing import name_own_site
from agentgate.protection.sites.health import HealthReader
from agentgate.protection.sites.prompt import AgentPrompt
from agentgate.protection.sites.repositories.health import SiteHealthStore
from agentgate.protection.sites.repositories.sites import ActivityStore
from agentgate.protection.snapshot_refresher import Deciding
from agentgate.protection.threat_data.intel_file import IntelRefused
from agentgate.protection.tokens.keys import SigningKeys
from agentgate.protection.wiring import Protecting
from agentgate.routes import ADMIN_LISTENER, PUBLIC_LISTENER
from agentgate.server.adapter_texts import AdapterTexts
from agentgate.server.installation_report import InstallationReport, Sources
from agentgate.server.scheduler.jobs import (
    Job,
    JobRunner,
    browser_jobs,
    event_jobs,
    handoff_jobs,
    push_jobs,
    scoring_jobs,
    submission_jobs,
    timed_jobs,
    token_jobs,
)
from agentgate.server.secret_files import admin_key, root_secret
from agentgate.server.stores.clock_mark import INTERVAL_MS, ClockMark, continue_clock
from agentgate.server.stores.open import Stores, open_stores
from agentgate.server.stores.restored import check_restored
from agentgate.server.worker_board import WorkerBoard, open_board
from agentgate.storage.migrate import apply

# Long enough for a proxy's next readiness probe to see that this one is going away.
NOTICE_S = 1.0
# A slow client is gone within 10 s: deadlines are looked at once a second, and a refusal lingers for a second more.
READ_DEADLINE_S = 8.0

_ALIVE = HotReply(200, [(b"content-type", b"application/json"), (b"cache-control", b"no-store")], b'{"status":"ok"}')


def _alive(_request: HotRequest) -> HotReply:
    return _ALIVE


class Application:
    """One worker: its stores, its two listeners, its timed work."""

    def __init__(self, settings: Settings, clock: Clock, stores: Stores, keyring: Keyring, sealer: Sealer) -> None:
        self.settings = settings
        self.clock = clock
        self.stores = stores
        self._clock_mark = ClockMark(settings.data_dir)
        self._board: WorkerBoard | None = None
        self.keyring = keyring
        self.metrics = Metrics(version=__version__, worker=multiprocessing.current_process().name)
        self.tracer: Tracer = open_tracer(settings.otlp_endpoint)
        self._outages = OutageLog()
        self.deciding = Deciding(stores.store, stores.fast, settings=settings, clock=clock, keyring=keyring)
        stores.store.on_configuration_change = self.deciding.wake
        self.recorder = Recorder(stores.events, failed=self.metrics.event_write_failed)
        self.recorder.log = DecisionLog(settings.decision_log_every, self.deciding.sites.key_of)
        self.recorder.took = self.metrics.timing("events")
        for name, database in stores.databases.items():
            database.watch(self.metrics.timing("postgresql" if database.dialect == "postgres" else name))
        self.readiness = Readiness((*_checks(stores, self.metrics, self.deciding, self.recorder), self._clock_check()))
        self.metrics.watch_events(self.recorder.ledger)
        self.metrics.show(DecisionMetrics(self.recorder.decisions, self.deciding.sites.key_of))
        self.health = HealthReader(stores.store, stores.site_health, token_ms=settings.token_seconds * SECOND_MS)
        self._backtests = Backtests(stores.replay)
        self._list_backtests = ListBacktests(stores.client_replay, self.deciding.decider.visitors)
        self.background = Background()
        self.protecting = Protecting(stores, self.deciding, settings=settings, clock=clock, keyring=keyring)
        self.metrics.watch_probes(self.protecting.count_probes)
        self.protecting.connect(self.recorder, self.background)
        self.metrics.watch_cache_misses(lambda: self.protecting.gate.misses)
        self._passwords = Passwords()
        self.sealer = sealer
        self._messenger = Messenger(self.sealer)
        self._link_urls = LinkUrls(settings.public_base_url, str(settings.public_listen))
        self._outbound = Outbound(frozenset(settings.webhook_private_hosts))
        self._push = Push(
            stores.store,
            stores.feed,
            outbound=self._outbound,
            sealer=sealer,
            clock=clock,
            metrics=self.metrics,
        )
        jobs = timed_jobs(stores.store, stores.activity, clock=clock, delivery=self._delivery())
        jobs += self._event_jobs() + push_jobs(self._push, HealthWatch(stores.store, self.health.read, clock))
        jobs += browser_jobs(stores.challenges, clock=clock) + token_jobs(
            stores.redemptions, stores.agent_replays, clock=clock
        )
        jobs += handoff_jobs(stores.handoffs, stores.agent_grants, clock=clock)
        jobs += submission_jobs(stores.submissions, clock=clock)
        self._jobs = JobRunner(jobs, store=stores.store, clock=clock, metrics=self.metrics)
        self._installation = InstallationReport(
            settings,
            Sources(
                stores=stores,
                jobs=self._jobs,
                readiness=self.readiness,
                metrics=self.metrics,
                deciding=self.deciding,
                recorder=self.recorder,
            ),
        )
        self._listeners: tuple[Listener, ...] = ()
        self._keys = Recurring("keys", self._refresh_keys, interval_s=REFRESH_MS / 1000)
        self._marks = Recurring("marks", self._keep_marks, interval_s=INTERVAL_MS / 2 / 1000)

    @property
    def signing_keys(self) -> SigningKeys:
        """The keys that sign receipts."""
        return self.protecting.signing_keys

    @classmethod
    async def open(
        cls, settings: Settings, *, clock: Clock | None = None, cache_end: socket.socket | None = None
    ) -> "Application":
        """Open and migrate the stores and read the keys, making what does not exist yet."""
        mark = ClockMark(settings.data_dir)
        clock = clock or continue_clock(mark)
        sealer = Sealer(root_secret(settings))
        stores = await open_stores(settings, clock, cache_end)
        try:
            for name, database in stores.databases.items():
                await apply(database, name, clock=clock)
            await stores.segments.migrate(clock)
            await name_own_site(stores.store, settings.access_site_key)
            now_ms = clock.now_ms()
            await check_restored(stores, mark, now_ms)
            keyring = Keyring(await load_keys(stores.store, sealer, now_ms), now_ms)
        except BaseException:
            await stores.close()
            raise
        mark.note_ahead(clock)
        return cls(settings, clock, stores, keyring, sealer)

    async def start(
        self, public_socket: socket.socket | None = None, admin_socket: socket.socket | None = None
    ) -> None:
        """Open both listeners."""
        settings = self.settings
        self._listeners = (
            self._listener("public", PUBLIC_LISTENER, settings.public_listen, public_socket),
            self._listener("admin", ADMIN_LISTENER, settings.admin_listen, admin_socket),
        )
        if settings.workers > 1:
            self._board = open_board(settings.data_dir, self.deciding, self.stores.store, self.metrics)
        await self.deciding.start()
        await self.recorder.start()
        for listener in self._listeners:
            await listener.start()
        self._link_urls.note_port(self.public_address[1])
        self._keys.start()
        self._marks.start()
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
        for listener in self._listeners:
            await listener.drain(0)
        await self.background.settle()
        # When nobody makes events any more, and before the store goes away.
        await self.recorder.stop()
        if self._board is not None:
            self._board.close()
        await self.deciding.close()
        await self.protecting.key_directories.close()
        self._passwords.close()
        # Telling the collector the last spans may take its time, which the event loop does not have.
        await asyncio.to_thread(self.tracer.close)
        await self.stores.close()
        self._clock_mark.note(self.clock.now_ms())

    def _listener(
        self, name: str, surfaces: tuple[Surface, ...], address: Any, inherited: socket.socket | None
    ) -> Listener:
        settings = self.settings
        observer = RequestObserver(name, metrics=self.metrics, tracer=self.tracer, outages=self._outages)
        app = HttpApp(
            surfaces,
            self._dependencies(surfaces),
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
            hot_paths |= self.protecting.hot_paths(app, metrics=self.metrics, observer=observer)
        listener = Listener(app, options, clock=self.clock, hot_paths=hot_paths)
        shed = self.protecting.count_shed if name == "public" else (lambda: 0)
        self.metrics.watch_refusals(name, lambda: {**listener.refused, "no_room": listener.shed + shed()})
        self.metrics.watch_put_off(name, lambda: listener.put_off)
        return listener

    def _reach(self, listener: str) -> Reach:
        https = self.settings.public_base_url.lower().startswith("https://")
        if listener == "public":
            return Reach(https=https)
        return Reach(allowed_hosts=frozenset(self.settings.admin_hosts), https=https, plain_pages=True)

    def _dependencies(self, surfaces: tuple[Surface, ...]) -> dict[Any, Any]:
        limiter = Limiter(self.stores.fast, self.clock)
        messenger = self._messenger
        urls = self._link_urls
        protecting = self.protecting.dependencies(limiter)
        devices = KnownDevices(self.sealer)
        sign_in_limits = SignInLimits(limiter, devices, protecting[BrowserCheck])
        second_factor = SecondFactor(self.sealer)
        return {
            Store: self.stores.store,
            ActivityStore: self.stores.activity,
            EventStore: self.stores.events,
            Evidence: self.stores.evidence,
            Explainer: self.deciding,
            RulesInForce: self.deciding.sites,
            ScoreSamples: self.stores.score_samples,
            Backtests: self._backtests,
            ListBacktests: self._list_backtests,
            CodeCheck: CodeCheck(second_factor, sign_in_limits),
            Invitations: Invitations(messenger, urls),
            Keyring: self.keyring,
            Limiter: limiter,
            LinkUrls: urls,
            Messenger: messenger,
            Outbound: self._outbound,
            Push: self._push,
            Sealer: self.sealer,
            Operators: Operators(
                admin_key(self.settings), store=self.stores.store, keyring=self.keyring, limiter=limiter
            ),
            PasswordCheck: PasswordCheck(self._passwords, sign_in_limits),
            PasswordReset: PasswordReset(
                self.stores.store,
                limiter=limiter,
                sign_in_limits=sign_in_limits,
                background=self.background,
                messenger=messenger,
                urls=urls,
            ),
            SecondFactor: second_factor,
            Readiness: self.readiness,
            Metrics: self.metrics,
            Documents: Documents(surfaces),
            Documentation: Documentation(feedback=surfaces is PUBLIC_LISTENER),
            StaticFiles: StaticFiles(),
            InstallationReader: self._installation,
            UserSessions: UserSessions(self.keyring, devices),
            **protecting,
            **self._traffic_dependencies(),
        }

    def _traffic_dependencies(self) -> dict[Any, Any]:
        settings = self.settings
        return {
            AdapterWriter: AdapterTexts(settings),
            AgentPrompt: AgentPrompt(settings.public_base_url, token_seconds=settings.token_seconds),
            HealthReader: self.health,
            SiteHealthStore: self.stores.site_health,
            TrafficStore: self.stores.traffic,
            TrafficTerms: TrafficTerms(
                event_days=settings.event_days,
                metric_days=settings.metric_days,
                trace_url_template=settings.trace_url_template,
                count_write_failures=lambda: self.recorder.failed,
            ),
        }

    def _event_jobs(self) -> tuple[Job, ...]:
        settings = self.settings
        return (
            *event_jobs(
                self.stores.events, clock=self.clock, event_days=settings.event_days, metric_days=settings.metric_days
            ),
            *scoring_jobs(self.stores.store, self.stores.events, clock=self.clock),
        )

    def _delivery(self) -> Delivery | None:
        if not self.settings.smtp_url:
            return None
        return Delivery(
            read_mail_url(self.settings.smtp_url),
            mail_from=self.settings.mail_sender,
            store=self.stores.store,
            messenger=self._messenger,
            clock=self.clock,
        )

    async def _refresh_keys(self) -> None:
        """Take over keys that were rotated elsewhere, well before they are first used."""
        now_ms = self.clock.now_ms()
        self.keyring.replace(await load_keys(self.stores.store, self.sealer, now_ms), now_ms)

    def _clock_check(self) -> Check:
        async def probe() -> str:
            return self._clock_mark.check(self.clock)

        return Check("clock", required=False, probe=probe)

    async def _keep_marks(self) -> None:
        """Note the highest time seen, and hear of spends that somebody else has found to be lost."""
        self._clock_mark.note_ahead(self.clock)
        await self.stores.redemptions.read_floor()


def _checks(stores: Stores, metrics: Metrics, deciding: Deciding, recorder: Recorder) -> tuple[Check, ...]:
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
        if not await stores.fast.ping():
            raise StoreUnavailable("the fast store is away; limits are counted per worker")
        return stores.fast.kind

    async def probe_events() -> str:
        if not recorder.is_well:
            raise StoreUnavailable("events wait, or there are more than can wait")
        return "recorded"

    async def probe_intel() -> str:
        is_well, line = deciding.intel.status()
        if not is_well:
            raise IntelRefused(line)
        return line

    # Without the configuration nothing can be decided, and without what happens once no token can be given or taken.
    # Counters and rate windows can be done without for a while.
    return (
        Check("config", required=True, probe=lambda: probe("config")),
        Check("hot", required=True, probe=lambda: probe("hot")),
        Check("stats", required=False, probe=lambda: probe("stats")),
        Check("events", required=False, probe=probe_events),
        Check("fast", required=False, probe=probe_fast),
        Check("intel", required=False, probe=probe_intel),
    )
