"""What identity asks of the durable store for users. Whatever must happen once is one conditional statement."""

from collections.abc import Sequence
from typing import Protocol

from agentgate.lib.enums import UserStatus
from agentgate.people.audit.ports import AuditStores
from agentgate.people.identity.user_records import LinkKind, StoredLink, StoredUser, UserSession


class UserStore(Protocol):
    """People, by ID and by canonical address."""

    async def add_user(self, user: StoredUser) -> bool:
        """Keep a new user; False when the address is taken."""
        ...

    async def find_user(self, user_id: str) -> StoredUser | None:
        """Return a user, or None."""
        ...

    async def find_user_by_email(self, email: str) -> StoredUser | None:
        """Return the user of a canonical address, or None."""
        ...

    async def lock_user(self, user_id: str) -> None:
        """Keep other units of work from changing the user until this one is done."""
        ...

    async def save_password(self, user_id: str, password_hash: str) -> None:
        """Set the password."""
        ...

    async def save_name(self, user_id: str, name: str) -> None:
        """Set the name."""
        ...

    async def save_status(self, user_id: str, status: UserStatus) -> None:
        """Suspend or reactivate."""
        ...

    async def note_sign_in(self, user_id: str, now_ms: int) -> None:
        """Note that the user signed in."""
        ...

    async def save_pending_mfa(self, user_id: str, sealed_secret: bytes, now_ms: int) -> None:
        """Keep the secret of a setup that has begun; replaces an earlier one."""
        ...

    async def enable_mfa(self, user_id: str, *, step: int, now_ms: int) -> bool:
        """Make the pending secret the real one, its first code used; False when none is pending or it is on already."""
        ...

    async def disable_mfa(self, user_id: str) -> bool:
        """Forget the secret and all recovery codes; False when two-factor authentication is not on."""
        ...

    async def spend_step(self, user_id: str, step: int) -> bool:
        """Use up a time step; False when it or a later one was used before."""
        ...

    async def replace_recovery_codes(self, user_id: str, digests: Sequence[bytes]) -> None:
        """Keep new recovery codes in place of all earlier ones."""
        ...

    async def spend_recovery_code(self, user_id: str, digest: bytes, now_ms: int) -> bool:
        """Use up a recovery code; False when it is unknown or used."""
        ...

    async def count_recovery_codes(self, user_id: str) -> int:
        """Return how many recovery codes are left."""
        ...


class UserSessionStore(Protocol):
    """Sessions of users."""

    async def add_session(self, session: UserSession) -> None:
        """Keep a new session."""
        ...

    async def find_session(self, secret_digest: bytes) -> UserSession | None:
        """Return the session, ended or not; None when there never was one or it was swept."""
        ...

    async def list_sessions(self, user_id: str) -> list[UserSession]:
        """Return the sessions that have not been ended, newest first, expired ones included."""
        ...

    async def touch_session(self, secret_digest: bytes, last_used_ms: int) -> None:
        """Note that the session was used."""
        ...

    async def count_code_attempt(self, secret_digest: bytes, most: int) -> bool:
        """Use up one attempt at a code; False when all are used up."""
        ...

    async def save_account(self, secret_digest: bytes, account_id: str | None) -> None:
        """Set the account that the session works in."""
        ...

    async def end_session(self, secret_digest: bytes, ended_ms: int) -> bool:
        """End a session; False when it had ended."""
        ...

    async def end_sessions(self, user_id: str, ended_ms: int, *, but: bytes | None = None) -> None:
        """End all sessions of a user, but one if given."""
        ...

    async def move_sessions(self, user_id: str, from_account: str, to_account: str | None) -> None:
        """Let the user's sessions that work in one account work in another."""
        ...

    async def sweep_sessions(self, created_before_ms: int) -> None:
        """Forget sessions made before a moment."""
        ...


class LinkStore(Protocol):
    """One-time links."""

    async def add_link(self, link: StoredLink) -> None:
        """Keep a new link."""
        ...

    async def find_link(self, secret_digest: bytes) -> StoredLink | None:
        """Return a link, used and expired ones included; None when there is none."""
        ...

    async def spend_link(self, secret_digest: bytes, now_ms: int) -> bool:
        """Use the link up; False when it is unknown, used or expired."""
        ...

    async def end_links(
        self, user_id: str, kind: LinkKind, now_ms: int, *, account_id: str | None = None
    ) -> list[bytes]:
        """Make the user's unused links of a kind useless, with an account those for it only; return their digests."""
        ...

    async def sweep_links(self, expired_before_ms: int) -> None:
        """Forget links that expired before a moment."""
        ...


class UserStores(AuditStores, Protocol):
    """The ports that a unit of work on users needs."""

    @property
    def users(self) -> UserStore: ...

    @property
    def user_sessions(self) -> UserSessionStore: ...

    @property
    def links(self) -> LinkStore: ...
