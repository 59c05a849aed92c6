"""Wires the concepts of protection: sites, browser check, tokens, agents, gateway. `server/application.py` calls it."""

from functools import partial
from typing import Any, Protocol

from agentgate.agents.admission import Admission, OwnAddress
from agentgate.agents.handoff.approval import Approvals
from agentgate.agents.handoff.handoffs import Handoffs
from agentgate.agents.handoff.repository import GrantStore, HandoffStore
from agentgate.agents.jobs import handoff_jobs, replay_jobs, submission_jobs
from agentgate.agents.policy_checker import AgentPolicyChecker
from agentgate.agents.policy_decision import Quotas
from agentgate.agents.signing.directories import open_directories
from agentgate.agents.signing.repository import Replays, ReplayStore
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.agents.submission_repository import SubmissionStore
from agentgate.agents.submit.submissions import SubmissionJudge, Submissions
from agentgate.agents.tools import ToolsManifests
from agentgate.browser_check.admission import CheckAdmission
from agentgate.browser_check.issue import ChallengeIssuer
from agentgate.browser_check.jobs import challenge_jobs
from agentgate.browser_check.probes.checker import ProbeChecker
from agentgate.browser_check.probes.pool import FOLDER, Pools
from agentgate.browser_check.repository import ChallengeStore
from agentgate.browser_check.scrutiny import Scrutiny
from agentgate.browser_check.tokens.binding import Bindings
from agentgate.browser_check.tokens.clearance import Clearances
from agentgate.browser_check.tokens.fast_siteverify import FastSiteverify
from agentgate.browser_check.tokens.jobs import token_jobs
from agentgate.browser_check.tokens.receipts import ReceiptIssuer, SigningKeys
from agentgate.browser_check.tokens.redeem import Redeemer
from agentgate.browser_check.tokens.repository import RedemptionStore
from agentgate.browser_check.tokens.siteverify import OwnForm
from agentgate.browser_check.trial import BrowserCheckEventLog, CheckTokens
from agentgate.browser_check.verify import ChallengeVerifier
from agentgate.decision.scoring.endpoints import scoring_jobs
from agentgate.decision.scoring.repository import KeptEvents, ScoreSamples
from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.events.ports import EventStore
from agentgate.events.recorder import Recorder
from agentgate.gateway.appeals.filing import AppealFiling, appeal_jobs
from agentgate.gateway.appeals.repository import AppealStores
from agentgate.gateway.challenge_page.challenge import ChallengePages
from agentgate.gateway.challenge_page.challenge_pass import AppealTickets, Passes
from agentgate.gateway.challenge_page.final_response import DeniedResponses, SecondStep
from agentgate.gateway.challenge_page.proxied_call import ProxiedCallReader
from agentgate.gateway.challenge_page.sealed_token import SealedTokens
from agentgate.gateway.check import GatewayCheck
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.receipts import Receipts
from agentgate.gateway.suggestions.collector import SuggestionCollector
from agentgate.gateway.suggestions.endpoints import save_seen, suggestion_jobs
from agentgate.gateway.suggestions.repository import SuggestionStores
from agentgate.gateway.traced_check import TracedCheck
from agentgate.http.connection.asgi_function import Direct
from agentgate.http.connection.fast_functions import HotFunction
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.database import Store
from agentgate.lib.foundation import Foundation
from agentgate.lib.shared_cache import SharedCache
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry import series
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.lib.telemetry.requests import RequestObserver
from agentgate.lib.telemetry.tracing import Tracer
from agentgate.people.identity.browser_check import BrowserCheck, NoBrowserCheck
from agentgate.sites.credentials.uses import CredentialUses
from agentgate.sites.customers.jobs import customer_jobs
from agentgate.sites.detail import AgentPrompt
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.health import HealthReader
from agentgate.sites.jobs import site_jobs
from agentgate.sites.lists.backtest import ListBacktests
from agentgate.sites.lists.repository import ClientReplay
from agentgate.sites.repository import ActivityStore, SiteHealthStore
from agentgate.sites.rules.backtest import Backtests
from agentgate.sites.rules.endpoints import Explainer
from agentgate.sites.rules.repositories.replay import SqlReplay


class WiredStores(SuggestionStores, AppealStores, Protocol):
    """The repositories that protection uses."""


class DataPlaneStores(Protocol):
    """The opened stores that protection uses."""

    @property
    def store(self) -> Store[WiredStores]: ...
    @property
    def evidence(self) -> KeptEvents: ...
    @property
    def agent_grants(self) -> GrantStore: ...
    @property
    def agent_replays(self) -> ReplayStore: ...
    @property
    def challenges(self) -> ChallengeStore: ...
    @property
    def handoffs(self) -> HandoffStore: ...
    @property
    def redemptions(self) -> RedemptionStore: ...
    @property
    def submissions(self) -> SubmissionStore: ...
    @property
    def shared_cache(self) -> SharedCache: ...
    @property
    def activity(self) -> ActivityStore: ...
    @property
    def events(self) -> EventStore: ...
    @property
    def site_health(self) -> SiteHealthStore: ...
    @property
    def replay(self) -> SqlReplay: ...
    @property
    def client_replay(self) -> ClientReplay: ...
    @property
    def score_samples(self) -> ScoreSamples: ...


class DataPlane:
    """Gateway, siteverify, browser check, hosted page and agents, over one set of keys and one decider."""

    def __init__(
        self, foundation: Foundation, stores: DataPlaneStores, refresher: SnapshotRefresher, recorder: Recorder
    ) -> None:
        settings, clock, keyring = foundation.settings, foundation.clock, foundation.keyring
        self._limiter = limiter = foundation.limiter
        self._stores = stores
        self._refresher = refresher
        self._recorder = recorder
        self._settings = settings
        self._clock = clock
        self.health = HealthReader(stores.store, stores.site_health, token_ms=settings.token_seconds * SECOND_MS)
        self.signing_keys = SigningKeys(keyring)
        issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
        self._clearances = Clearances(keyring, settings.clearance_seconds, issuer=issuer)
        self._bindings = Bindings(keyring)
        self._receipts = ReceiptIssuer(self.signing_keys, issuer=issuer, lifetime_s=settings.token_seconds)
        pools = Pools(settings.probes_dir or settings.data_dir / FOLDER)
        self.probes = ProbeChecker(pools, shared_cache=stores.shared_cache, limiter=limiter)
        # Agents: who they are, and the people that they ask.
        self.key_directories = open_directories(settings.agent_directories, refresher.intel.agent_hosts)
        self.agent_verifier = AgentVerifier(self.key_directories)
        self.agent_replays = Replays(stores.agent_replays)
        self.handoffs = Handoffs(
            stores.handoffs,
            stores.agent_grants,
            redemptions=stores.redemptions,
            receipts=self._receipts,
            base_url=issuer,
        )
        self._admission = Admission(self.agent_verifier, self.agent_replays, OwnAddress(settings.public_base_url))
        self.agent_quotas = Quotas(limiter)
        self.agent_policy_checker = AgentPolicyChecker(
            self.agent_verifier, replays=self.agent_replays, quotas=self.agent_quotas, charges=stores.submissions
        )
        # The gateway, siteverify and the hosted page.
        uses = CredentialUses(stores.store, foundation.background)
        self.redeemer = Redeemer(
            self.signing_keys,
            stores.redemptions,
            sites=refresher.sites,
            recorder=recorder,
            uses=uses,
            bindings=self._bindings,
        )
        receipts = Receipts(self.signing_keys, self._clearances, stores.redemptions, keyring=keyring)
        save = partial(save_seen, stores.store)
        self.suggestions = SuggestionCollector(save, refresher.decider.visitors, foundation.background)
        event_log = GatewayEventLog(recorder, refresher.ids, uses, self.suggestions)
        self._proxied_calls = ProxiedCallReader(refresher.sites, refresher.decider.visitors, uses)
        sealed_tokens = SealedTokens(keyring, stores.redemptions)
        self._passes = Passes(
            self.signing_keys,
            self._clearances,
            receipts,
            sealed_tokens=sealed_tokens,
            event_log=event_log,
            shared_cache=stores.shared_cache,
        )
        self._pages = ChallengePages(receipts, self._passes, AppealTickets(sealed_tokens))
        self.gate = GatewayCheck(
            refresher.sites,
            decider=refresher.decider,
            receipts=receipts,
            event_log=event_log,
            clock=clock,
            policy_checker=self.agent_policy_checker,
        )
        self._denied = self.gate.denials.responses = DeniedResponses(self._pages, self.gate.denials.sealed)
        self._watch(foundation.metrics)

    def _watch(self, metrics: MetricRegistry) -> None:
        probes, gate = self.probes, self.gate
        metrics.watch(series.PROBES, lambda: {(state,): count for state, count in probes.judged.items()})
        metrics.watch(series.PROBES_LEFT_OUT, lambda: {(): len(probes.guard.all_left_out())})
        metrics.watch(series.CACHE_MISSES, lambda: {(cache,): count for cache, count in gate.misses.items()})

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The timed jobs of every concept here."""
        stores, clock = self._stores, self._clock
        return (
            *site_jobs(stores.store),
            *customer_jobs(stores.store, stores.activity, clock),
            *appeal_jobs(stores.store, clock),
            *suggestion_jobs(stores.store, clock),
            *scoring_jobs(stores.store, stores.events, clock),
            *challenge_jobs(stores.challenges, clock),
            *token_jobs(stores.redemptions, clock),
            *replay_jobs(stores.agent_replays, clock),
            *handoff_jobs(stores.handoffs, stores.agent_grants, clock),
            *submission_jobs(stores.submissions, clock),
        )

    def count_shed(self) -> int:
        """Return how many gateway checks were shed under overload."""
        return self.gate.shed

    def dependencies(self) -> dict[Any, Any]:
        """Return the dependencies of the handlers, by type."""
        approvals = Approvals(
            self.handoffs,
            self._refresher.sites,
            admission=self._admission,
            redeemer=self.redeemer,
            store=self._stores.store,
            limiter=self._limiter,
        )
        return {
            **self._site_dependencies(),
            **self._visitor_dependencies(approvals),
            **self._handoff_dependencies(approvals),
        }

    def _site_dependencies(self) -> dict[Any, Any]:
        stores, refresher, settings = self._stores, self._refresher, self._settings
        return {
            ActivityStore: stores.activity,
            AgentPrompt: AgentPrompt(settings.public_base_url, token_seconds=settings.token_seconds),
            Backtests: Backtests(stores.replay),
            KeptEvents: stores.evidence,
            Explainer: refresher,
            HealthReader: self.health,
            ListBacktests: ListBacktests(stores.client_replay, refresher.decider.visitors),
            SiteDirectory: refresher.sites,
            ScoreSamples: stores.score_samples,
            SiteHealthStore: stores.site_health,
        }

    def _visitor_dependencies(self, approvals: Approvals) -> dict[Any, Any]:
        refresher, challenges, limiter = self._refresher, self._stores.challenges, self._limiter
        grants = CheckTokens(self._receipts, self._clearances, self._bindings)
        admission = CheckAdmission(
            refresher.sites,
            visitors=refresher.decider.visitors,
            limiter=limiter,
            recorder=self._recorder,
            own_pages=approvals,
        )
        event_log = BrowserCheckEventLog(self._recorder, refresher.ids)
        scrutiny = Scrutiny(
            self.probes,
            limiter=limiter,
            shared_cache=self._stores.shared_cache,
            redemptions=self._stores.redemptions,
        )
        return {
            AppealFiling: AppealFiling(self._stores.store, self._stores.evidence, limiter),
            ProxiedCallReader: self._proxied_calls,
            Passes: self._passes,
            ChallengePages: self._pages,
            DeniedResponses: self._denied,
            ChallengeIssuer: ChallengeIssuer(
                challenges, admission=admission, decider=refresher.decider, event_log=event_log, scrutiny=scrutiny
            ),
            ChallengeVerifier: ChallengeVerifier(
                challenges,
                admission=admission,
                decider=refresher.decider,
                event_log=event_log,
                grants=grants,
                scrutiny=scrutiny,
            ),
            GatewayCheck: self.gate,
            ProbeChecker: self.probes,
            Redeemer: self.redeemer,
            SigningKeys: self.signing_keys,
            SubmissionStore: self._stores.submissions,
            Submissions: self._submissions(),
        }

    def _submissions(self) -> Submissions:
        refresher = self._refresher
        return Submissions(
            refresher.sites,
            self._stores.submissions,
            admission=self._admission,
            judge=SubmissionJudge(refresher.decider, self.agent_quotas, recorder=self._recorder, ids=refresher.ids),
            handoffs=self.handoffs,
            receipts=self._receipts,
        )

    def _handoff_dependencies(self, approvals: Approvals) -> dict[Any, Any]:
        sites, store = self._refresher.sites, self._stores.store
        return {
            GrantStore: self._stores.agent_grants,
            Approvals: approvals,
            ToolsManifests: ToolsManifests(
                sites, store, issuer=self._receipts.issuer, own_site_key=self._settings.access_site_key or None
            ),
        }

    def hot_paths(
        self, app: Any, *, metrics: MetricRegistry, observer: RequestObserver, tracer: Tracer
    ) -> dict[bytes, HotFunction]:
        """Return the hot paths, which are answered without ASGI. With a collector, siteverify is not one of them."""
        denied = SecondStep(self._proxied_calls, self._denied, self._clock)
        paths: dict[bytes, HotFunction] = {
            b"/v1/gateway/check": TracedCheck(self.gate, tracer) if tracer.is_tracing else self.gate,
            b"/v1/gateway/denied": denied,
            b"POST /v1/gateway/denied": denied,
        }
        if not tracer.is_tracing:
            paths[b"POST /v1/siteverify"] = FastSiteverify(
                self.redeemer, asgi_path=Direct(app), clock=self._clock, metrics=metrics, observer=observer
            )
        return paths

    def own_form(self) -> BrowserCheck:
        """Return the browser check of the service's own forms."""
        site_key = self._settings.access_site_key
        if not site_key:
            return NoBrowserCheck()
        return OwnForm(self.redeemer, self._refresher.sites, site_key=site_key)
