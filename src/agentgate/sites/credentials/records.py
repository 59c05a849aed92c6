"""Credentials of a site and of a fleet, their input, and the one response that carries their secret."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from agentgate.lib.enums import UnknownHosts
from agentgate.lib.limits import CREDENTIAL_NAME_CHARACTERS, OVERLAP_SECONDS
from agentgate.lib.moment import Moment
from agentgate.lib.records import CredentialId, Input, Record


class Credential(Record, frozen=True, kw_only=True):
    """A backend credential, without its secret. One with `expiresAt` was rotated and works until then."""

    id: CredentialId
    site_id: str
    name: str
    created_at: Moment
    expires_at: Moment | UnsetType = UNSET
    revoked_at: Moment | UnsetType = UNSET
    last_used_at: Moment | UnsetType = UNSET

    def is_live(self, now_ms: int) -> bool:
        """Return whether its secret is accepted."""
        return self.revoked_at is UNSET and (self.expires_at is UNSET or now_ms < self.expires_at)

    def is_current(self) -> bool:
        """Return whether it is neither revoked nor replaced."""
        return self.revoked_at is UNSET and self.expires_at is UNSET


class CredentialInput(Input, frozen=True, kw_only=True):
    """A new credential."""

    name: Annotated[str, Meta(max_length=CREDENTIAL_NAME_CHARACTERS)] | UnsetType = UNSET


class RotateInput(Input, frozen=True, kw_only=True):
    """Validity of the replaced credential."""

    overlap_seconds: Annotated[int, Meta(ge=OVERLAP_SECONDS.least, le=OVERLAP_SECONDS.most)] = OVERLAP_SECONDS.default


class CredentialSecret(Record, frozen=True, kw_only=True):
    """A new credential and its secret, which is shown only once."""

    credential: Credential
    secret: str


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
