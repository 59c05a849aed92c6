"""What the audit trail asks of the durable store."""

from typing import Protocol

from agentgate.people.audit.records import AuditEntry, AuditEvent, ConfigChange


class AuditStore(Protocol):
    """Entries are added and read, never changed."""

    async def add_entry(self, entry: AuditEntry) -> None:
        """Keep an entry, in the transaction of what it tells of."""
        ...

    async def list_site_changes(self, site_id: str, limit: int, *, account_id: str | None = None) -> list[ConfigChange]:
        """Return a site's newest entries, newest first; with an account, only those of its own time with the site."""
        ...

    async def list_account_events(
        self, account_id: str, *, action: str | None = None, before: int | None = None, limit: int
    ) -> list[AuditEvent]:
        """Return an account's newest entries, newest first: of an action and its dotted children, before an entry."""
        ...

    async def list_operator_events(
        self, *, action: str | None = None, before: int | None = None, limit: int
    ) -> list[AuditEvent]:
        """Return the newest entries of what operators did, in any account and in none, newest first."""
        ...


class AuditStores(Protocol):
    """The port that a unit of work needs to leave a trace."""

    @property
    def audit(self) -> AuditStore: ...
