"""Invitations in SQL. An invitation is a row until it is accepted or removed; it names an address and no user."""

from agentgate.lib.database import RecordTable, Repository
from agentgate.lib.enums import AccountRole, AccountStatus
from agentgate.people.accounts.records import StoredInvitation

_INVITATIONS = RecordTable("invitation", StoredInvitation)
# Bounds what strangers can put on one person's page.
OPEN_FOR_ONE = 20


class InvitationStore(Repository):
    """Invitations that were not accepted yet. Lock the account before you change them."""

    async def add_invitation(self, invitation: StoredInvitation) -> None:
        await _INVITATIONS.add(self._session, invitation)

    async def find_invitation(self, account_id: str, invitation_id: str) -> StoredInvitation | None:
        """Return an invitation of the account, expired or not; None when the account has none of this ID."""
        return await _INVITATIONS.find(self._session, "account_id = $1 AND id = $2", account_id, invitation_id)

    async def find_by_email(self, account_id: str, email: str) -> StoredInvitation | None:
        """Return the account's invitation of a canonical address, expired or not; None when there is none."""
        return await _INVITATIONS.find(self._session, "account_id = $1 AND email = $2", account_id, email)

    async def find_by_secret(self, secret_digest: bytes, now_ms: int) -> StoredInvitation | None:
        """Return the invitation of a link that has not expired; None when there is none."""
        return await _INVITATIONS.find(self._session, "secret_digest = $1 AND expires_ms > $2", secret_digest, now_ms)

    async def find_open(self, email: str, invitation_id: str, now_ms: int) -> StoredInvitation | None:
        """Return an invitation of a canonical address that has not expired; None when there is none of this ID."""
        wanted = "email = $1 AND id = $2 AND expires_ms > $3"
        return await _INVITATIONS.find(self._session, wanted, email, invitation_id, now_ms)

    async def list_open(self, email: str, now_ms: int) -> list[tuple[StoredInvitation, str]]:
        """Return the newest invitations of a canonical address that have not expired, with the account's name."""
        rows = await self._session.all(
            f"""SELECT account.name, {_INVITATIONS.qualified}
                FROM invitation JOIN account ON account.id = invitation.account_id
                WHERE invitation.email = $1 AND invitation.expires_ms > $2 AND account.status <> $3
                ORDER BY invitation.created_ms DESC, invitation.id LIMIT {OPEN_FOR_ONE}""",  # noqa: S608
            email,
            now_ms,
            AccountStatus.DELETED.value,
        )
        return [(_INVITATIONS.read(row[1:]), row[0]) for row in rows]

    async def list_of_account(self, account_id: str) -> list[StoredInvitation]:
        """Return the account's invitations, oldest first, expired ones included."""
        return await _INVITATIONS.find_all(self._session, "account_id = $1 ORDER BY created_ms, id", account_id)

    async def save_role(self, invitation_id: str, role: AccountRole) -> None:
        await _INVITATIONS.change(self._session, "id = $1", invitation_id, role=role.value)

    async def save_link(self, invitation_id: str, secret_digest: bytes, expires_ms: int) -> None:
        """Give the invitation another link; the earlier one ends."""
        await _INVITATIONS.change(
            self._session, "id = $1", invitation_id, secret_digest=secret_digest, expires_ms=expires_ms
        )

    async def delete_invitation(self, invitation_id: str) -> bool:
        """Delete an invitation; False when it is gone already."""
        return await _INVITATIONS.delete(self._session, "id = $1", invitation_id) == 1
