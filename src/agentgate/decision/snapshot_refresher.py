"""SnapshotRefresher: builds the parts of the snapshot that a worker decides with, and keeps them fresh.

`server/application.py` starts and stops it.
"""

import asyncio
from functools import partial
from typing import Protocol

from agentgate.decision.decider import Decider
from agentgate.decision.explain import SampleObserver
from agentgate.decision.rates.board import SharedBoards
from agentgate.decision.rates.exchange import RateExchange
from agentgate.decision.rates.rule_limits import RuleLimits
from agentgate.decision.rates.windows import RateWindows
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.scoring.repository import ScoringStores
from agentgate.decision.threat_data.intel import IntelDirectory
from agentgate.decision.threat_data.search_verification import CrawlerStatuses, SearchConfirmer, SearchVerdicts
from agentgate.decision.visitor import Visitors
from agentgate.events.decision_ids import DecisionIds
from agentgate.events.worker_numbers import RENEW_MS, WorkerNumber, WorkerNumberStores
from agentgate.http.outbound.dns import NameLookup, system_servers
from agentgate.lib.clock import Clock
from agentgate.lib.database import Store
from agentgate.lib.keyring import Keyring
from agentgate.lib.settings.schema import Settings
from agentgate.lib.shared_cache import SharedCache
from agentgate.lib.tasks.background import PeriodicTask, Work
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.repository import SiteStores
from agentgate.sites.rules.replay_records import SampleFacts, SampleRequest
from agentgate.sites.token_issuers.directories import KnownIssuers

# Interval of polling the version: other workers' changes apply within this and the time of one read.
CONFIGURATION_S = 0.5
INTEL_S = 30.0
ISSUERS_S = 15.0
RATES_S = 0.5


class SnapshotStores(SiteStores, ScoringStores, WorkerNumberStores, Protocol):
    """The repositories that are read."""


class SnapshotRefresher:
    """Sites, models, threat data, rates, and the number under which this worker makes IDs."""

    def __init__(
        self,
        store: Store[SnapshotStores],
        shared_cache: SharedCache,
        *,
        settings: Settings,
        clock: Clock,
        keyring: Keyring,
        boards: SharedBoards | None = None,
    ) -> None:
        self._store = store
        self._shared_cache = shared_cache
        self._clock = clock
        self._worker = WorkerNumber(store, clock)
        self.sites = SiteDirectory()
        self.models = ModelDirectory()
        self.token_issuers = KnownIssuers()
        folder = settings.intel_dir or settings.data_dir / "intel"
        crawler_statuses = CrawlerStatuses()
        servers = tuple((server.host, server.port) for server in settings.dns_servers) or system_servers()
        asks_dns = settings.confirm_crawlers == "on" and bool(servers)
        self._crawlers = SearchConfirmer(crawler_statuses, NameLookup(servers), clock) if asks_dns else None
        self._verdicts = SearchVerdicts(settings.data_dir, crawler_statuses) if asks_dns else None
        self.intel = IntelDirectory(
            folder, expected=settings.intel_dir is not None, crawler_statuses=crawler_statuses if asks_dns else None
        )
        self._refreshing = asyncio.Lock()
        # Alone, or as one of several workers: of this machine, or of those with the same Redis.
        exchange: RateExchange | None = None
        clearance_s = settings.clearance_seconds
        if boards is not None:
            self._rates = RateWindows(sharing=boards.rates, pages=boards.pages, clearance_s=clearance_s)
        else:
            exchange = None if shared_cache.is_alone else RateExchange(shared_cache, workers=settings.workers)
            self._rates = RateWindows(sharing=exchange, clearance_s=clearance_s)
        self.ids = DecisionIds(clock)
        rule_limits = RuleLimits(None if shared_cache.is_alone else shared_cache)
        self.decider = Decider(
            models=self.models,
            intel=self.intel,
            rates=self._rates,
            visitors=Visitors(keyring),
            rule_limits=rule_limits,
        )
        self._samples = SampleObserver(self.sites, self.models, self.intel, self.decider.visitors)
        self._configuration = PeriodicTask("configuration", self.refresh, interval_s=CONFIGURATION_S)
        self._periodic = [
            self._configuration,
            PeriodicTask("intel", self._refresh_intel, interval_s=INTEL_S),
            PeriodicTask("token-issuers", self.refresh_issuers, interval_s=ISSUERS_S),
            PeriodicTask("worker-number", self._renew, interval_s=RENEW_MS / 1000),
        ]
        if exchange is not None:
            self._periodic.append(PeriodicTask("rates", partial(self._rates.sync, exchange), interval_s=RATES_S))
        if not shared_cache.is_alone:
            self._periodic.append(PeriodicTask("rule-limits", rule_limits.sync, interval_s=RATES_S))
            # A restarted shared cache gets this worker's counts again, even without traffic here.
            self._periodic.append(PeriodicTask("shared-store", shared_cache.ping, interval_s=RATES_S))

    def repeat(self, name: str, work: Work, *, interval_s: float) -> None:
        """Repeat other work of this worker too, from the start on."""
        self._periodic.append(PeriodicTask(name, work, interval_s=interval_s))

    async def prepare(self) -> None:
        """Take a worker number and load everything once."""
        if self.ids.worker is None:
            self.ids.worker = await self._worker.claim()
        await self.refresh()
        await self.refresh_issuers()

    async def start(self) -> None:
        """Prepare, and keep everything fresh from now on."""
        await self.prepare()
        for each in self._periodic:
            each.start()
        if self._crawlers is not None and self._verdicts is not None:
            await asyncio.to_thread(self._verdicts.load)
            self._crawlers.start()

    async def close(self) -> None:
        """Stop refreshing, and free the number."""
        for each in self._periodic:
            await each.stop()
        if self._crawlers is not None:
            await self._crawlers.close()
        await self._save_verdicts()
        await self._worker.release()

    def wake(self) -> None:
        """Reload the configuration at once: this worker has just changed it."""
        self.sites.expect_change()
        self._configuration.wake()

    def poll(self) -> None:
        """Poll the configuration's version at once: another worker announced a change."""
        self._configuration.wake()

    async def observe(self, site_id: str, request: SampleRequest) -> SampleFacts:
        """Implement the rules' Explainer. Reloads first, so that a new list entry can be tried out at once."""
        await self.sites.await_refresh_if_possible()
        return self._samples.observe(site_id, request)

    async def refresh(self) -> None:
        """Load changes. A call during a refresh waits for it, and refreshes once more."""
        async with self._refreshing:
            await self.sites.refresh(self._store, self._clock.now_ms(), partial(self.models.refresh, self._store))

    async def refresh_issuers(self) -> None:
        """Read the keys of private token issuers again."""
        await self.token_issuers.refresh(self._store)

    async def _refresh_intel(self) -> None:
        await asyncio.to_thread(self.intel.refresh)
        await self._save_verdicts()

    async def _save_verdicts(self) -> None:
        if self._verdicts is not None:
            await asyncio.to_thread(self._verdicts.save)

    async def _renew(self) -> None:
        self.ids.worker = await self._worker.renew()
