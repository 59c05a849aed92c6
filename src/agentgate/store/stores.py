"""Every port over one session, and the Store that hands them out."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar, cast

from agentgate.core.database import Database, Transaction
from agentgate.store.sql.accounts import SqlAccounts
from agentgate.store.sql.audit import SqlAudit
from agentgate.store.sql.credentials import SqlCredentials
from agentgate.store.sql.identity import SqlOperatorSessions
from agentgate.store.sql.keys import SqlKeys
from agentgate.store.sql.rules import SqlRules
from agentgate.store.sql.sites import SqlSites

T = TypeVar("T")


class SqlStores:
    """The ports of all concepts. Each is made when first asked for: a unit of work uses two or three."""

    def __init__(self, session: Transaction) -> None:
        self._session = session

    @cached_property
    def accounts(self) -> SqlAccounts:
        """Customer accounts."""
        return SqlAccounts(self._session)

    @cached_property
    def audit(self) -> SqlAudit:
        """The audit trail."""
        return SqlAudit(self._session)

    @cached_property
    def credentials(self) -> SqlCredentials:
        """Backend credentials."""
        return SqlCredentials(self._session)

    @cached_property
    def keys(self) -> SqlKeys:
        """The service's own keys."""
        return SqlKeys(self._session)

    @cached_property
    def operator_sessions(self) -> SqlOperatorSessions:
        """Operators' sessions."""
        return SqlOperatorSessions(self._session)

    @cached_property
    def rules(self) -> SqlRules:
        """Sites' rules."""
        return SqlRules(self._session)

    @cached_property
    def sites(self) -> SqlSites:
        """Sites."""
        return SqlSites(self._session)


class SqlStore:
    """Implements Store over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Outside a transaction there is nothing to lock; a port that tries is wrong, and fails loudly.
        self._read = SqlStores(cast("Transaction", database))

    @property
    def read(self) -> SqlStores:
        """The ports, each call on its own."""
        return self._read

    async def change(self, work: Callable[[SqlStores], Awaitable[T]]) -> T:
        """Run a unit of work on the ports in one transaction."""
        return await self._database.transaction(lambda transaction: work(SqlStores(transaction)))
