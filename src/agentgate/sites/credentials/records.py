"""A credential, its input, and the one response that carries its secret."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

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
