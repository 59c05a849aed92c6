"""What changed between two versions of a record, as `{field: {from, to}}`."""

from typing import Any

from msgspec import UNSET, Struct

from agentgate.lib.records import to_builtins


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
