"""The service's keys as operators see them."""

from collections.abc import Iterable
from typing import Literal

from agentgate.lib.keyring import StoredKey
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional_moment
from agentgate.people.installation.records import InstallationKey

KeyState = Literal["next", "current", "retired", "ended"]


def key_records(keys: Iterable[StoredKey], now_ms: int) -> list[InstallationKey]:
    """Return every key with its state, newest first within its purpose."""
    stored = sorted(keys, key=lambda key: (key.purpose, -key.active_ms))
    newest = {key.purpose: key.id for key in reversed(stored) if key.active_ms <= now_ms}
    return [_record(key, _state(key, now_ms, is_newest=newest.get(key.purpose) == key.id)) for key in stored]


def _state(key: StoredKey, now_ms: int, *, is_newest: bool) -> KeyState:
    if key.active_ms > now_ms:
        return "next"
    if key.retired_ms is not None and key.retired_ms <= now_ms:
        return "ended"
    return "current" if is_newest else "retired"


def _record(key: StoredKey, state: KeyState) -> InstallationKey:
    return InstallationKey(
        id=key.id,
        purpose=key.purpose,
        state=state,
        created_at=Moment(key.created_ms),
        active_at=Moment(key.active_ms),
        retired_at=optional_moment(key.retired_ms),
    )
