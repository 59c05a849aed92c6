"""Wires the gateway check, the hosted challenge page, appeals and suggestions. `server/application.py` calls it."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from agentgate.agents.wiring import Agents
from agentgate.browser_check.tokens.repository import RedemptionStore
from agentgate.browser_check.wiring import BrowserChecks
from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.events.labels.repository import KeptEvents
from agentgate.events.recorder import Recorder
from agentgate.gateway.appeals.filing import AppealFiling, appeal_jobs
from agentgate.gateway.block_feed.feed import SYNC_S, BlockFeed
from agentgate.gateway.challenge_page.challenge import ChallengePages
from agentgate.gateway.challenge_page.challenge_pass import AppealTickets, Passes
from agentgate.gateway.challenge_page.final_response import DeniedResponses, SecondStep
from agentgate.gateway.challenge_page.proxied_call import ProxiedCallReader
from agentgate.gateway.challenge_page.sealed_token import SealedTokens
from agentgate.gateway.check import GatewayCheck
from agentgate.gateway.decoys.touched import SYNC_S as SYNC_DECOYS_S
from agentgate.gateway.decoys.touched import Decoys
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.notices.endpoints import MailSetup
from agentgate.gateway.notices.repository import NoticeStores
from agentgate.gateway.receipts import Receipts
from agentgate.gateway.site_load import SiteLoads, load_jobs
from agentgate.gateway.suggestions.collector import SuggestionCollector
from agentgate.gateway.suggestions.endpoints import save_seen, suggestion_jobs
from agentgate.gateway.suggestions.repository import SuggestionStores
from agentgate.gateway.traced_check import TracedCheck
from agentgate.http.connection.fast_functions import HotFunction
from agentgate.lib.database import Store
from agentgate.lib.foundation import Foundation
from agentgate.lib.shared_cache import SharedCache
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry import series
from agentgate.lib.telemetry.tracing import Tracer
from agentgate.sites.repository import SiteHealthStore


class GatewayStores(SuggestionStores, NoticeStores, Protocol):
    """The repositories of appeals, suggestions and notices."""


class GatewaySources(Protocol):
    """The opened stores that the gateway uses."""

    @property
    def store(self) -> Store[GatewayStores]: ...
    @property
    def site_health(self) -> SiteHealthStore: ...
    @property
    def redemptions(self) -> RedemptionStore: ...
    @property
    def evidence(self) -> KeptEvents: ...
    @property
    def shared_cache(self) -> SharedCache: ...


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """The check and the second step, what handlers ask for, and the jobs."""

    check: GatewayCheck
    second_step: SecondStep
    suggestions: SuggestionCollector
    dependencies: dict[Any, Any]
    jobs: tuple[Job, ...]

    def hot_paths(self, tracer: Tracer) -> dict[bytes, HotFunction]:
        """Return the endpoints for proxies, which are handled without ASGI."""
        return {
            b"/v1/gateway/check": TracedCheck(self.check, tracer) if tracer.is_tracing else self.check,
            b"/v1/gateway/denied": self.second_step,
            b"POST /v1/gateway/denied": self.second_step,
        }


def wire(
    foundation: Foundation,
    stores: GatewaySources,
    refresher: SnapshotRefresher,
    recorder: Recorder,
    *,
    checks: BrowserChecks,
    agents: Agents,
) -> Gateway:
    """Assemble the services that decide about requests of sites, and the pages that denied visitors see."""
    clock, keyring, visitors = foundation.clock, foundation.keyring, refresher.decider.visitors
    receipts = Receipts(checks.signing_keys, checks.clearances, stores.redemptions, keyring=keyring)
    suggestions = SuggestionCollector(partial(save_seen, stores.store), visitors, foundation.background)
    block_feed = open_feed(foundation, stores.shared_cache, refresher)
    event_log = GatewayEventLog(
        recorder,
        refresher.ids,
        checks.uses,
        suggestions=suggestions,
        block_feed=block_feed,
        decoys=open_decoys(foundation, stores.shared_cache, refresher),
    )
    proxied_calls = ProxiedCallReader(refresher.sites, visitors, checks.uses)
    sealed_tokens = SealedTokens(keyring, stores.redemptions)
    passes = Passes(
        checks.signing_keys,
        checks.clearances,
        receipts,
        sealed_tokens=sealed_tokens,
        event_log=event_log,
        shared_cache=stores.shared_cache,
    )
    pages = ChallengePages(receipts, passes, AppealTickets(keyring))
    check = GatewayCheck(
        refresher.sites,
        decider=refresher.decider,
        receipts=receipts,
        event_log=event_log,
        clock=clock,
        policy_checker=agents.policy_checker,
    )
    denied = check.denials.responses = DeniedResponses(pages, check.denials.sealed)
    foundation.metrics.watch(series.CACHE_MISSES, lambda: {(cache,): count for cache, count in check.misses.items()})
    return Gateway(
        check=check,
        second_step=SecondStep(proxied_calls, denied, clock),
        suggestions=suggestions,
        dependencies={
            BlockFeed: block_feed,
            AppealFiling: AppealFiling(stores.store, stores.evidence, foundation.limiter),
            ChallengePages: pages,
            DeniedResponses: denied,
            GatewayCheck: check,
            MailSetup: MailSetup(bool(foundation.settings.smtp_url)),
            Passes: passes,
            ProxiedCallReader: proxied_calls,
        },
        jobs=(
            *appeal_jobs(stores.store, clock),
            *suggestion_jobs(stores.store, clock),
            *load_jobs(SiteLoads(stores.store, stores.site_health, refresher.sites, clock)),
        ),
    )


def open_decoys(foundation: Foundation, shared_cache: SharedCache, refresher: SnapshotRefresher) -> Decoys:
    """Return the clients that open decoys, which the workers exchange from the start on."""
    decoys = Decoys(shared_cache, foundation.clock)
    refresher.repeat("decoys", decoys.sync, interval_s=SYNC_DECOYS_S)
    foundation.metrics.watch(series.DECOYS, lambda: decoys.results)
    return decoys


def open_feed(foundation: Foundation, shared_cache: SharedCache, refresher: SnapshotRefresher) -> BlockFeed:
    """Return the feeds for firewalls, which the workers exchange from the start on."""
    proxies = map(str, foundation.settings.trusted_proxies)
    feed = BlockFeed(shared_cache, foundation.clock, refresher.intel, trusted_proxies=proxies)
    refresher.repeat("block-feed", feed.sync, interval_s=SYNC_S)
    foundation.metrics.watch(series.BLOCK_FEED, lambda: feed.results)
    return feed
