"""The installation over HTTP, for operators."""

from agentgate.http.call import Call
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import PURPOSES, Sealer, StoredKey, replace_key
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.installation.keys import key_records
from agentgate.people.installation.ports import InstallationReader, KeyRotationStores
from agentgate.people.installation.records import InstallationKey, InstallationSettings, InstallationState


async def read_installation(call: Call, installation: InstallationReader) -> InstallationState:
    """Read the state of the installation: stores, workers, jobs, keys, threat lists, mail.

    Counts of events and of gateway checks are those of the worker that answers.
    """
    return await installation.report(call.now)


async def read_settings(
    call: Call,  # noqa: ARG001 - every handler is given its call
    installation: InstallationReader,
) -> InstallationSettings:
    """List the settings in force and where each came from. Secrets are hidden."""
    return installation.settings()


async def rotate_key(call: Call, store: Store[KeyRotationStores], sealer: Sealer) -> InstallationKey:
    """Make a new key for a purpose.

    It is used once every worker has read it, after six minutes. The old one goes on verifying what it made until that
    has expired.
    """
    purpose = call.params["purpose"]
    if purpose not in PURPOSES:
        raise Refused("not_found", f"There is no such purpose; there are {', '.join(PURPOSES)}.")

    async def work(stores: KeyRotationStores) -> StoredKey:
        waiting = [key for key in await stores.keys.list_keys() if key.purpose == purpose and key.active_ms > call.now]
        if waiting:
            # Each rotation ends the keys before it: a second one would end a key that was never used.
            raise Refused("invalid_state", "The next key of this purpose is not in use yet; rotate again after that.")
        made = await replace_key(stores, sealer, purpose, call.now)
        await record(stores, call, Action.SERVICE_KEY_ROTATE, Subject(target=made.id), {"purpose": purpose})
        return made

    return key_records([await store.change(work)], call.now)[0]
