"""Users and operators, their sessions, recovery codes and links in SQL. What must happen once is one statement."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.enums import UserStatus
from agentgate.people.audit.repository import AuditStores
from agentgate.people.identity.records import (
    LinkKind,
    OperatorSession,
    StoredLink,
    StoredPasskey,
    StoredUser,
    UserSession,
)
from agentgate.people.outbox.repository import OutboxStores

S = TypeVar("S", UserSession, OperatorSession)

_USERS = RecordTable("users", StoredUser)
_SESSIONS = RecordTable("user_session", UserSession)
_LINKS = RecordTable("link", StoredLink)
_PASSKEYS = RecordTable("passkey", StoredPasskey)
_OPERATOR_SESSIONS = RecordTable("operator_session", OperatorSession)


class UserStore(LockingRepository):
    """People, by ID and by canonical address."""

    async def add_user(self, user: StoredUser) -> bool:
        """Insert a user; False when the address is taken."""
        return await _USERS.add(self._session, user, "ON CONFLICT (email) DO NOTHING") == 1

    async def find_user(self, user_id: str) -> StoredUser | None:
        return await _USERS.find(self._session, "id = $1", user_id)

    async def find_user_by_email(self, email: str) -> StoredUser | None:
        """Return the user of a canonical address, or None."""
        return await _USERS.find(self._session, "email = $1", email)

    async def lock_user(self, user_id: str) -> None:
        """Keep other units of work from changing the user until this one is done."""
        await self._session.lock("user", user_id)

    async def save_password(self, user_id: str, password_hash: str) -> None:
        await _USERS.change(self._session, "id = $1", user_id, password_hash=password_hash)

    async def save_name(self, user_id: str, name: str) -> None:
        await _USERS.change(self._session, "id = $1", user_id, name=name)

    async def save_status(self, user_id: str, status: UserStatus) -> None:
        await _USERS.change(self._session, "id = $1", user_id, status=status.value)

    async def note_sign_in(self, user_id: str, now_ms: int) -> None:
        await _USERS.change(self._session, "id = $1", user_id, last_sign_in_ms=now_ms)

    async def save_pending_mfa(self, user_id: str, sealed_secret: bytes, now_ms: int) -> None:
        """Save the secret of a setup that has begun; replaces an earlier one."""
        is_off = "id = $1 AND mfa_secret IS NULL"
        await _USERS.change(self._session, is_off, user_id, mfa_pending_secret=sealed_secret, mfa_pending_ms=now_ms)

    async def enable_mfa(self, user_id: str, *, step: int, now_ms: int) -> bool:
        """Make the pending secret the real one, its first code used; False when none is pending or it is on already."""
        enabled = await self._session.run(
            """UPDATE users SET mfa_secret = mfa_pending_secret, mfa_enabled_ms = COALESCE(mfa_enabled_ms, $3),
                    mfa_last_step = $2, mfa_pending_secret = NULL, mfa_pending_ms = NULL
                WHERE id = $1 AND mfa_pending_secret IS NOT NULL AND mfa_secret IS NULL""",
            user_id,
            step,
            now_ms,
        )
        return enabled == 1

    async def disable_mfa(self, user_id: str) -> bool:
        """Delete the secret, passkeys and recovery codes; False when two-factor authentication is not on."""
        disabled = await self._session.run(
            """UPDATE users SET mfa_secret = NULL, mfa_enabled_ms = NULL, mfa_last_step = 0,
                    mfa_pending_secret = NULL, mfa_pending_ms = NULL
                WHERE id = $1 AND mfa_enabled_ms IS NOT NULL""",
            user_id,
        )
        if disabled == 1:
            await self._session.run("DELETE FROM recovery_code WHERE user_id = $1", user_id)
            await _PASSKEYS.delete(self._session, "user_id = $1", user_id)
        return disabled == 1

    async def add_passkey(self, passkey: StoredPasskey) -> bool:
        """Add a passkey and turn two-factor authentication on; False when a user has the credential already."""
        if not await _PASSKEYS.add(self._session, passkey, "ON CONFLICT DO NOTHING"):
            return False
        is_off = "id = $1 AND mfa_enabled_ms IS NULL"
        await _USERS.change(self._session, is_off, passkey.user_id, mfa_enabled_ms=passkey.created_ms)
        return True

    async def list_passkeys(self, user_id: str) -> list[StoredPasskey]:
        """Return the user's passkeys, oldest first."""
        return await _PASSKEYS.find_all(self._session, "user_id = $1 ORDER BY created_ms, id", user_id)

    async def note_passkey_use(self, passkey_id: str, sign_count: int, now_ms: int) -> None:
        await _PASSKEYS.change(self._session, "id = $1", passkey_id, sign_count=sign_count, last_used_ms=now_ms)

    async def delete_passkey(self, passkey_id: str) -> None:
        await _PASSKEYS.delete(self._session, "id = $1", passkey_id)

    async def spend_step(self, user_id: str, step: int) -> bool:
        """Use up a time step; False when it or a later one was used before."""
        is_newer = "id = $1 AND mfa_enabled_ms IS NOT NULL AND mfa_last_step < $2"
        return await _USERS.change(self._session, is_newer, user_id, step, mfa_last_step=step) == 1

    async def replace_recovery_codes(self, user_id: str, digests: Sequence[bytes]) -> None:
        """Save new recovery codes, replacing all earlier ones."""
        await self._session.run("DELETE FROM recovery_code WHERE user_id = $1", user_id)
        await self._session.run_many(
            "INSERT INTO recovery_code (user_id, code_digest) VALUES ($1, $2)", [(user_id, found) for found in digests]
        )

    async def spend_recovery_code(self, user_id: str, digest: bytes, now_ms: int) -> bool:
        """Use up a recovery code; False when it is unknown or used."""
        spend = "UPDATE recovery_code SET used_ms = $3 WHERE user_id = $1 AND code_digest = $2 AND used_ms IS NULL"
        return await self._session.run(spend, user_id, digest, now_ms) == 1

    async def count_recovery_codes(self, user_id: str) -> int:
        """Return how many recovery codes are left."""
        row = await self._session.one(
            "SELECT count(*) FROM recovery_code WHERE user_id = $1 AND used_ms IS NULL", user_id
        )
        return int(row[0]) if row else 0


class SessionStore(LockingRepository, Generic[S]):
    """Sessions of users or of operators."""

    _table: RecordTable[S]

    async def add_session(self, session: S) -> None:
        await self._table.add(self._session, session)

    async def find_session(self, secret_digest: bytes) -> S | None:
        """Return the session, ended or not; None when there never was one or it was swept."""
        return await self._table.find(self._session, "secret_digest = $1", secret_digest)

    async def touch_session(self, secret_digest: bytes, last_used_ms: int) -> None:
        earlier = "secret_digest = $1 AND last_used_ms < $2"
        await self._table.change(self._session, earlier, secret_digest, last_used_ms, last_used_ms=last_used_ms)

    async def end_session(self, secret_digest: bytes, ended_ms: int) -> bool:
        """End a session; False when it had ended."""
        is_live = "secret_digest = $1 AND ended_ms IS NULL"
        return await self._table.change(self._session, is_live, secret_digest, ended_ms=ended_ms) == 1

    async def sweep_sessions(self, created_before_ms: int, *, most: int) -> int:
        """Delete some sessions made before a moment; return how many."""
        return await self._table.delete_some(
            self._session, "created_ms < $1", created_before_ms, most=most, key="secret_digest"
        )


class UserSessionStore(SessionStore[UserSession]):
    _table = _SESSIONS

    async def list_sessions(self, user_id: str) -> list[UserSession]:
        """Return the sessions that have not been ended, newest first, expired ones included."""
        not_ended = "user_id = $1 AND ended_ms IS NULL ORDER BY created_ms DESC, id"
        return await _SESSIONS.find_all(self._session, not_ended, user_id)

    async def count_code_attempt(self, secret_digest: bytes, most: int) -> bool:
        """Use up one attempt at a code; False when all are used up."""
        counted = await self._session.run(
            """UPDATE user_session SET code_attempts = code_attempts + 1
                WHERE secret_digest = $1 AND code_attempts < $2 AND ended_ms IS NULL""",
            secret_digest,
            most,
        )
        return counted == 1

    async def save_challenge(self, secret_digest: bytes, challenge: bytes, now_ms: int) -> None:
        """Save the challenge that a passkey has to sign for this session; replaces an earlier one."""
        await _SESSIONS.change(
            self._session, "secret_digest = $1", secret_digest, challenge=challenge, challenge_ms=now_ms
        )

    async def spend_challenge(self, secret_digest: bytes, challenge: bytes, since_ms: int) -> bool:
        """Use up the session's challenge; False when it is another one or older."""
        is_live = "secret_digest = $1 AND challenge = $2 AND challenge_ms > $3 AND ended_ms IS NULL"
        spent = await _SESSIONS.change(self._session, is_live, secret_digest, challenge, since_ms, challenge=None)
        return spent == 1

    async def save_account(self, secret_digest: bytes, account_id: str | None) -> None:
        """Set the account that the session works in."""
        await _SESSIONS.change(self._session, "secret_digest = $1", secret_digest, account_id=account_id)

    async def end_sessions(self, user_id: str, ended_ms: int, *, but: bytes | None = None) -> None:
        others = "user_id = $1 AND ended_ms IS NULL AND secret_digest <> $2"
        # No session has an empty digest.
        await _SESSIONS.change(self._session, others, user_id, but or b"", ended_ms=ended_ms)

    async def end_sessions_in(self, account_id: str, user_id: str, ended_ms: int) -> None:
        """End the user's sessions whose active account is this one."""
        in_account = "user_id = $1 AND account_id = $2 AND ended_ms IS NULL"
        await _SESSIONS.change(self._session, in_account, user_id, account_id, ended_ms=ended_ms)

    async def move_sessions(self, user_id: str, from_account: str, to_account: str | None) -> None:
        """Let the user's sessions that work in one account work in another."""
        in_account = "user_id = $1 AND account_id = $2 AND ended_ms IS NULL"
        await _SESSIONS.change(self._session, in_account, user_id, from_account, account_id=to_account)


class LinkStore(LockingRepository):
    async def add_link(self, link: StoredLink) -> None:
        await _LINKS.add(self._session, link)

    async def find_link(self, secret_digest: bytes) -> StoredLink | None:
        """Return a link, used and expired ones included; None when there is none."""
        return await _LINKS.find(self._session, "secret_digest = $1", secret_digest)

    async def spend_link(self, secret_digest: bytes, now_ms: int) -> bool:
        """Use the link up; False when it is unknown, used or expired."""
        is_live = "secret_digest = $1 AND used_ms IS NULL AND expires_ms > $2"
        return await _LINKS.change(self._session, is_live, secret_digest, now_ms, used_ms=now_ms) == 1

    async def end_links(
        self, user_id: str, kind: LinkKind, now_ms: int, *, account_id: str | None = None
    ) -> list[bytes]:
        """Make the user's unused links of a kind useless, with an account those for it only; return their digests."""
        statement = "UPDATE link SET used_ms = $3 WHERE user_id = $1 AND kind = $2 AND used_ms IS NULL"
        if account_id is None:
            rows = await self._session.all(f"{statement} RETURNING secret_digest", user_id, kind.value, now_ms)
        else:
            narrowed = f"{statement} AND account_id = $4 RETURNING secret_digest"
            rows = await self._session.all(narrowed, user_id, kind.value, now_ms, account_id)
        return [row[0] for row in rows]

    async def sweep_links(self, expired_before_ms: int, *, most: int) -> int:
        """Delete some links that expired before a moment; return how many."""
        return await _LINKS.delete_some(
            self._session, "expires_ms < $1", expired_before_ms, most=most, key="secret_digest"
        )


class OperatorSessionStore(SessionStore[OperatorSession]):
    _table = _OPERATOR_SESSIONS

    async def list_sessions(self, created_after_ms: int) -> list[OperatorSession]:
        """Return the sessions made after a moment that were not ended, newest first."""
        not_ended = "created_ms > $1 AND ended_ms IS NULL ORDER BY created_ms DESC, id"
        return await _OPERATOR_SESSIONS.find_all(self._session, not_ended, created_after_ms)


class OidcIdentityStore(LockingRepository):
    """Users as identity providers know them: an issuer's address and its subject."""

    async def find_user_id(self, issuer: str, subject: str) -> str | None:
        row = await self._session.one(
            "SELECT user_id FROM oidc_identity WHERE issuer = $1 AND subject = $2", issuer, subject
        )
        return row[0] if row else None

    async def add_identity(self, issuer: str, subject: str, user_id: str, now_ms: int) -> bool:
        """Bind a subject to a user; False when either is bound already."""
        added = await self._session.run(
            """INSERT INTO oidc_identity (issuer, subject, user_id, created_ms) VALUES ($1, $2, $3, $4)
                ON CONFLICT DO NOTHING""",
            issuer,
            subject,
            user_id,
            now_ms,
        )
        return added == 1

    async def delete_identities(self, user_id: str) -> None:
        await self._session.run("DELETE FROM oidc_identity WHERE user_id = $1", user_id)


class IdentityStores(AuditStores, OutboxStores, Protocol):
    """The repositories that a unit of work on users, operators or links uses."""

    users: UserStore
    user_sessions: UserSessionStore
    links: LinkStore
    operator_sessions: OperatorSessionStore
    oidc_identities: OidcIdentityStore
