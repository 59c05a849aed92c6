"""Credentials over HTTP: the same three handlers for operators and for customers."""

from msgspec import UnsetType

from agentgate.http.call import SiteCall
from agentgate.lib.database import Store
from agentgate.lib.names import check_name
from agentgate.protection.credentials import issue
from agentgate.protection.credentials.records import Credential, CredentialInput, CredentialSecret, RotateInput
from agentgate.protection.credentials.repository import CredentialStores

# What an absent body means.
NO_NAME = CredentialInput()
USUAL_OVERLAP = RotateInput()


async def create_credential(
    call: SiteCall, store: Store[CredentialStores], body: CredentialInput = NO_NAME
) -> CredentialSecret:
    """Create a backend credential.

    The secret is in this answer and never again.
    """
    name = issue.DEFAULT_NAME if isinstance(body.name, UnsetType) else check_name(body.name)
    return await store.change(lambda stores: issue.create(stores, call, name))


async def rotate_credential(
    call: SiteCall, store: Store[CredentialStores], body: RotateInput = USUAL_OVERLAP
) -> CredentialSecret:
    """Replace a credential, keeping the old one valid for the overlap.

    The replacement's secret is in this answer and never again.
    """
    return await store.change(
        lambda stores: issue.rotate(stores, call, call.params["credId"], overlap_seconds=body.overlap_seconds)
    )


async def revoke_credential(call: SiteCall, store: Store[CredentialStores]) -> Credential:
    """Revoke a credential now."""
    return await store.change(lambda stores: issue.revoke(stores, call, call.params["credId"]))
