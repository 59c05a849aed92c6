"""Credentials over HTTP, for operators and customers alike: made, replaced with an overlap, revoked.

The limit of a site's credentials holds under any race.
"""

from msgspec import UnsetType
from msgspec.structs import replace

from agentgate.http.call import SiteCall
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_credential_id
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.secrets import CREDENTIAL_SECRET_PREFIX, digest, new_secret
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.credentials.records import Credential, CredentialInput, CredentialSecret, RotateInput
from agentgate.sites.credentials.repository import CredentialStores

DEFAULT_NAME = "Backend"
# The default of an absent body.
NO_NAME = CredentialInput()
USUAL_OVERLAP = RotateInput()


async def create_credential(
    call: SiteCall, stores: CredentialStores, body: CredentialInput = NO_NAME
) -> CredentialSecret:
    """Create a backend credential.

    The secret is only in this response.
    """
    name = DEFAULT_NAME if isinstance(body.name, UnsetType) else check_name(body.name)
    await stores.credentials.lock_site(call.site_id)
    limit = await stores.credentials.live_limit(call.site_id)
    current = [each for each in await stores.credentials.list_credentials(call.site_id) if each.is_current()]
    if len(current) >= limit:
        raise Refused(
            "credential_limit", f"The site has {len(current)} of {limit} active credentials. Revoke one first."
        )
    made = await _add(stores, call, name)
    await _record(stores, call, Action.CREDENTIAL_CREATE, made.credential)
    return made


async def rotate_credential(
    call: SiteCall, stores: CredentialStores, body: RotateInput = USUAL_OVERLAP
) -> CredentialSecret:
    """Replace a credential, keeping the old one valid for the overlap.

    The new secret is only in this response.
    """
    await stores.credentials.lock_site(call.site_id)
    old = await _find(stores, call, call.params["credId"])
    if not old.is_current():
        raise Refused("invalid_state", "Only an active credential can be rotated. This one was revoked or replaced.")
    await _check_overlaps(stores, call)
    ends = Moment(call.now + body.overlap_seconds * SECOND_MS)
    await stores.credentials.save_end(replace(old, expires_at=ends))
    made = await _add(stores, call, old.name)
    detail = {"replacedBy": made.credential.id, "overlapSeconds": body.overlap_seconds, "expiresAt": ends.text()}
    await _record(stores, call, Action.CREDENTIAL_ROTATE, old, **detail)
    return made


async def revoke_credential(call: SiteCall, stores: CredentialStores) -> Credential:
    """Revoke a credential now."""
    return await revoke(stores, call, call.params["credId"])


async def revoke(stores: CredentialStores, call: SiteCall, credential_id: str) -> Credential:
    """End a credential now. Revoking it again changes nothing."""
    # A concurrent rotation must not overwrite the revocation.
    await stores.credentials.lock_site(call.site_id)
    credential = await _find(stores, call, credential_id)
    if isinstance(credential.revoked_at, Moment):
        return credential
    revoked = replace(credential, revoked_at=call.now)
    await stores.credentials.save_end(revoked)
    await _record(stores, call, Action.CREDENTIAL_REVOKE, revoked)
    return revoked


async def _find(stores: CredentialStores, call: SiteCall, credential_id: str) -> Credential:
    """Return a site's credential. An unknown credential and another site's give the same error."""
    credential = await stores.credentials.find_credential(call.site_id, credential_id)
    if credential is None:
        raise Refused("not_found", "The site has no credential with this ID.")
    return credential


async def _check_overlaps(stores: CredentialStores, call: SiteCall) -> None:
    # Rotation must work at the limit of live credentials, but repeated rotations must not add up without end.
    limit = await stores.credentials.live_limit(call.site_id)
    credentials = await stores.credentials.list_credentials(call.site_id)
    ending = [each for each in credentials if each.is_live(call.now) and not each.is_current()]
    if len(ending) >= limit:
        raise Refused(
            "credential_limit",
            f"{len(ending)} replaced credentials of this site still work; revoke one or wait for an overlap to end.",
        )


async def _add(stores: CredentialStores, call: SiteCall, name: str) -> CredentialSecret:
    secret = new_secret(CREDENTIAL_SECRET_PREFIX)
    credential = Credential(id=new_credential_id(), site_id=call.site_id, name=name, created_at=call.now)
    await stores.credentials.add_credential(credential, digest(secret))
    return CredentialSecret(credential=credential, secret=secret)


async def _record(
    stores: CredentialStores, call: SiteCall, action: Action, credential: Credential, **detail: object
) -> None:
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=credential.id)
    await record(stores, call, action, subject, {"name": credential.name, **detail})
    await stores.configuration.bump_site(call.site_id)
