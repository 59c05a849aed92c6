"""Accounts as operators see them, in SQL: every list is one statement, however long it is."""

from typing import Protocol

from agentgate.lib.cursors import Position
from agentgate.lib.database import Repository, Row, Value
from agentgate.lib.enums import AccountRole, AccountStatus
from agentgate.lib.moment import Moment
from agentgate.lib.names import like_pattern
from agentgate.lib.records import optional, optional_moment
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.people.accounts.records import Limits, member_status
from agentgate.people.accounts.repository import IS_PROTECTED
from agentgate.sites.customers.records import Account, CustomerFilter, CustomerSummary
from agentgate.sites.repository import SiteStores

_COLUMNS = """id, name, status, protected, limit_sites, limit_credentials, limit_members, limit_tokens, limit_origins,
    created_ms"""
# The inner query selects the accounts, so that only these are counted.
_COUNTED = f"""SELECT {_COLUMNS.replace("protected", IS_PROTECTED.format(account="shown"))},
        (SELECT users.email FROM membership JOIN users ON users.id = membership.user_id
            WHERE membership.account_id = shown.id AND membership.role = 'owner'
            ORDER BY membership.joined_ms, users.email LIMIT 1),
        (SELECT count(*) FROM membership WHERE membership.account_id = shown.id)
            + (SELECT count(*) FROM invitation WHERE invitation.account_id = shown.id),
        (SELECT count(*) FROM site WHERE site.account_id = shown.id),
        (SELECT max(users.last_sign_in_ms) FROM membership JOIN users ON users.id = membership.user_id
            WHERE membership.account_id = shown.id)"""  # noqa: S608 - the parts are constants
_LIST = rf"""{_COUNTED}
    FROM (SELECT {_COLUMNS} FROM account
        WHERE {{}} ORDER BY created_ms DESC, id DESC LIMIT $1) AS shown
    ORDER BY created_ms DESC, id DESC"""  # noqa: S608 - likewise
_NAMED = r"""(id LIKE $2 ESCAPE '\' OR name_folded LIKE $2 ESCAPE '\' OR EXISTS (
    SELECT 1 FROM membership JOIN users ON users.id = membership.user_id
    WHERE membership.account_id = account.id AND users.email LIKE $2 ESCAPE '\'))"""
_ONE = f"{_COUNTED} FROM account AS shown WHERE id = $1"
_ACCOUNTS = """SELECT users.id, users.email, users.name, users.status, users.password_hash IS NULL,
        users.mfa_enabled_ms, users.created_ms, users.last_sign_in_ms, membership.role, account.id, account.name,
        membership.joined_ms
    FROM membership
        JOIN users ON users.id = membership.user_id
        JOIN account ON account.id = membership.account_id
    WHERE {} ORDER BY membership.joined_ms DESC, account.id, users.email LIMIT $1"""
_BEHIND = "membership.joined_ms <= $2 AND (membership.joined_ms < $2 OR (account.id, users.email) > ($3, $4))"
_FOUND = r"""(users.id LIKE {0} ESCAPE '\' OR users.email LIKE {0} ESCAPE '\' OR lower(users.name) LIKE {0} ESCAPE '\'
    OR account.name_folded LIKE {0} ESCAPE '\')"""


class CustomerStore(Repository):
    """Accounts with their counts."""

    async def list_customers(self, wanted: CustomerFilter) -> list[CustomerSummary]:
        """Return the accounts that a filter finds, newest first, deleted ones included until they are purged."""
        conditions = ["1 = 1"]
        values: list[Value] = [wanted.limit]
        # Only the conditions of this filter: then an index finds the accounts of a status.
        if wanted.text:
            conditions.append(_NAMED)
            values.append(like_pattern(wanted.text))
        if wanted.status:
            values.append(wanted.status.value)
            conditions.append(f"status = ${len(values)}")
        rows = await self._session.all(_LIST.format(" AND ".join(conditions)), *values)
        return await off_loop(len(rows), lambda: [_summary(row) for row in rows])

    async def find_customer(self, account_id: str) -> CustomerSummary | None:
        """Return one account as a list shows it, or None."""
        row = await self._session.one(_ONE, account_id)
        return _summary(row) if row else None

    async def list_accounts(
        self, *, text: str = "", behind: Position | None, limit: int
    ) -> tuple[list[Account], Position | None]:
        """Return memberships with users and accounts, newest first, and the position of the last if more follow."""
        conditions = [_BEHIND] if behind else ["1 = 1"]
        values: list[Value] = [limit + 1, *(behind or ())]
        if text:
            values.append(like_pattern(text))
            conditions.append(_FOUND.format(f"${len(values)}"))
        rows = await self._session.all(_ACCOUNTS.format(" AND ".join(conditions)), *values)
        shown = rows[:limit]
        more = (shown[-1][-1], shown[-1][9], shown[-1][1]) if len(shown) < len(rows) else None
        return await off_loop(len(shown), lambda: [_account(row) for row in consumed(shown)]), more


def _summary(row: Row) -> CustomerSummary:
    account_id, name, status, protected, *limits, created_ms, owner_email, members, sites, last_sign_in_ms = row
    return CustomerSummary(
        id=account_id,
        name=name,
        status=AccountStatus(status),
        members=members,
        sites=sites,
        limits=Limits(**dict(zip(Limits.__struct_fields__, limits, strict=True))),
        created_at=Moment(created_ms),
        protected=bool(protected),
        owner_email=optional(owner_email),
        last_sign_in_at=optional_moment(last_sign_in_ms),
    )


def _account(row: Row) -> Account:
    user_id, email, name, status, is_invited, mfa_ms, created_ms, last_sign_in_ms, role, account_id, account_name = row[
        :-1
    ]
    return Account(
        user_id=user_id,
        email=email,
        status=member_status(status, has_password=not is_invited),
        mfa_enabled=mfa_ms is not None,
        created_at=Moment(created_ms),
        role=AccountRole(role),
        customer_id=account_id,
        customer_name=account_name,
        name=optional(name),
        last_sign_in_at=optional_moment(last_sign_in_ms),
    )


class CustomerStores(SiteStores, Protocol):
    """The repositories that the operators' view uses."""

    customers: CustomerStore
