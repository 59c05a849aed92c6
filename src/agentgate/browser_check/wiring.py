"""Wires challenges, probes, tokens and siteverify. `server/application.py` calls it."""

from dataclasses import dataclass
from typing import Any, Protocol

from agentgate.browser_check.admission import CheckAdmission
from agentgate.browser_check.issue import ChallengeIssuer
from agentgate.browser_check.jobs import challenge_jobs, token_jobs
from agentgate.browser_check.private_tokens import PrivateTokens
from agentgate.browser_check.probes.checker import ProbeChecker
from agentgate.browser_check.probes.pool import FOLDER, Pools
from agentgate.browser_check.repository import ChallengeStore
from agentgate.browser_check.scrutiny import Scrutiny
from agentgate.browser_check.tokens.binding import Bindings
from agentgate.browser_check.tokens.clearance import Clearances
from agentgate.browser_check.tokens.receipts import ReceiptIssuer, SigningKeys
from agentgate.browser_check.tokens.redeem import Redeemer
from agentgate.browser_check.tokens.repository import RedemptionStore
from agentgate.browser_check.tokens.siteverify import OwnForm
from agentgate.browser_check.trial import BrowserCheckEventLog, CheckTokens
from agentgate.browser_check.verify import ChallengeVerifier
from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.events.recorder import Recorder
from agentgate.lib.foundation import Foundation
from agentgate.lib.shared_cache import SharedCache
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry import series
from agentgate.people.identity.browser_check import BrowserCheck, NoBrowserCheck
from agentgate.sites.credentials.uses import CredentialUses


class CheckSources(Protocol):
    """The opened stores that challenges and tokens use."""

    @property
    def challenges(self) -> ChallengeStore: ...
    @property
    def redemptions(self) -> RedemptionStore: ...
    @property
    def shared_cache(self) -> SharedCache: ...


@dataclass(frozen=True, kw_only=True)
class BrowserChecks:
    """What other rooms use, what handlers ask for, and the jobs."""

    uses: CredentialUses
    signing_keys: SigningKeys
    clearances: Clearances
    receipts: ReceiptIssuer
    redeemer: Redeemer
    admission: CheckAdmission
    # The browser check of the service's own forms.
    own_form: BrowserCheck
    dependencies: dict[Any, Any]
    jobs: tuple[Job, ...]


def wire(
    foundation: Foundation,
    stores: CheckSources,
    refresher: SnapshotRefresher,
    recorder: Recorder,
    uses: CredentialUses,
) -> BrowserChecks:
    """Put together what issues, verifies and redeems."""
    settings, keyring, limiter, clock = foundation.settings, foundation.keyring, foundation.limiter, foundation.clock
    issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
    signing_keys, bindings = SigningKeys(keyring), Bindings(keyring)
    clearances = Clearances(keyring, settings.clearance_seconds, issuer=issuer)
    receipts = ReceiptIssuer(signing_keys, issuer=issuer, lifetime_s=settings.token_seconds)
    probes = ProbeChecker(
        Pools(settings.probes_dir or settings.data_dir / FOLDER), shared_cache=stores.shared_cache, limiter=limiter
    )
    metrics = foundation.metrics
    metrics.watch(series.PROBES, lambda: {(state,): count for state, count in probes.judged.items()})
    metrics.watch(series.PROBES_LEFT_OUT, lambda: {(): len(probes.guard.all_left_out())})
    redeemer = Redeemer(
        signing_keys, stores.redemptions, sites=refresher.sites, recorder=recorder, uses=uses, bindings=bindings
    )
    admission = CheckAdmission(refresher.sites, visitors=refresher.decider.visitors, limiter=limiter, recorder=recorder)
    event_log = BrowserCheckEventLog(recorder, refresher.ids)
    private_tokens = PrivateTokens(stores.redemptions, stores.shared_cache, refresher.token_issuers)
    scrutiny = Scrutiny(probes, private_tokens, limiter=limiter, shared_cache=stores.shared_cache)
    site_key = settings.access_site_key
    return BrowserChecks(
        uses=uses,
        signing_keys=signing_keys,
        clearances=clearances,
        receipts=receipts,
        redeemer=redeemer,
        admission=admission,
        own_form=OwnForm(redeemer, refresher.sites, site_key=site_key) if site_key else NoBrowserCheck(),
        dependencies={
            ChallengeIssuer: ChallengeIssuer(
                stores.challenges,
                admission=admission,
                decider=refresher.decider,
                event_log=event_log,
                scrutiny=scrutiny,
            ),
            ChallengeVerifier: ChallengeVerifier(
                stores.challenges,
                admission=admission,
                decider=refresher.decider,
                event_log=event_log,
                grants=CheckTokens(receipts, clearances, bindings),
                scrutiny=scrutiny,
            ),
            ProbeChecker: probes,
            Redeemer: redeemer,
            SigningKeys: signing_keys,
        },
        jobs=(*challenge_jobs(stores.challenges, clock), *token_jobs(stores.redemptions, clock)),
    )
