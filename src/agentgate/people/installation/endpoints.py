"""The installation over HTTP, for operators: its state, its settings, its keys."""

from collections.abc import Iterable
from typing import Literal, Protocol

from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import PURPOSES, KeyStores, Sealer, StoredKey, replace_key
from agentgate.lib.records import to_wire
from agentgate.people.audit.actions import Action
from agentgate.people.audit.repository import AuditStores
from agentgate.people.audit.trail import Subject, record
from agentgate.people.installation.records import InstallationKey, InstallationSettings, InstallationState


class InstallationReader(Protocol):
    """Knows the stores, jobs, keys and settings of this process."""

    async def report(self, now_ms: int) -> InstallationState:
        """Return the state of the installation."""

    def settings(self) -> InstallationSettings:
        """Return the active settings, secrets hidden."""


class KeyRotationStores(KeyStores, AuditStores, Protocol):
    """The repositories that rotating a key uses."""


KeyState = Literal["next", "current", "retired", "ended"]


def key_records(keys: Iterable[StoredKey], now_ms: int) -> list[InstallationKey]:
    """Return every key with its state, newest first within its purpose."""
    stored = sorted(keys, key=lambda key: (key.purpose, -key.active_ms))
    newest = {key.purpose: key.id for key in reversed(stored) if key.active_ms <= now_ms}
    return [
        to_wire(key, InstallationKey, state=_state(key, now_ms, is_newest=newest.get(key.purpose) == key.id))
        for key in stored
    ]


def _state(key: StoredKey, now_ms: int, *, is_newest: bool) -> KeyState:
    if key.active_ms > now_ms:
        return "next"
    if key.retired_ms is not None and key.retired_ms <= now_ms:
        return "ended"
    return "current" if is_newest else "retired"


async def read_installation(call: Call, installation: InstallationReader) -> InstallationState:
    """Read the state of the installation: stores, workers, jobs, keys, threat lists, mail.

    Counts of events and gateway checks are from the responding worker.
    """
    return await installation.report(call.now)


async def read_settings(
    call: Call,  # noqa: ARG001 - every handler is given its call
    installation: InstallationReader,
) -> InstallationSettings:
    """List the effective settings and their sources. Secrets are hidden."""
    return installation.settings()


async def rotate_key(call: Call, stores: KeyRotationStores, sealer: Sealer) -> InstallationKey:
    """Create a new key for a purpose.

    It becomes active after six minutes, when every worker has read it. The old key verifies its signatures until they
    expire.
    """
    purpose = call.params["purpose"]
    if purpose not in PURPOSES:
        raise Refused("not_found", f"Unknown purpose. Use one of: {', '.join(PURPOSES)}.")
    if any(key.purpose == purpose and key.active_ms > call.now for key in await stores.keys.list_keys()):
        # Each rotation ends the keys before it: a second one would end a key that was never used.
        raise Refused(
            "invalid_state", "The next key of this purpose is not active yet. Rotate again after its activation."
        )
    made = await replace_key(stores, sealer, purpose, call.now)
    await record(stores, call, Action.SERVICE_KEY_ROTATE, Subject(target=made.id), {"purpose": purpose})
    return key_records([made], call.now)[0]
