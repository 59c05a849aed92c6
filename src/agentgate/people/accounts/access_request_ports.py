"""What requests for an account ask of the durable store."""

from typing import Protocol

from agentgate.lib.enums import AccessRequestStatus
from agentgate.people.accounts.access_request_records import StoredAccessRequest


class AccessRequestStore(Protocol):
    """People who asked for an account."""

    async def add_request(self, request: StoredAccessRequest) -> bool:
        """Keep a new request; False when one of the same address is pending."""
        ...

    async def find_request(self, request_id: str) -> StoredAccessRequest | None:
        """Return a request, or None."""
        ...

    async def list_requests(self, status: AccessRequestStatus | None, limit: int) -> list[StoredAccessRequest]:
        """Return the newest requests in a state, or in any with None, newest first."""
        ...

    async def decide(self, request_id: str, status: AccessRequestStatus, decided_by: str, now_ms: int) -> bool:
        """Decide a pending request; False when it was decided already."""
        ...

    async def has_pending(self, email: str) -> bool:
        """Say whether a request of this canonical address is pending."""
        ...


class AccessRequestStores(Protocol):
    """The port that a unit of work on access requests needs."""

    @property
    def access_requests(self) -> AccessRequestStore: ...
