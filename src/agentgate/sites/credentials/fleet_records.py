"""A fleet credential: one secret for the proxies of all sites of an account."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from agentgate.lib.enums import UnknownHosts
from agentgate.lib.limits import CREDENTIAL_NAME_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record


class FleetCredential(Record, frozen=True, kw_only=True):
    """A fleet credential, without its secret. `unknownHosts` decides about hosts that no site of the account has."""

    id: str
    account_id: str
    name: str
    unknown_hosts: UnknownHosts
    created_at: Moment
    revoked_at: Moment | UnsetType = UNSET
    last_used_at: Moment | UnsetType = UNSET


class FleetCredentialList(Record, frozen=True, kw_only=True):
    """The fleet credentials of an account, newest first, revoked ones included."""

    items: list[FleetCredential]


class FleetCredentialInput(Input, frozen=True, kw_only=True):
    """A new fleet credential."""

    name: Annotated[str, Meta(max_length=CREDENTIAL_NAME_CHARACTERS)] | UnsetType = UNSET
    unknown_hosts: UnknownHosts = UnknownHosts.ALLOW


class FleetCredentialSecret(Record, frozen=True, kw_only=True):
    """A new fleet credential and its secret, which is shown only once."""

    credential: FleetCredential
    secret: str
