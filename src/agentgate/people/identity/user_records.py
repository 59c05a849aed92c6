"""Users, their sessions and their links, as the store keeps them."""

from enum import StrEnum

from msgspec import Struct

from agentgate.lib.enums import UserStatus


class StoredUser(Struct, frozen=True, kw_only=True):
    """A person. Without a password hash the invitation has not been accepted yet. Two-factor secrets are sealed."""

    id: str
    email: str
    name: str | None
    status: UserStatus
    password_hash: str | None
    mfa_secret: bytes | None
    mfa_enabled_ms: int | None
    mfa_pending_secret: bytes | None
    mfa_pending_ms: int | None
    # The newest time step whose code was used: an older or equal one is refused.
    mfa_last_step: int
    created_ms: int
    last_sign_in_ms: int | None

    @property
    def has_mfa(self) -> bool:
        """Say whether signing in needs a code."""
        return self.mfa_enabled_ms is not None


class SessionStage(StrEnum):
    """How far a sign-in has come."""

    # The password was right and a code is still needed.
    PASSWORD = "password"  # noqa: S105 - a stage, not a secret
    FULL = "full"


class UserSession(Struct, frozen=True, kw_only=True):
    """A session of a user. What the cookie carries is kept as a digest."""

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


class LinkKind(StrEnum):
    """What a link is for."""

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
