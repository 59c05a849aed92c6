"""Messages to people, as the store keeps them and as operators read them."""

from msgspec import UNSET, Struct, UnsetType

from agentgate.lib.enums import OutboxStatus
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record


class StoredMessage(Struct, frozen=True, kw_only=True):
    """A message as stored. The body is sealed; None once its link cannot be used any more."""

    id: str
    recipient: str
    kind: str
    subject: str
    body: bytes | None
    link_digest: bytes | None
    status: OutboxStatus
    attempts: int
    next_attempt_ms: int
    created_ms: int
    sent_ms: int | None = None
    last_error: str | None = None


class UnsentCounts(Struct, frozen=True, kw_only=True):
    """How many messages wait or have failed, and the newest error."""

    pending: int
    failed: int
    last_error: str | None


class OutboxMessage(Record, frozen=True, kw_only=True):
    """A message. Its body holds a one-time link until that is used, replaced or expired."""

    id: str
    to: str
    kind: str
    subject: str
    body: str
    status: OutboxStatus
    attempts: int
    created_at: Moment
    sent_at: Moment | UnsetType = UNSET
    last_error: str | UnsetType = UNSET


class OutboxList(Record, frozen=True, kw_only=True):
    """The newest messages, newest first."""

    items: list[OutboxMessage]
