"""Accounts in SQL."""

from agentgate.accounts.records import Limits, StoredAccount
from agentgate.core.database import Session
from agentgate.core.enums import AccountStatus
from agentgate.core.moment import Moment

_COLUMNS = """id, name, status, protected, limit_sites, limit_credentials, limit_members, limit_tokens, limit_origins,
    created_ms"""


class SqlAccounts:
    """Implements AccountStore."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def add_account(self, account: StoredAccount) -> None:
        """Keep a new account."""
        limits = account.limits
        await self._session.run(
            f"INSERT INTO account ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",  # noqa: S608
            account.id,
            account.name,
            account.status.value,
            int(account.protected),
            limits.sites,
            limits.credentials_per_site,
            limits.members,
            limits.tokens,
            limits.origins_per_site,
            account.created_at,
        )

    async def find_account(self, account_id: str) -> StoredAccount | None:
        """Return an account, or None."""
        row = await self._session.one(f"SELECT {_COLUMNS} FROM account WHERE id = $1", account_id)  # noqa: S608
        if row is None:
            return None
        found_id, name, status, protected, *limits, created_ms = row
        return StoredAccount(
            id=found_id,
            name=name,
            status=AccountStatus(status),
            protected=bool(protected),
            limits=Limits(**dict(zip(Limits.__struct_fields__, limits, strict=True))),
            created_at=Moment(created_ms),
        )
