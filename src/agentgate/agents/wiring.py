"""Wires signatures, policy, submissions and human approval of agents. `server/application.py` calls it."""

from dataclasses import dataclass
from typing import Any, Protocol

from agentgate.agents.admission import Admission, OwnAddress
from agentgate.agents.handoff.approval import Approvals
from agentgate.agents.handoff.handoffs import Handoffs
from agentgate.agents.handoff.repository import GrantStore, HandoffStore
from agentgate.agents.jobs import handoff_jobs, replay_jobs, submission_jobs
from agentgate.agents.policy_checker import AgentPolicyChecker
from agentgate.agents.policy_decision import Quotas
from agentgate.agents.signature_check import SignatureExplainer
from agentgate.agents.signing.directories import KeyDirectories, open_directories
from agentgate.agents.signing.nonce_board import FOLDER, open_board
from agentgate.agents.signing.repository import Replays, ReplayStore
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.agents.submission_repository import SubmissionStore
from agentgate.agents.submit.submissions import SubmissionJudge, Submissions
from agentgate.agents.tools import ToolsManifests
from agentgate.browser_check.tokens.repository import RedemptionStore
from agentgate.browser_check.wiring import BrowserChecks
from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.events.recorder import Recorder
from agentgate.lib.database import Store
from agentgate.lib.foundation import Foundation
from agentgate.lib.tasks.job import Job
from agentgate.sites.ai_terms_endpoints import AiTerms
from agentgate.sites.repository import SiteStores


class AgentSources(Protocol):
    """The opened stores that agents use."""

    @property
    def store(self) -> Store[SiteStores]: ...
    @property
    def agent_grants(self) -> GrantStore: ...
    @property
    def agent_replays(self) -> ReplayStore: ...
    @property
    def handoffs(self) -> HandoffStore: ...
    @property
    def redemptions(self) -> RedemptionStore: ...
    @property
    def submissions(self) -> SubmissionStore: ...


@dataclass(frozen=True, kw_only=True)
class Agents:
    """What other rooms use, what handlers ask for, and the jobs."""

    key_directories: KeyDirectories
    policy_checker: AgentPolicyChecker
    handoffs: Handoffs
    dependencies: dict[Any, Any]
    jobs: tuple[Job, ...]


def wire(
    foundation: Foundation,
    stores: AgentSources,
    refresher: SnapshotRefresher,
    recorder: Recorder,
    checks: BrowserChecks,
) -> Agents:
    """Put together who agents are and what they may do; the browser check admits the pages of human approval."""
    settings, clock, limiter = foundation.settings, foundation.clock, foundation.limiter
    directories = open_directories(settings.agent_directories, refresher.intel.agent_hosts)
    nonces = open_board(settings.data_dir / FOLDER, settings.workers)
    verifier, seen, quotas = AgentVerifier(directories), Replays(stores.agent_replays, nonces), Quotas(limiter)
    admission = Admission(verifier, seen, OwnAddress(settings.public_base_url))
    opened = Handoffs(
        stores.handoffs,
        stores.agent_grants,
        redemptions=stores.redemptions,
        receipts=checks.receipts,
        base_url=checks.receipts.issuer,
    )
    approvals = Approvals(
        opened, refresher.sites, admission=admission, redeemer=checks.redeemer, store=stores.store, limiter=limiter
    )
    checks.admission.own_pages = approvals
    return Agents(
        key_directories=directories,
        policy_checker=AgentPolicyChecker(
            verifier,
            replays=seen,
            quotas=quotas,
            charges=stores.submissions,
            purposes=refresher.intel.agent_purposes,
            on_several_machines=bool(settings.redis_url),
        ),
        handoffs=opened,
        dependencies={
            Approvals: approvals,
            SignatureExplainer: SignatureExplainer(
                verifier, directories, OwnAddress(settings.public_base_url), limiter
            ),
            AiTerms: AiTerms(refresher.sites, refresher.intel.named_crawlers, checks.receipts.issuer),
            GrantStore: stores.agent_grants,
            Submissions: Submissions(
                refresher.sites,
                stores.submissions,
                admission=admission,
                judge=SubmissionJudge(refresher.decider, quotas, recorder=recorder, ids=refresher.ids),
                handoffs=opened,
                receipts=checks.receipts,
            ),
            SubmissionStore: stores.submissions,
            ToolsManifests: ToolsManifests(
                refresher.sites,
                stores.store,
                issuer=checks.receipts.issuer,
                own_site_key=settings.access_site_key or None,
            ),
        },
        jobs=(
            *replay_jobs(stores.agent_replays, clock),
            *handoff_jobs(stores.handoffs, stores.agent_grants, clock),
            *submission_jobs(stores.submissions, clock),
        ),
    )
