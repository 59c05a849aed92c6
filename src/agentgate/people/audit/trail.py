"""Writing an entry. Call it inside the unit of work that makes the change, so that both happen or neither."""

from typing import Any

from msgspec import UNSET, Struct

from agentgate.http.call import SYSTEM, Call
from agentgate.lib.records import to_builtins
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


def diff(before: Struct, after: Struct, fields: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return the fields whose values differ, by their wire names; an absent value is null."""
    wire_names = dict(zip(before.__struct_fields__, before.__struct_encode_fields__, strict=True))
    changed = (field for field in fields if getattr(before, field) != getattr(after, field))
    return {
        wire_names[field]: {"from": _plain(getattr(before, field)), "to": _plain(getattr(after, field))}
        for field in changed
    }


def _plain(value: Any) -> Any:
    return None if value is UNSET else to_builtins(value)
