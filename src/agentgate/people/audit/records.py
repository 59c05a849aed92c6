"""An audit entry as stored, as a site's trail shows it, and as an account's trail shows it."""

from typing import Any

from msgspec import UNSET, UnsetType

from agentgate.lib.enums import ActorKind
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record


class AuditEntry(Record, frozen=True, kw_only=True):
    """The entry of a change, written in the transaction of the change. `address` is a keyed hash."""

    time: Moment
    actor: str
    actor_kind: ActorKind
    action: str
    account_id: str | None
    site_id: str | None
    target: str | None
    detail: dict[str, Any]
    address: str | None


class ConfigChange(Record, frozen=True, kw_only=True):
    """One entry of a site's audit trail."""

    id: int
    time: Moment
    actor: str
    kind: str
    site_id: str | UnsetType = UNSET
    detail: dict[str, Any] | UnsetType = UNSET


class ConfigChangeList(Record, frozen=True, kw_only=True):
    """A site's audit trail, newest first."""

    items: list[ConfigChange]


class AuditEvent(Record, frozen=True, kw_only=True):
    """One entry of an account's audit trail. `address` is a keyed hash that does not identify a person."""

    id: int
    time: Moment
    actor: str
    actor_kind: ActorKind
    action: str
    detail: dict[str, Any]
    target: str | UnsetType = UNSET
    address: str | UnsetType = UNSET


class AuditPage(Record, frozen=True, kw_only=True):
    """A part of an account's audit trail, newest first; `nextCursor` leads to the rest."""

    items: list[AuditEvent]
    next_cursor: str | UnsetType = UNSET
