"""All repositories over one session, and the Store that provides them."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar, cast

from agentgate.decision.scoring.repository import CaptureStore, ModelStore
from agentgate.events.labels.repository import LabelStore
from agentgate.events.webhooks.repository import WebhookStore
from agentgate.events.worker_numbers import WorkerNumberStore
from agentgate.gateway.appeals.repository import AppealStore
from agentgate.gateway.notices.repository import NoticeStore
from agentgate.gateway.suggestions.repository import SuggestionStore
from agentgate.lib.database import Database, Transaction
from agentgate.lib.keyring import KeyStore
from agentgate.people.accounts.invitation_repository import InvitationStore
from agentgate.people.accounts.repository import AccessRequestStore, AccountStore, ApiTokenStore, MemberStore
from agentgate.people.accounts.setup_links import SetupLinkStore
from agentgate.people.audit.repository import AuditStore
from agentgate.people.feedback.repository import FeedbackStore
from agentgate.people.identity.repository import (
    LinkStore,
    OidcIdentityStore,
    OperatorSessionStore,
    UserSessionStore,
    UserStore,
)
from agentgate.people.installation.configuration_version import ConfigurationStore
from agentgate.people.outbox.repository import OutboxStore
from agentgate.server.scheduler.repository import JobStore
from agentgate.sites.credentials.repository import CredentialStore, FleetCredentialStore
from agentgate.sites.customers.repository import CustomerStore
from agentgate.sites.lists.network_repository import NetworkListStore
from agentgate.sites.lists.repository import ListStore
from agentgate.sites.repository import DirectoryStore, SiteStore
from agentgate.sites.rules.repository import RuleStore
from agentgate.sites.token_issuers.repository import TokenIssuerStore

T = TypeVar("T")


def _repository(make: Callable[[Transaction], T]) -> cached_property[T]:
    return cached_property(lambda stores: make(stores._session))  # noqa: SLF001 - of the class below


class SqlStores:
    """The repositories of all concepts. Each is made at its first use: a unit of work uses two or three."""

    def __init__(self, session: Transaction) -> None:
        self._session = session

    access_requests = _repository(AccessRequestStore)
    accounts = _repository(AccountStore)
    api_tokens = _repository(ApiTokenStore)
    appeals = _repository(AppealStore)
    audit = _repository(AuditStore)
    captures = _repository(CaptureStore)
    configuration = _repository(ConfigurationStore)
    credentials = _repository(CredentialStore)
    customers = _repository(CustomerStore)
    decision_labels = _repository(LabelStore)
    directory = _repository(DirectoryStore)
    fleets = _repository(FleetCredentialStore)
    feedback = _repository(FeedbackStore)
    invitations = _repository(InvitationStore)
    jobs = _repository(JobStore)
    keys = _repository(KeyStore)
    links = _repository(LinkStore)
    members = _repository(MemberStore)
    lists = _repository(ListStore)
    setup_links = _repository(SetupLinkStore)
    models = _repository(ModelStore)
    network_lists = _repository(NetworkListStore)
    notices = _repository(NoticeStore)
    oidc_identities = _repository(OidcIdentityStore)
    operator_sessions = _repository(OperatorSessionStore)
    outbox = _repository(OutboxStore)
    rules = _repository(RuleStore)
    sites = _repository(SiteStore)
    suggestions = _repository(SuggestionStore)
    token_issuers = _repository(TokenIssuerStore)
    user_sessions = _repository(UserSessionStore)
    users = _repository(UserStore)
    webhooks = _repository(WebhookStore)
    worker_numbers = _repository(WorkerNumberStore)


class SqlStore:
    """Implements Store over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Outside a transaction there is nothing to lock: a repository that tries to fails.
        self._read = SqlStores(cast("Transaction", database))
        # Called after a commit that changed the configuration.
        self.on_configuration_change: Callable[[], None] | None = None
        # Awaited after that: the response to a change is sent once the change is active.
        self.until_in_force: Callable[[], Awaitable[None]] | None = None

    @property
    def read(self) -> SqlStores:
        """The repositories outside a transaction: each call on its own."""
        return self._read

    async def change(self, work: Callable[[SqlStores], Awaitable[T]]) -> T:
        """Run a unit of work on the repositories in one transaction."""
        is_bumped = False

        async def watched(transaction: Transaction) -> T:
            nonlocal is_bumped
            stores = SqlStores(transaction)
            result = await work(stores)
            # Looked up in __dict__, which does not make the repository.
            is_bumped = "configuration" in stores.__dict__ and stores.configuration.is_bumped
            return result

        result = await self._database.transaction(watched)
        if is_bumped and self.on_configuration_change is not None:
            self.on_configuration_change()
            if self.until_in_force is not None:
                await self.until_in_force()
        return result
