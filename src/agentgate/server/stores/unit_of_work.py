"""Every port over one session, and the Store that hands them out."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar, cast

from agentgate.events.webhooks.repository import SqlWebhooks
from agentgate.lib.database import Database, Transaction
from agentgate.people.accounts.repositories.access_requests import SqlAccessRequests
from agentgate.people.accounts.repositories.accounts import SqlAccounts
from agentgate.people.accounts.repositories.api_tokens import SqlApiTokens
from agentgate.people.accounts.repositories.members import SqlMembers
from agentgate.people.audit.repository import SqlAudit
from agentgate.people.feedback.repository import SqlFeedback
from agentgate.people.identity.repositories.operator_sessions import SqlOperatorSessions
from agentgate.people.identity.repositories.users import SqlLinks, SqlUsers, SqlUserSessions
from agentgate.people.outbox.repository import SqlOutbox
from agentgate.protection.appeals.repository import SqlAppeals
from agentgate.protection.credentials.repository import SqlCredentials
from agentgate.protection.customers.repository import SqlCustomers
from agentgate.protection.lists.repositories.entries import SqlLists
from agentgate.protection.rules.repositories.revisions import SqlRuleRevisions
from agentgate.protection.rules.repositories.rules import SqlRules
from agentgate.protection.scoring.repositories.models import SqlCaptures, SqlDecisionLabels, SqlModels
from agentgate.protection.sites.repositories.directory import SqlDirectory
from agentgate.protection.sites.repositories.sites import SqlSites
from agentgate.server.scheduler.repository import SqlJobs
from agentgate.storage.repositories.configuration_version import SqlConfiguration
from agentgate.storage.repositories.keys import SqlKeys
from agentgate.storage.repositories.worker_numbers import SqlWorkerNumbers

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
    def appeals(self) -> SqlAppeals:
        """What refused people say."""
        return SqlAppeals(self._session)

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
    def lists(self) -> SqlLists:
        """Whom sites let in or keep out by name."""
        return SqlLists(self._session)

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
        # Awaited after that: whoever changed something is answered when it is in force.
        self.until_in_force: Callable[[], Awaitable[None]] | None = None

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
            if self.until_in_force is not None:
                await self.until_in_force()
        return result
