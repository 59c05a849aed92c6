"""What the operators' view asks of the durable store beyond what accounts, identity and sites do."""

from typing import Protocol

from agentgate.people.accounts.access_request_ports import AccessRequestStores
from agentgate.protection.customers.records import Account, CustomerFilter, CustomerSummary
from agentgate.protection.sites.ports import SiteStores


class CustomerStore(Protocol):
    """Accounts with what is counted about them."""

    async def list_customers(self, wanted: CustomerFilter) -> list[CustomerSummary]:
        """Return the accounts that a filter finds, newest first, deleted ones included until they are purged."""
        ...

    async def find_customer(self, account_id: str) -> CustomerSummary | None:
        """Return one account as a list shows it, or None."""
        ...

    async def list_accounts(self) -> list[Account]:
        """Return every membership with its user and account, newest first."""
        ...


class CustomerStores(SiteStores, AccessRequestStores, Protocol):
    """The ports that the operators' view uses."""

    @property
    def customers(self) -> CustomerStore: ...
