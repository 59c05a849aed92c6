"""Wires sites, credentials, rules, lists and customers. `server/application.py` calls it."""

from dataclasses import dataclass
from typing import Any, Protocol

from agentgate.events.queries.replays import ClientReplay, DecisionReplay
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.database import Store
from agentgate.lib.foundation import Foundation
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry import series
from agentgate.sites.credentials.uses import CredentialUses
from agentgate.sites.customers.repository import CustomerStores
from agentgate.sites.detail import AgentPrompt
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.health import HealthReader
from agentgate.sites.jobs import customer_jobs, issuer_job, site_jobs
from agentgate.sites.lists.backtest import ListBacktests, VisitorNames
from agentgate.sites.lists.network_refresh import NetworkListRefresh, open_outbound, refresh_jobs
from agentgate.sites.repository import ActivityStore, SiteHealthStore
from agentgate.sites.rules.backtest import Backtests
from agentgate.sites.token_issuers.directories import open_issuer_directories


class SiteSources(Protocol):
    """The opened stores that sites use."""

    @property
    def store(self) -> Store[CustomerStores]: ...
    @property
    def activity(self) -> ActivityStore: ...
    @property
    def site_health(self) -> SiteHealthStore: ...
    @property
    def replay(self) -> DecisionReplay: ...
    @property
    def client_replay(self) -> ClientReplay: ...


@dataclass(frozen=True, kw_only=True)
class Sites:
    """What other rooms use, what handlers ask for, and the jobs."""

    uses: CredentialUses
    health: HealthReader
    dependencies: dict[Any, Any]
    jobs: tuple[Job, ...]


def wire(foundation: Foundation, stores: SiteSources, directory: SiteDirectory, visitors: VisitorNames) -> Sites:
    """Put together what edits, reports on and tries out the configuration of sites."""
    settings, store = foundation.settings, stores.store
    health = HealthReader(store, stores.site_health, token_ms=settings.token_seconds * SECOND_MS)
    refresh = NetworkListRefresh(
        store,
        open_outbound(settings.webhook_private_hosts),
        sealer=foundation.sealer,
        clock=foundation.clock,
        trusted_proxies=map(str, settings.trusted_proxies),
    )
    foundation.metrics.watch(series.NETWORK_LISTS, lambda: refresh.results)
    return Sites(
        uses=CredentialUses(store, foundation.background),
        health=health,
        dependencies={
            ActivityStore: stores.activity,
            AgentPrompt: AgentPrompt(settings.public_base_url, token_seconds=settings.token_seconds),
            Backtests: Backtests(stores.replay),
            HealthReader: health,
            ListBacktests: ListBacktests(stores.client_replay, visitors),
            SiteDirectory: directory,
            SiteHealthStore: stores.site_health,
        },
        jobs=(
            *site_jobs(store, settings, foundation.clock),
            *refresh_jobs(refresh),
            *customer_jobs(store, stores.activity, foundation.clock),
            issuer_job(open_issuer_directories(store, foundation.clock)),
        ),
    )
