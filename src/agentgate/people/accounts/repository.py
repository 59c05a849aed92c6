"""Accounts, members, API tokens and access requests in SQL, and permanent deletion in dependency order.

A table that is added later and references accounts, sites or users needs a line in `_purge`; a test checks every table.
"""

from collections.abc import Collection
from typing import Any, Protocol

from agentgate.lib.database import LockingRepository, RecordTable, Repository, Row, Transaction
from agentgate.lib.enums import AccessRequestStatus, AccountRole, AccountStatus, Mode
from agentgate.lib.names import folded
from agentgate.people.accounts.invitation_repository import InvitationStore
from agentgate.people.accounts.records import (
    AccessRequest,
    ApiToken,
    Limits,
    Member,
    Membership,
    StoredAccount,
    Usage,
)
from agentgate.people.identity.repository import IdentityStores
from agentgate.people.installation.configuration_version import ConfigurationStores

# Members who belong to no other account.
_LEAVING = """SELECT users.id, users.email FROM membership JOIN users ON users.id = membership.user_id
    WHERE membership.account_id = $1 AND NOT EXISTS (SELECT 1 FROM membership elsewhere
        WHERE elsewhere.user_id = membership.user_id AND elsewhere.account_id <> $1)
    ORDER BY users.id"""

# An entry about a moved site stays when it is in another account's trail: it is that account's history.
_TRAIL = """account_id = $1
    OR (account_id IS NULL AND site_id IN (SELECT id FROM site WHERE site.account_id = $1))"""

_OF_ITS_SITES = "site_id IN (SELECT id FROM site WHERE account_id = $1)"
# Of an account that is purged, some rows of its longest tables.
_PURGED_IN_UNITS = tuple(
    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {condition} LIMIT $2)"  # noqa: S608 - our own names
    for table, key, condition in (
        ("audit_entry", "id", _TRAIL),
        ("decision_label", "site_id, decision", _OF_ITS_SITES),
        ("rule_revision", "site_id, revision", _OF_ITS_SITES),
        ("appeal", "id", _OF_ITS_SITES),
        ("suggestion", "id", _OF_ITS_SITES),
        ("webhook_delivery", "id", _OF_ITS_SITES),
    )
)

_OF_SITES = (
    *("site_rules", "rule_revision", "site_list_entry", "credential", "decision_label", "feature_capture"),
    *("network_list", "appeal", "suggestion", "site_notice", "webhook_delivery", "webhook"),
)

# Of members who stay, only what ties them to the account goes.
_OF_ACCOUNT = (
    """DELETE FROM outbox_message
        WHERE link_digest IN (SELECT secret_digest FROM link WHERE account_id = $1)""",
    """DELETE FROM outbox_message
        WHERE link_digest IN (SELECT secret_digest FROM invitation WHERE account_id = $1)""",
    "DELETE FROM link WHERE account_id = $1",
    "DELETE FROM invitation WHERE account_id = $1",
    "UPDATE user_session SET account_id = NULL WHERE account_id = $1",
    "DELETE FROM api_token WHERE account_id = $1",
    "DELETE FROM fleet_credential WHERE account_id = $1",
    "DELETE FROM membership WHERE account_id = $1",
    # Addresses that the account chose for a site which has moved away since.
    "DELETE FROM webhook_delivery WHERE webhook_id IN (SELECT id FROM webhook WHERE account_id = $1)",
    "DELETE FROM webhook WHERE account_id = $1",
)

# Messages and entries know a person by the address too.
_OF_NAME = (
    "DELETE FROM outbox_message WHERE recipient = $1",
    "DELETE FROM audit_entry WHERE account_id IS NULL AND site_id IS NULL AND target = $1",
    "DELETE FROM audit_entry WHERE account_id IS NULL AND site_id IS NULL AND actor = $1",
)

_OF_USER = (
    "DELETE FROM recovery_code WHERE user_id = $1",
    "DELETE FROM passkey WHERE user_id = $1",
    "DELETE FROM user_session WHERE user_id = $1",
    "DELETE FROM link WHERE user_id = $1",
    "DELETE FROM oidc_identity WHERE user_id = $1",
    "DELETE FROM users WHERE id = $1",
)


async def _purge(session: Transaction, account_id: str) -> None:
    """Remove everything of an account, in one unit of work: no reader ever sees a part of it."""
    leaving = await session.all(_LEAVING, account_id)
    await session.run(f"DELETE FROM audit_entry WHERE {_TRAIL}", account_id)  # noqa: S608
    for table in _OF_SITES:
        await session.run(
            f"DELETE FROM {table} WHERE {_OF_ITS_SITES}",  # noqa: S608 - likewise
            account_id,
        )
    # The rows themselves are kept: a worker counts them.
    await session.run(
        """UPDATE configuration_change SET target = ''
            WHERE target = $1 OR target IN (SELECT id FROM site WHERE account_id = $1)""",
        account_id,
    )
    await _remember_numbers(session)
    await session.run("DELETE FROM site WHERE account_id = $1", account_id)
    for sql in _OF_ACCOUNT:
        await session.run(sql, account_id)
    for sql in _OF_NAME:
        await session.run_many(sql, [(name,) for user in leaving for name in user])
    for sql in _OF_USER:
        await session.run_many(sql, [(user_id,) for user_id, _ in leaving])
    await session.run("DELETE FROM account WHERE id = $1", account_id)


async def _remember_numbers(session: Transaction) -> None:
    """Keep the highest number of a site, so that no later site gets it."""
    await session.lock("site-number")
    await session.run(
        """UPDATE site_number SET last = (SELECT max(number) FROM site)
            WHERE last < (SELECT max(number) FROM site)"""
    )


# The service's own account: the one that has the service's own site, whenever that was made.
IS_PROTECTED = """(CASE WHEN {account}.protected = 1 OR EXISTS (SELECT 1 FROM service_site
        JOIN site ON site.site_key = service_site.site_key WHERE site.account_id = {account}.id) THEN 1 ELSE 0 END)"""
_ACCOUNTS = RecordTable("account", StoredAccount, absent=("protected", "limits"))
_LIMITS = RecordTable(
    "account",
    Limits,
    named={
        "sites": "limit_sites",
        "credentials_per_site": "limit_credentials",
        "members": "limit_members",
        "tokens": "limit_tokens",
        "origins_per_site": "limit_origins",
    },
)
# What `_read_account` reads, in its order.
_ACCOUNT_COLUMNS = f"{IS_PROTECTED.format(account='account')}, {_LIMITS.qualified}, {_ACCOUNTS.qualified}"


class AccountStore(LockingRepository):
    async def add_account(self, account: StoredAccount) -> None:
        await _ACCOUNTS.add(self._session, account, protected=int(account.protected), **_further_columns(account))

    async def find_account(self, account_id: str) -> StoredAccount | None:
        """Return an account, deleted ones included until they are purged; None when there is none."""
        row = await self._session.one(f"SELECT {_ACCOUNT_COLUMNS} FROM account WHERE id = $1", account_id)  # noqa: S608
        return _read_account(row) if row else None

    async def lock_account(self, account_id: str) -> None:
        """Keep other units of work from changing the account, its members, sites or tokens until this one is done."""
        await self._session.lock("account", account_id)

    async def save_account(self, account: StoredAccount) -> None:
        """Save a changed name, status, limits, requireMfa, suspended reason and time of deletion."""
        changeable = ("name", "status", "require_mfa", "suspended_reason", "deleted_ms")
        oidc = ("oidc_issuer", "oidc_group", "oidc_role", "oidc_only")
        await _ACCOUNTS.update(self._session, account, *changeable, *oidc, **_further_columns(account))

    async def read_usage(self, account_id: str, now_ms: int) -> Usage:
        """Count the account's sites, members with invited ones, and live tokens."""
        row = await self._session.one(
            """SELECT (SELECT count(*) FROM site WHERE account_id = $1),
                    (SELECT count(*) FROM membership WHERE account_id = $1)
                        + (SELECT count(*) FROM invitation WHERE account_id = $1),
                    (SELECT count(*) FROM api_token WHERE account_id = $1 AND revoked_ms IS NULL
                        AND (expires_ms IS NULL OR expires_ms > $2))""",
            account_id,
            now_ms,
        )
        assert row is not None  # a SELECT of counts alone has one row
        sites, members, tokens = row
        return Usage(sites=sites, members=members, tokens=tokens)

    async def list_by_group(self, issuer: str, groups: Collection[str]) -> list[str]:
        """Return the active accounts that admit one of an issuer's groups."""
        rows = await self._session.all(
            "SELECT id, oidc_group FROM account WHERE oidc_issuer = $1 AND status = $2 AND oidc_group <> ''",
            issuer,
            AccountStatus.ACTIVE.value,
        )
        return sorted(account_id for account_id, group in rows if group in groups)

    async def has_enforcing_site(self, account_id: str) -> bool:
        """Return whether one of the account's sites is in `enforce` mode."""
        row = await self._session.one(
            "SELECT 1 FROM site WHERE account_id = $1 AND mode = $2", account_id, Mode.ENFORCE.value
        )
        return row is not None

    async def revoke_everything(self, account_id: str, now_ms: int) -> None:
        """Revoke the account's live backend and fleet credentials, and its API tokens."""
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
        await self._session.lock("fleet-credentials", account_id)
        await self._session.run(
            "UPDATE fleet_credential SET revoked_ms = $2 WHERE account_id = $1 AND revoked_ms IS NULL",
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

    async def purge_some(self, account_id: str, deleted_before_ms: int, *, most: int) -> int:
        """Delete some rows of the longest tables of an account that is to be purged; return how many."""
        await self.lock_account(account_id)
        if not await self._is_purgeable(account_id, deleted_before_ms):
            return 0
        # They go in several units of work, because each delays every other writer.
        gone = 0
        for delete in _PURGED_IN_UNITS:
            if gone < most:
                gone += await self._session.run(delete, account_id, most - gone)
        return gone

    async def purge_account(self, account_id: str, deleted_before_ms: int) -> bool:
        """Remove every row of the account: sites and all that hangs on them, members, tokens, audit entries, messages.

        Users who belong to no other account go too. Nothing happens to an account that was not deleted by then.
        """
        await self.lock_account(account_id)
        if not await self._is_purgeable(account_id, deleted_before_ms):
            return False
        await _purge(self._session, account_id)
        return True

    async def _is_purgeable(self, account_id: str, deleted_before_ms: int) -> bool:
        deleted = "id = $1 AND status = $2 AND deleted_ms < $3"
        values = (account_id, AccountStatus.DELETED.value, deleted_before_ms)
        return await _ACCOUNTS.count(self._session, deleted, *values) == 1


def _read_account(row: Row) -> StoredAccount:
    protected, *columns = row
    width = len(_LIMITS.names)
    limits = _LIMITS.read(tuple(columns[:width]))
    return _ACCOUNTS.read(tuple(columns[width:]), protected=bool(protected), limits=limits)


def _further_columns(account: StoredAccount) -> dict[str, Any]:
    limits = zip(_LIMITS.names, _LIMITS.values(account.limits), strict=True)
    return {"name_folded": folded(account.name), **dict(limits)}


_MEMBERS = RecordTable(
    "membership JOIN users ON users.id = membership.user_id",
    Member,
    named={
        "user_id": "membership.user_id",
        "email": "users.email",
        "role": "membership.role",
        # A user who has signed in with an identity provider needs no password.
        "status": """CASE WHEN users.status = 'suspended' THEN 'suspended'
            WHEN users.password_hash IS NULL AND users.last_sign_in_ms IS NULL THEN 'invited' ELSE 'active' END""",
        "mfa_enabled": "CASE WHEN users.mfa_enabled_ms IS NULL THEN 0 ELSE 1 END",
        "joined_at": "membership.joined_ms",
        "name": "users.name",
        "last_sign_in_at": "users.last_sign_in_ms",
    },
)


class MemberStore(Repository):
    async def add_membership(
        self, account_id: str, user_id: str, role: AccountRole, joined_ms: int, *, by_group: bool = False
    ) -> bool:
        """Add a member; False when the user is one already."""
        added = await self._session.run(
            """INSERT INTO membership (account_id, user_id, role, joined_ms, by_group) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (account_id, user_id) DO NOTHING""",
            account_id,
            user_id,
            role.value,
            joined_ms,
            int(by_group),
        )
        return added == 1

    async def find_membership(self, account_id: str, user_id: str) -> Member | None:
        of_both = "membership.account_id = $1 AND membership.user_id = $2"
        return await _MEMBERS.find(self._session, of_both, account_id, user_id)

    async def list_members(self, account_id: str) -> list[Member]:
        """Return the members, longest-standing first."""
        oldest = "membership.account_id = $1 ORDER BY membership.joined_ms, membership.user_id"
        return await _MEMBERS.find_all(self._session, oldest, account_id)

    async def list_memberships(self, user_id: str) -> list[Membership]:
        """Return the user's accounts that are not deleted, longest-standing first."""
        rows = await self._session.all(
            f"""SELECT {_MEMBERS.columns}, {_ACCOUNT_COLUMNS}
                FROM membership JOIN users ON users.id = membership.user_id
                    JOIN account ON account.id = membership.account_id
                WHERE membership.user_id = $1 AND account.status <> $2
                ORDER BY membership.joined_ms, membership.account_id""",  # noqa: S608
            user_id,
            AccountStatus.DELETED.value,
        )
        width = len(_MEMBERS.names)
        return [Membership(_MEMBERS.read(row[:width]), _read_account(row[width:])) for row in rows]

    async def list_joined_by_group(self, user_id: str) -> set[str]:
        """Return the accounts in which the user is a member by a group of an identity provider."""
        rows = await self._session.all("SELECT account_id FROM membership WHERE user_id = $1 AND by_group = 1", user_id)
        return {account_id for (account_id,) in rows}

    async def save_role(self, account_id: str, user_id: str, role: AccountRole) -> None:
        await self._session.run(
            "UPDATE membership SET role = $3 WHERE account_id = $1 AND user_id = $2", account_id, user_id, role.value
        )

    async def remove_membership(self, account_id: str, user_id: str) -> None:
        await self._session.run("DELETE FROM membership WHERE account_id = $1 AND user_id = $2", account_id, user_id)

    async def count_owners(self, account_id: str) -> int:
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


_TOKENS = RecordTable("api_token", ApiToken, json=("scopes",))


class ApiTokenStore(Repository):
    """API tokens; secrets are here as digests only."""

    async def delete_ended(self, before_ms: int, *, most: int) -> int:
        """Delete some tokens that were revoked or expired before a moment; return how many."""
        return await _TOKENS.delete_some(
            self._session, "revoked_ms < $1 OR (revoked_ms IS NULL AND expires_ms < $1)", before_ms, most=most
        )

    async def add_token(self, account_id: str, token: ApiToken, secret_digest: bytes) -> None:
        await _TOKENS.add(self._session, token, account_id=account_id, secret_digest=secret_digest)

    async def find_token(self, account_id: str, token_id: str) -> ApiToken | None:
        """Return an account's token; None when the account has none of this ID, even if another account has."""
        return await _TOKENS.find(self._session, "account_id = $1 AND id = $2", account_id, token_id)

    async def find_token_by_secret(self, secret_digest: bytes) -> tuple[str, ApiToken] | None:
        """Return the account and the token of a secret, revoked and expired ones included; None when there is none."""
        row = await self._session.one(
            f"SELECT account_id, {_TOKENS.columns} FROM api_token WHERE secret_digest = $1",  # noqa: S608
            secret_digest,
        )
        return (row[0], _TOKENS.read(row[1:])) if row else None

    async def list_tokens(self, account_id: str) -> list[ApiToken]:
        """Return an account's tokens, newest first."""
        return await _TOKENS.find_all(self._session, "account_id = $1 ORDER BY created_ms DESC, id", account_id)

    async def revoke_token(self, account_id: str, token_id: str, now_ms: int) -> bool:
        """Revoke a token; False when it was revoked already."""
        is_live = "account_id = $1 AND id = $2 AND revoked_ms IS NULL"
        return await _TOKENS.change(self._session, is_live, account_id, token_id, revoked_ms=now_ms) == 1

    async def note_use(self, token_id: str, now_ms: int) -> None:
        earlier = "id = $1 AND (last_used_ms IS NULL OR last_used_ms < $2)"
        await _TOKENS.change(self._session, earlier, token_id, now_ms, last_used_ms=now_ms)


_REQUESTS = RecordTable("access_request", AccessRequest)


class AccessRequestStore(LockingRepository):
    """People who asked for an account."""

    async def add_request(self, request: AccessRequest) -> bool:
        """Insert a request; False when one of the same address is pending."""
        await self._session.lock("access_request", request.email)
        # Write even if there is nothing to add: the duration of the commit must not reveal whether a request is
        # pending.
        pending = await self._session.run(
            "UPDATE access_request SET email = email WHERE status = $1 AND email = $2",
            AccessRequestStatus.PENDING.value,
            request.email,
        )
        if pending:
            return False
        await _REQUESTS.add(self._session, request)
        return True

    async def find_request(self, request_id: str) -> AccessRequest | None:
        return await _REQUESTS.find(self._session, "id = $1", request_id)

    async def list_requests(self, status: AccessRequestStatus | None, limit: int) -> list[AccessRequest]:
        """Return the newest requests in a state, or in any with None, newest first."""
        newest = "ORDER BY created_ms DESC, id DESC LIMIT $1"
        if status is None:
            return await _REQUESTS.find_all(self._session, f"1 = 1 {newest}", limit)
        return await _REQUESTS.find_all(self._session, f"status = $2 {newest}", limit, status.value)

    async def delete_decided(self, before_ms: int, *, most: int) -> int:
        """Delete some requests that were decided before a moment; return how many."""
        return await _REQUESTS.delete_some(self._session, "decided_ms < $1", before_ms, most=most)

    async def decide(self, request_id: str, status: AccessRequestStatus, decided_by: str, now_ms: int) -> bool:
        """Decide a pending request; False when it was decided already."""
        decided = await _REQUESTS.change(
            self._session,
            "id = $1 AND status = $2",
            request_id,
            AccessRequestStatus.PENDING.value,
            status=status.value,
            decided_by=decided_by,
            decided_ms=now_ms,
        )
        return decided == 1


class AccountStores(IdentityStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on accounts uses."""

    accounts: AccountStore
    members: MemberStore
    invitations: InvitationStore
    api_tokens: ApiTokenStore
    access_requests: AccessRequestStore
