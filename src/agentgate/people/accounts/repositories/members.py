"""Memberships in SQL, each with what a list of members shows of the user."""

from agentgate.lib.database import Repository, Row
from agentgate.lib.enums import AccountRole, AccountStatus
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import StoredAccount, StoredMembership, member_status
from agentgate.people.accounts.repositories.accounts import ACCOUNT_COLUMNS, read_account

# What `read_membership` reads, in its order.
MEMBERSHIP_COLUMNS = """membership.account_id, membership.user_id, membership.role, membership.joined_ms, users.email,
    users.name, users.status, CASE WHEN users.password_hash IS NULL THEN 0 ELSE 1 END,
    CASE WHEN users.mfa_enabled_ms IS NULL THEN 0 ELSE 1 END, users.last_sign_in_ms"""
_MEMBERSHIP_WIDTH = 10
_FROM_MEMBERSHIP = f"""SELECT {MEMBERSHIP_COLUMNS}
    FROM membership JOIN users ON users.id = membership.user_id"""  # noqa: S608 - the parts are constants


class MemberStore(Repository):
    """Who belongs to which account."""

    async def add_membership(self, account_id: str, user_id: str, role: AccountRole, joined_ms: int) -> bool:
        """Add a member; False when the user is one already."""
        added = await self._session.run(
            """INSERT INTO membership (account_id, user_id, role, joined_ms) VALUES ($1, $2, $3, $4)
                ON CONFLICT (account_id, user_id) DO NOTHING""",
            account_id,
            user_id,
            role.value,
            joined_ms,
        )
        return added == 1

    async def find_membership(self, account_id: str, user_id: str) -> StoredMembership | None:
        """Return a user's place in an account, or None."""
        row = await self._session.one(
            f"{_FROM_MEMBERSHIP} WHERE membership.account_id = $1 AND membership.user_id = $2", account_id, user_id
        )
        return read_membership(row) if row else None

    async def list_members(self, account_id: str) -> list[StoredMembership]:
        """Return the members, longest-standing first."""
        rows = await self._session.all(
            f"{_FROM_MEMBERSHIP} WHERE membership.account_id = $1 ORDER BY membership.joined_ms, membership.user_id",
            account_id,
        )
        return [read_membership(row) for row in rows]

    async def list_memberships(self, user_id: str) -> list[tuple[StoredMembership, StoredAccount]]:
        """Return the user's accounts that are not deleted, longest-standing first."""
        rows = await self._session.all(
            f"""SELECT {MEMBERSHIP_COLUMNS}, {ACCOUNT_COLUMNS}
                FROM membership JOIN users ON users.id = membership.user_id
                    JOIN account ON account.id = membership.account_id
                WHERE membership.user_id = $1 AND account.status <> $2
                ORDER BY membership.joined_ms, membership.account_id""",  # noqa: S608
            user_id,
            AccountStatus.DELETED.value,
        )
        return [(read_membership(row[:_MEMBERSHIP_WIDTH]), read_account(row[_MEMBERSHIP_WIDTH:])) for row in rows]

    async def save_role(self, account_id: str, user_id: str, role: AccountRole) -> None:
        """Change a member's role."""
        await self._session.run(
            "UPDATE membership SET role = $3 WHERE account_id = $1 AND user_id = $2", account_id, user_id, role.value
        )

    async def remove_membership(self, account_id: str, user_id: str) -> None:
        """Remove a member."""
        await self._session.run("DELETE FROM membership WHERE account_id = $1 AND user_id = $2", account_id, user_id)

    async def count_owners(self, account_id: str) -> int:
        """Return how many owners the account has."""
        row = await self._session.one(
            "SELECT count(*) FROM membership WHERE account_id = $1 AND role = $2", account_id, AccountRole.OWNER.value
        )
        return int(row[0]) if row else 0

    async def count_owned_accounts(self, user_id: str) -> int:
        """Return how many accounts that are not deleted the user owns."""
        row = await self._session.one(
            """SELECT count(*) FROM membership JOIN account ON account.id = membership.account_id
                WHERE membership.user_id = $1 AND membership.role = $2 AND account.status <> $3""",
            user_id,
            AccountRole.OWNER.value,
            AccountStatus.DELETED.value,
        )
        return int(row[0]) if row else 0


def read_membership(row: Row) -> StoredMembership:
    """Return the membership that a row of MEMBERSHIP_COLUMNS holds."""
    account_id, user_id, role, joined_ms, email, name, status, has_password, has_mfa, last_sign_in_ms = row
    return StoredMembership(
        account_id=account_id,
        user_id=user_id,
        role=AccountRole(role),
        joined_at=Moment(joined_ms),
        email=email,
        name=name,
        status=member_status(status, has_password=bool(has_password)),
        mfa_enabled=bool(has_mfa),
        last_sign_in_ms=last_sign_in_ms,
    )
