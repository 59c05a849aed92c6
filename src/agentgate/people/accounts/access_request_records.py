"""Requests for an account, as the store keeps them and as operators read them."""

from msgspec import UNSET, Struct, UnsetType

from agentgate.lib.enums import AccessRequestStatus
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record, optional, optional_moment


class AccessRequest(Record, frozen=True, kw_only=True):
    """Somebody who asked for an account, and what became of it."""

    id: str
    email: str
    name: str
    status: AccessRequestStatus
    created_at: Moment
    company: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    decided_at: Moment | UnsetType = UNSET
    decided_by: str | UnsetType = UNSET


class AccessRequestList(Record, frozen=True, kw_only=True):
    """Access requests, newest first."""

    items: list[AccessRequest]


class StoredAccessRequest(Struct, frozen=True, kw_only=True):
    """An access request as the store keeps it."""

    id: str
    email: str
    name: str
    company: str | None
    message: str | None
    status: AccessRequestStatus
    created_ms: int
    decided_ms: int | None = None
    decided_by: str | None = None

    def record(self) -> AccessRequest:
        """Return it as operators read it."""
        return AccessRequest(
            id=self.id,
            email=self.email,
            name=self.name,
            status=self.status,
            created_at=Moment(self.created_ms),
            company=optional(self.company),
            message=optional(self.message),
            decided_at=optional_moment(self.decided_ms),
            decided_by=optional(self.decided_by),
        )
