"""Everything that visitors and sites' servers meet: browser check, tokens, gateway, put together. `app.py` holds it."""

from typing import Any, Protocol

from agentgate.accounts.browser_check import BrowserCheck, NoBrowserCheck
from agentgate.browser.door import Door
from agentgate.browser.grant import Grants
from agentgate.browser.issue import ChallengeIssuer
from agentgate.browser.journal import Journal
from agentgate.browser.ports import ChallengeStore
from agentgate.browser.verify import ChallengeVerifier
from agentgate.config import Settings
from agentgate.core.background import Background
from agentgate.core.clock import Clock
from agentgate.core.database import Store
from agentgate.core.keyring import Keyring
from agentgate.core.limiter import Limiter
from agentgate.credentials.ports import CredentialStores
from agentgate.deciding import Deciding
from agentgate.events.recorder import Recorder
from agentgate.gateway.check import GatewayCheck
from agentgate.gateway.journal import Journal as GatewayJournal
from agentgate.gateway.receipts import Receipts
from agentgate.telemetry.metrics import Metrics
from agentgate.telemetry.requests import RequestObserver
from agentgate.tokens.clearance import Clearances
from agentgate.tokens.hot_siteverify import HotSiteverify
from agentgate.tokens.issue import ReceiptIssuer
from agentgate.tokens.keys import SigningKeys
from agentgate.tokens.own_form import OwnForm
from agentgate.tokens.ports import RedemptionStore
from agentgate.tokens.redeem import Redeemer
from agentgate.tokens.uses import CredentialUses
from agentgate.web.direct import Direct
from agentgate.web.hot_path import HotFunction


class ProtectingStores(Protocol):
    """What of the opened stores is used here."""

    @property
    def store(self) -> Store[CredentialStores]: ...
    @property
    def challenges(self) -> ChallengeStore: ...
    @property
    def redemptions(self) -> RedemptionStore: ...


class Protecting:
    """The ways in, over one set of keys, one table of spent tokens and one decider."""

    def __init__(
        self, stores: ProtectingStores, deciding: Deciding, *, settings: Settings, clock: Clock, keyring: Keyring
    ) -> None:
        self._stores = stores
        self._deciding = deciding
        self._settings = settings
        self._clock = clock
        self._keyring = keyring
        self.signing_keys = SigningKeys(keyring)
        issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
        self._clearances = Clearances(keyring, settings.clearance_seconds, issuer=issuer)
        self._receipts = ReceiptIssuer(self.signing_keys, issuer=issuer, lifetime_s=settings.token_seconds)

    def connect(self, recorder: Recorder, background: Background) -> None:
        """Take what is made after the stores: where events go, and where small work goes that nobody waits for."""
        stores, deciding = self._stores, self._deciding
        self._recorder = recorder
        uses = CredentialUses(stores.store, background)
        self.redeemer = Redeemer(
            self.signing_keys, stores.redemptions, sites=deciding.sites, recorder=recorder, uses=uses
        )
        self.gate = GatewayCheck(
            deciding.sites,
            decider=deciding.decider,
            receipts=Receipts(self.signing_keys, self._clearances, stores.redemptions, keyring=self._keyring),
            journal=GatewayJournal(recorder, deciding.ids),
            uses=uses,
            clock=self._clock,
        )

    def dependencies(self, limiter: Limiter) -> dict[Any, Any]:
        """Return what the handlers of these routes ask for."""
        deciding, challenges = self._deciding, self._stores.challenges
        grants = Grants(self._receipts, self._clearances)
        door = Door(deciding.sites, visitors=deciding.decider.visitors, limiter=limiter, recorder=self._recorder)
        journal = Journal(self._recorder, deciding.ids)
        return {
            BrowserCheck: self._own_form(),
            ChallengeIssuer: ChallengeIssuer(challenges, door=door, decider=deciding.decider, journal=journal),
            ChallengeVerifier: ChallengeVerifier(
                challenges, door=door, decider=deciding.decider, journal=journal, grants=grants
            ),
            GatewayCheck: self.gate,
            Redeemer: self.redeemer,
            SigningKeys: self.signing_keys,
        }

    def hot_paths(self, app: Any, *, metrics: Metrics, observer: RequestObserver) -> dict[bytes, HotFunction]:
        """Return the frequent calls, which are answered without the general pipeline."""
        siteverify = HotSiteverify(
            self.redeemer, cold_way=Direct(app), clock=self._clock, metrics=metrics, observer=observer
        )
        return {b"POST /v1/siteverify": siteverify, b"/v1/gateway/check": self.gate}

    def _own_form(self) -> BrowserCheck:
        site_key = self._settings.access_site_key
        if not site_key:
            return NoBrowserCheck()
        return OwnForm(self.redeemer, self._deciding.sites, site_key=site_key)
