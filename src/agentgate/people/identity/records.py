"""Operators and users, their sessions and links: as they go over the wire and as the store keeps them."""

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import OperatorVia, UserStatus
from agentgate.lib.limits import OPERATOR_NAME_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.names import NAME_CHARACTERS
from agentgate.lib.records import Input, Record

# Well above what is allowed to be chosen: a wrong password should be called wrong, and not malformed.
TYPED_CHARACTERS = 1024
# Letters, digits, single spaces and `. _ @ -`: nothing that could break out of a log line or a page.
OPERATOR_NAME_PATTERN = r"^[A-Za-z0-9._@-]+( [A-Za-z0-9._@-]+)*\Z"


class LoginRequest(Input, frozen=True, kw_only=True):
    """The operator credential and the operator's name in the audit trail."""

    key: Annotated[str, Meta(max_length=512)]
    operator: Annotated[str, Meta(max_length=OPERATOR_NAME_CHARACTERS, pattern=OPERATOR_NAME_PATTERN)] | UnsetType = (
        UNSET
    )


class SessionInfo(Record, frozen=True, kw_only=True):
    """The signed-in operator and the CSRF token."""

    operator: str
    via: OperatorVia
    csrf_token: str | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET


class OperatorSession(Struct, frozen=True, kw_only=True):
    """A session as stored. It keeps a digest of the cookie's content."""

    secret_digest: bytes
    id: str
    operator: str
    created_ms: int
    last_used_ms: int
    # Which operator key it was made with, as a MAC; None for one from before that was noted.
    key_tag: bytes | None
    # Empty for one from before these two were noted.
    browser: str = ""
    address_id: str = ""
    ended_ms: int | None = None


class OperatorSessionItem(Record, frozen=True, kw_only=True):
    """An operator's session. The address is a keyed hash."""

    id: str
    operator: str
    current: bool
    browser: str
    address_id: str
    created_at: Moment
    last_used_at: Moment


class OperatorSessionList(Record, frozen=True, kw_only=True):
    """The active sessions of all operators, newest first."""

    items: list[OperatorSessionItem]


class StoredUser(Struct, frozen=True, kw_only=True):
    """A person. Without a password hash the invitation has not been accepted yet. Two-factor secrets are sealed."""

    id: str
    email: str
    name: str | None = None
    status: UserStatus = UserStatus.ACTIVE
    password_hash: str | None = None
    mfa_secret: bytes | None = None
    mfa_enabled_ms: int | None = None
    mfa_pending_secret: bytes | None = None
    mfa_pending_ms: int | None = None
    # The newest time step whose code was used: a code of an older or equal step is rejected.
    mfa_last_step: int = 0
    created_ms: int
    last_sign_in_ms: int | None = None

    @property
    def has_mfa(self) -> bool:
        """Return whether signing in needs a second factor."""
        return self.mfa_enabled_ms is not None

    @property
    def has_authenticator(self) -> bool:
        """Return whether the codes of an authenticator app are a second factor of the user."""
        return self.has_mfa and self.mfa_secret is not None


# The most characters of what a browser sends: an RSA key of 4,096 bits and a credential ID of 1,023 bytes fit.
PasskeyBytes = Annotated[str, Meta(max_length=4096)]


class PasskeyAssertion(Input, frozen=True, kw_only=True):
    """A signature of a passkey, of `navigator.credentials.get`, in base64url. `clientData` is `clientDataJSON`."""

    credential_id: PasskeyBytes
    client_data: PasskeyBytes
    authenticator_data: PasskeyBytes
    signature: PasskeyBytes


class PasskeyInput(Input, frozen=True, kw_only=True):
    """A name, the password, and a passkey of `navigator.credentials.create`, in base64url.

    `clientData` is `clientDataJSON`, `authenticatorData` of `getAuthenticatorData()`, `publicKey` of `getPublicKey()`.
    """

    name: Annotated[str, Meta(max_length=NAME_CHARACTERS)]
    password: Annotated[str, Meta(max_length=TYPED_CHARACTERS)]
    client_data: PasskeyBytes
    authenticator_data: PasskeyBytes
    public_key: PasskeyBytes


class StoredPasskey(Struct, frozen=True, kw_only=True):
    """A passkey. `origin` is the address of the page that registered it: it signs for no other."""

    id: str
    user_id: str
    credential_id: bytes
    public_key: bytes
    origin: str
    name: str
    sign_count: int
    created_ms: int
    last_used_ms: int | None = None


class SessionStage(StrEnum):
    """How far a sign-in has come."""

    # The password was right and a code is still needed.
    PASSWORD = "password"  # noqa: S105 - a stage, not a secret
    FULL = "full"


class UserSession(Struct, frozen=True, kw_only=True):
    """A session of a user. It keeps a digest of the cookie's content."""

    secret_digest: bytes
    id: str
    user_id: str
    # The account the user works in now; None while there is none to work in.
    account_id: str | None
    stage: SessionStage
    code_attempts: int
    browser: str
    address_id: str
    created_ms: int
    last_used_ms: int
    ended_ms: int | None = None
    # The identity provider that signed the user in; empty for a password.
    issuer: str = ""


class LinkKind(StrEnum):
    """The purpose of a link."""

    INVITE = "invite"
    RESET = "reset"


class StoredLink(Struct, frozen=True, kw_only=True):
    """A one-time link, kept as a digest of its secret."""

    secret_digest: bytes
    kind: LinkKind
    user_id: str
    account_id: str | None
    created_ms: int
    expires_ms: int
    used_ms: int | None = None
