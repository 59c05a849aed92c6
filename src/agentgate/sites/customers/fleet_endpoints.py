"""Fleet credentials over HTTP, for operators: created and revoked."""

from msgspec import UnsetType
from msgspec.structs import replace

from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_fleet_id
from agentgate.lib.limits import LIVE_FLEET_SECRETS
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.secrets import CREDENTIAL_SECRET_PREFIX, digest, new_secret
from agentgate.people.accounts.lifecycle import get_account
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.credentials.records import (
    FleetCredential,
    FleetCredentialInput,
    FleetCredentialList,
    FleetCredentialSecret,
)
from agentgate.sites.customers.endpoints import check_not_deleted
from agentgate.sites.customers.guards import CustomerCall
from agentgate.sites.customers.repository import CustomerStores

DEFAULT_NAME = "Fleet"
# The default of an absent body.
NO_CHOICE = FleetCredentialInput()


async def list_fleet_credentials(call: CustomerCall, store: Store[CustomerStores]) -> FleetCredentialList:
    """List an account's fleet credentials, newest first, without their secrets."""
    return FleetCredentialList(items=await store.read.fleets.list_fleets(call.account.id))


async def create_fleet_credential(
    call: CustomerCall, stores: CustomerStores, body: FleetCredentialInput = NO_CHOICE
) -> FleetCredentialSecret:
    """Create a fleet credential: one secret for the proxies of all sites of the account.

    The gateway finds the site by the proxy's server name. `unknownHosts` decides about a server name that no site of
    the account has. Only the gateway accepts the secret, which is only in this response.
    """
    name = DEFAULT_NAME if isinstance(body.name, UnsetType) else check_name(body.name)
    await stores.fleets.lock_account(call.account.id)
    # A deletion since the request began has revoked everything.
    check_not_deleted(await get_account(stores, call.account.id))
    live = [each for each in await stores.fleets.list_fleets(call.account.id) if isinstance(each.revoked_at, UnsetType)]
    if len(live) >= LIVE_FLEET_SECRETS:
        raise Refused(
            "credential_limit",
            f"The account has {len(live)} of {LIVE_FLEET_SECRETS} active fleet credentials. Revoke one first.",
        )
    secret = new_secret(CREDENTIAL_SECRET_PREFIX)
    credential = FleetCredential(
        id=new_fleet_id(), account_id=call.account.id, name=name, unknown_hosts=body.unknown_hosts, created_at=call.now
    )
    await stores.fleets.add_fleet(credential, digest(secret))
    await _record(stores, call, Action.FLEET_CREATE, credential)
    return FleetCredentialSecret(credential=credential, secret=secret)


async def revoke_fleet_credential(call: CustomerCall, stores: CustomerStores) -> FleetCredential:
    """Revoke a fleet credential now. Revoking it again changes nothing."""
    await stores.fleets.lock_account(call.account.id)
    credential = await stores.fleets.find_fleet(call.account.id, call.params["fleetId"])
    if credential is None:
        raise Refused("not_found", "The account has no fleet credential with this ID.")
    if isinstance(credential.revoked_at, Moment):
        return credential
    revoked = replace(credential, revoked_at=call.now)
    await stores.fleets.save_end(revoked)
    await _record(stores, call, Action.FLEET_REVOKE, revoked)
    return revoked


async def _record(stores: CustomerStores, call: CustomerCall, action: Action, credential: FleetCredential) -> None:
    detail = {"name": credential.name, "unknownHosts": credential.unknown_hosts.value}
    await record(stores, call, action, Subject(account_id=call.account.id, target=credential.id), detail)
    await stores.configuration.bump_account(call.account.id)
