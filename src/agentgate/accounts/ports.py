"""What accounts ask of the durable store."""

from typing import Protocol

from agentgate.accounts.records import StoredAccount
from agentgate.audit.ports import AuditStores


class AccountStore(Protocol):
    """Customer accounts."""

    async def add_account(self, account: StoredAccount) -> None:
        """Keep a new account."""
        ...

    async def find_account(self, account_id: str) -> StoredAccount | None:
        """Return an account, or None."""
        ...


class AccountStores(AuditStores, Protocol):
    """The ports that a unit of work on accounts uses."""

    @property
    def accounts(self) -> AccountStore: ...
