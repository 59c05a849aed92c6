"""An audit entry as stored, and as a site's trail shows it."""

from typing import Any

from msgspec import UNSET, UnsetType

from agentgate.core.enums import ActorKind
from agentgate.core.moment import Moment
from agentgate.core.records import Record


class AuditEntry(Record, frozen=True, kw_only=True):
    """What is written with every change, in the transaction of the change."""

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
