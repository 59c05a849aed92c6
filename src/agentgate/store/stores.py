"""Every port over one session, and the Store that hands them out."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar, cast

from agentgate.core.database import Database, Transaction
from agentgate.store.sql.access_requests import SqlAccessRequests
from agentgate.store.sql.accounts import SqlAccounts
from agentgate.store.sql.api_tokens import SqlApiTokens
from agentgate.store.sql.audit import SqlAudit
from agentgate.store.sql.configuration import SqlConfiguration
from agentgate.store.sql.credentials import SqlCredentials
from agentgate.store.sql.customers import SqlCustomers
from agentgate.store.sql.directory import SqlDirectory
from agentgate.store.sql.feedback import SqlFeedback
from agentgate.store.sql.identity import SqlOperatorSessions
from agentgate.store.sql.jobs import SqlJobs
from agentgate.store.sql.keys import SqlKeys
from agentgate.store.sql.members import SqlMembers
from agentgate.store.sql.outbox import SqlOutbox
from agentgate.store.sql.rule_revisions import SqlRuleRevisions
from agentgate.store.sql.rules import SqlRules
from agentgate.store.sql.scoring import SqlCaptures, SqlDecisionLabels, SqlModels
from agentgate.store.sql.sites import SqlSites
from agentgate.store.sql.users import SqlLinks, SqlUsers, SqlUserSessions
from agentgate.store.sql.webhooks import SqlWebhooks
from agentgate.store.sql.worker_numbers import SqlWorkerNumbers

T = TypeVar("T")


class SqlStores:
    """The ports of all concepts. Each is made when first asked for: a unit of work uses two or three."""

    def __init__(self, session: Transaction) -> None:
        self._session = session

    @cached_property
    def access_requests(self) -> SqlAccessRequests:
        """Requests for an account."""
        return SqlAccessRequests(self._session)

    @cached_property
    def accounts(self) -> SqlAccounts:
        """Customer accounts."""
        return SqlAccounts(self._session)

    @cached_property
    def api_tokens(self) -> SqlApiTokens:
        """API tokens."""
        return SqlApiTokens(self._session)

    @cached_property
    def audit(self) -> SqlAudit:
        """The audit trail."""
        return SqlAudit(self._session)

    @cached_property
    def captures(self) -> SqlCaptures:
        """Which sites capture features."""
        return SqlCaptures(self._session)

    @cached_property
    def configuration(self) -> SqlConfiguration:
        """The version of what decides."""
        return SqlConfiguration(self._session)

    @cached_property
    def credentials(self) -> SqlCredentials:
        """Backend credentials."""
        return SqlCredentials(self._session)

    @cached_property
    def customers(self) -> SqlCustomers:
        """Accounts with what is counted about them."""
        return SqlCustomers(self._session)

    @cached_property
    def decision_labels(self) -> SqlDecisionLabels:
        """Labels of decisions."""
        return SqlDecisionLabels(self._session)

    @cached_property
    def directory(self) -> SqlDirectory:
        """All sites at once."""
        return SqlDirectory(self._session)

    @cached_property
    def feedback(self) -> SqlFeedback:
        """Answers about the documentation."""
        return SqlFeedback(self._session)

    @cached_property
    def jobs(self) -> SqlJobs:
        """Leases and the times of jobs."""
        return SqlJobs(self._session)

    @cached_property
    def keys(self) -> SqlKeys:
        """The service's own keys."""
        return SqlKeys(self._session)

    @cached_property
    def links(self) -> SqlLinks:
        """One-time links."""
        return SqlLinks(self._session)

    @cached_property
    def members(self) -> SqlMembers:
        """Who belongs to which account."""
        return SqlMembers(self._session)

    @cached_property
    def models(self) -> SqlModels:
        """Models that were installed."""
        return SqlModels(self._session)

    @cached_property
    def operator_sessions(self) -> SqlOperatorSessions:
        """Operators' sessions."""
        return SqlOperatorSessions(self._session)

    @cached_property
    def outbox(self) -> SqlOutbox:
        """Messages to people."""
        return SqlOutbox(self._session)

    @cached_property
    def rule_revisions(self) -> SqlRuleRevisions:
        """Earlier rules of sites."""
        return SqlRuleRevisions(self._session)

    @cached_property
    def rules(self) -> SqlRules:
        """Sites' rules."""
        return SqlRules(self._session)

    @cached_property
    def sites(self) -> SqlSites:
        """Sites."""
        return SqlSites(self._session)

    @cached_property
    def user_sessions(self) -> SqlUserSessions:
        """Users' sessions."""
        return SqlUserSessions(self._session)

    @cached_property
    def users(self) -> SqlUsers:
        """People."""
        return SqlUsers(self._session)

    @cached_property
    def webhooks(self) -> SqlWebhooks:
        """Where decisions are pushed to."""
        return SqlWebhooks(self._session)

    @cached_property
    def worker_numbers(self) -> SqlWorkerNumbers:
        """Which worker holds which number."""
        return SqlWorkerNumbers(self._session)


class SqlStore:
    """Implements Store over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Outside a transaction there is nothing to lock; a port that tries is wrong, and fails loudly.
        self._read = SqlStores(cast("Transaction", database))
        # Called after a commit that changed what decides.
        self.on_configuration_change: Callable[[], None] | None = None

    @property
    def read(self) -> SqlStores:
        """The ports, each call on its own."""
        return self._read

    async def change(self, work: Callable[[SqlStores], Awaitable[T]]) -> T:
        """Run a unit of work on the ports in one transaction."""
        bumped = False

        async def watched(transaction: Transaction) -> T:
            nonlocal bumped
            stores = SqlStores(transaction)
            result = await work(stores)
            # Looked up in __dict__, so that looking does not make the port.
            bumped = "configuration" in stores.__dict__ and stores.configuration.bumped
            return result

        result = await self._database.transaction(watched)
        if bumped and self.on_configuration_change is not None:
            self.on_configuration_change()
        return result
