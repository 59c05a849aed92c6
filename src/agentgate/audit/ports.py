"""What the audit trail asks of the durable store."""

from typing import Protocol

from agentgate.audit.records import AuditEntry, ConfigChange


class AuditStore(Protocol):
    """Entries are added and read, never changed."""

    async def add_entry(self, entry: AuditEntry) -> None:
        """Keep an entry, in the transaction of what it tells of."""
        ...

    async def list_site_changes(self, site_id: str, limit: int) -> list[ConfigChange]:
        """Return a site's newest entries, newest first; none for an unknown site."""
        ...


class AuditStores(Protocol):
    """The port that a unit of work needs to leave a trace."""

    @property
    def audit(self) -> AuditStore: ...
