"""Writing an entry. Call it inside the unit of work that makes the change, so that both happen or neither."""

from typing import Any

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.lib.actor import SYSTEM
from agentgate.people.audit.actions import Action
from agentgate.people.audit.records import AuditEntry
from agentgate.people.audit.repository import AuditStores


class Subject(Struct, frozen=True, kw_only=True):
    """The subject of an entry: the account and the site in whose trails it is shown, and the target."""

    account_id: str | None = None
    site_id: str | None = None
    target: str | None = None


async def record(
    stores: AuditStores, call: Call, action: Action, subject: Subject, detail: dict[str, Any] | None = None
) -> None:
    """Add an audit entry for an action of the caller."""
    actor = call.caller or SYSTEM
    entry = AuditEntry(
        time=call.now,
        actor=actor.name,
        actor_kind=actor.kind,
        action=action,
        account_id=subject.account_id,
        site_id=subject.site_id,
        target=subject.target,
        detail=detail or {},
        # The address itself is never kept: a trail is read by many, for years.
        address=call.address_id(subject.account_id or ""),
    )
    await stores.audit.add_entry(entry)
