"""Accounts in SQL. Who belongs to them is in `members.py`, how they are purged in `purge.py`."""

from agentgate.lib.database import LockingRepository, Row, Value
from agentgate.lib.enums import AccountStatus, Mode
from agentgate.lib.moment import Moment
from agentgate.lib.names import folded
from agentgate.people.accounts.records import Limits, StoredAccount, Usage
from agentgate.people.accounts.repositories import purge

# The service's own account: the one that has the service's own site, whenever that was made.
IS_PROTECTED = """(CASE WHEN {account}.protected = 1 OR EXISTS (SELECT 1 FROM service_site
        JOIN site ON site.site_key = service_site.site_key WHERE site.account_id = {account}.id) THEN 1 ELSE 0 END)"""
# What `read_account` reads, in its order.
ACCOUNT_COLUMNS = f"""account.id, account.name, account.status, {IS_PROTECTED.format(account="account")},
    account.limit_sites, account.limit_credentials, account.limit_members, account.limit_tokens, account.limit_origins,
    account.created_ms, account.require_mfa, account.suspended_reason, account.deleted_ms"""


class AccountStore(LockingRepository):
    """Customer accounts."""

    async def add_account(self, account: StoredAccount) -> None:
        """Keep a new account."""
        await self._session.run(
            """INSERT INTO account (id, name, name_folded, status, limit_sites, limit_credentials, limit_members,
                    limit_tokens, limit_origins, require_mfa, suspended_reason, deleted_ms, protected, created_ms)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)""",
            *_changeable(account),
            int(account.protected),
            account.created_at,
        )

    async def find_account(self, account_id: str) -> StoredAccount | None:
        """Return an account, deleted ones included until they are purged; None when there is none."""
        row = await self._session.one(f"SELECT {ACCOUNT_COLUMNS} FROM account WHERE id = $1", account_id)  # noqa: S608
        return read_account(row) if row else None

    async def lock_account(self, account_id: str) -> None:
        """Keep other units of work from changing the account, its members, sites or tokens until this one is done."""
        await self._session.lock("account", account_id)

    async def save_account(self, account: StoredAccount) -> None:
        """Keep a changed name, status, limits, requireMfa, suspended reason and time of deletion."""
        await self._session.run(
            """UPDATE account SET name = $2, name_folded = $3, status = $4, limit_sites = $5, limit_credentials = $6,
                    limit_members = $7, limit_tokens = $8, limit_origins = $9, require_mfa = $10,
                    suspended_reason = $11, deleted_ms = $12
                WHERE id = $1""",
            *_changeable(account),
        )

    async def read_usage(self, account_id: str, now_ms: int) -> Usage:
        """Count the account's sites, members and live tokens."""
        row = await self._session.one(
            """SELECT (SELECT count(*) FROM site WHERE account_id = $1),
                    (SELECT count(*) FROM membership WHERE account_id = $1),
                    (SELECT count(*) FROM api_token WHERE account_id = $1 AND revoked_ms IS NULL
                        AND (expires_ms IS NULL OR expires_ms > $2))""",
            account_id,
            now_ms,
        )
        assert row is not None  # a SELECT of counts alone has one row
        sites, members, tokens = row
        return Usage(sites=sites, members=members, tokens=tokens)

    async def has_enforcing_site(self, account_id: str) -> bool:
        """Say whether one of the account's sites is in `enforce` mode."""
        row = await self._session.one(
            "SELECT 1 FROM site WHERE account_id = $1 AND mode = $2", account_id, Mode.ENFORCE.value
        )
        return row is not None

    async def revoke_everything(self, account_id: str, now_ms: int) -> None:
        """Revoke the account's live backend credentials and API tokens."""
        sites = await self._session.all("SELECT id FROM site WHERE account_id = $1 ORDER BY id", account_id)
        for (site_id,) in sites:
            # A rotation that is under way would leave a new secret behind, unseen by the statement below.
            await self._session.lock("credentials", site_id)
        await self._session.run(
            """UPDATE credential SET revoked_ms = $2
                WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)
                    AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > $2)""",
            account_id,
            now_ms,
        )
        await self._session.run(
            """UPDATE api_token SET revoked_ms = $2
                WHERE account_id = $1 AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > $2)""",
            account_id,
            now_ms,
        )

    async def list_purgeable(self, deleted_before_ms: int) -> list[str]:
        """Return the accounts that were deleted before a moment, longest deleted first."""
        rows = await self._session.all(
            "SELECT id FROM account WHERE status = $1 AND deleted_ms < $2 ORDER BY deleted_ms, id",
            AccountStatus.DELETED.value,
            deleted_before_ms,
        )
        return [account_id for (account_id,) in rows]

    async def purge_trail(self, account_id: str, deleted_before_ms: int, *, most: int) -> int:
        """Remove some audit entries of an account that is to be purged; return how many went."""
        await self.lock_account(account_id)
        if not await self._is_purgeable(account_id, deleted_before_ms):
            return 0
        return await purge.purge_trail(self._session, account_id, most)

    async def purge_account(self, account_id: str, deleted_before_ms: int) -> bool:
        """Remove every row of the account: sites and all that hangs on them, members, tokens, audit entries, messages.

        Users who belong to no other account go too. Nothing happens to an account that was not deleted by then.
        """
        await self.lock_account(account_id)
        if not await self._is_purgeable(account_id, deleted_before_ms):
            return False
        await purge.purge(self._session, account_id)
        return True

    async def _is_purgeable(self, account_id: str, deleted_before_ms: int) -> bool:
        row = await self._session.one(
            "SELECT 1 FROM account WHERE id = $1 AND status = $2 AND deleted_ms < $3",
            account_id,
            AccountStatus.DELETED.value,
            deleted_before_ms,
        )
        return row is not None


def read_account(row: Row) -> StoredAccount:
    """Return the account that a row of ACCOUNT_COLUMNS holds."""
    account_id, name, status, protected, *limits, created_ms, require_mfa, suspended_reason, deleted_ms = row
    return StoredAccount(
        id=account_id,
        name=name,
        status=AccountStatus(status),
        protected=bool(protected),
        limits=Limits(**dict(zip(Limits.__struct_fields__, limits, strict=True))),
        created_at=Moment(created_ms),
        require_mfa=bool(require_mfa),
        suspended_reason=suspended_reason,
        deleted_ms=deleted_ms,
    )


def _changeable(account: StoredAccount) -> tuple[Value, ...]:
    limits = account.limits
    return (
        account.id,
        account.name,
        folded(account.name),
        account.status.value,
        limits.sites,
        limits.credentials_per_site,
        limits.members,
        limits.tokens,
        limits.origins_per_site,
        int(account.require_mfa),
        account.suspended_reason,
        account.deleted_ms,
    )
