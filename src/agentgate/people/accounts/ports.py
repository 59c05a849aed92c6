"""What accounts ask of the durable store."""

from typing import Protocol

from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.lib.enums import AccountRole
from agentgate.people.accounts.records import ApiToken, StoredAccount, StoredMembership, Usage
from agentgate.people.identity.user_ports import UserStores
from agentgate.people.outbox.ports import OutboxStores


class AccountStore(Protocol):
    """Customer accounts."""

    async def add_account(self, account: StoredAccount) -> None:
        """Keep a new account."""
        ...

    async def find_account(self, account_id: str) -> StoredAccount | None:
        """Return an account, deleted ones included until they are purged; None when there is none."""
        ...

    async def lock_account(self, account_id: str) -> None:
        """Keep other units of work from changing the account, its members, sites or tokens until this one is done."""
        ...

    async def save_account(self, account: StoredAccount) -> None:
        """Keep a changed name, status, limits, requireMfa, suspended reason and time of deletion."""
        ...

    async def read_usage(self, account_id: str, now_ms: int) -> Usage:
        """Count the account's sites, members and live tokens."""
        ...

    async def has_enforcing_site(self, account_id: str) -> bool:
        """Say whether one of the account's sites is in `enforce` mode."""
        ...

    async def revoke_everything(self, account_id: str, now_ms: int) -> None:
        """Revoke the account's live backend credentials and API tokens."""
        ...

    async def list_purgeable(self, deleted_before_ms: int) -> list[str]:
        """Return the accounts that were deleted before a moment, longest deleted first."""
        ...

    async def purge_trail(self, account_id: str, deleted_before_ms: int, *, most: int) -> int:
        """Remove some audit entries of an account that is to be purged; return how many went."""
        ...

    async def purge_account(self, account_id: str, deleted_before_ms: int) -> bool:
        """Remove every row of the account: sites and all that hangs on them, members, tokens, audit entries, messages.

        Users who belong to no other account go too. Nothing happens to an account that was not deleted by then.
        """
        ...


class MemberStore(Protocol):
    """Who belongs to which account."""

    async def add_membership(self, account_id: str, user_id: str, role: AccountRole, joined_ms: int) -> bool:
        """Add a member; False when the user is one already."""
        ...

    async def find_membership(self, account_id: str, user_id: str) -> StoredMembership | None:
        """Return a user's place in an account, or None."""
        ...

    async def list_members(self, account_id: str) -> list[StoredMembership]:
        """Return the members, longest-standing first."""
        ...

    async def list_memberships(self, user_id: str) -> list[tuple[StoredMembership, StoredAccount]]:
        """Return the user's accounts that are not deleted, longest-standing first."""
        ...

    async def save_role(self, account_id: str, user_id: str, role: AccountRole) -> None:
        """Change a member's role."""
        ...

    async def remove_membership(self, account_id: str, user_id: str) -> None:
        """Remove a member."""
        ...

    async def count_owners(self, account_id: str) -> int:
        """Return how many owners the account has."""
        ...

    async def count_owned_accounts(self, user_id: str) -> int:
        """Return how many accounts that are not deleted the user owns."""
        ...


class ApiTokenStore(Protocol):
    """API tokens; secrets are here as digests only."""

    async def add_token(self, account_id: str, token: ApiToken, secret_digest: bytes) -> None:
        """Keep a new token."""
        ...

    async def find_token(self, account_id: str, token_id: str) -> ApiToken | None:
        """Return an account's token; None when the account has none of this ID, whoever else may."""
        ...

    async def find_token_by_secret(self, secret_digest: bytes) -> tuple[str, ApiToken] | None:
        """Return the account and the token of a secret, revoked and expired ones included; None when there is none."""
        ...

    async def list_tokens(self, account_id: str) -> list[ApiToken]:
        """Return an account's tokens, newest first."""
        ...

    async def revoke_token(self, account_id: str, token_id: str, now_ms: int) -> bool:
        """Revoke a token; False when it was revoked already."""
        ...

    async def note_use(self, token_id: str, now_ms: int) -> None:
        """Note that a token was used."""
        ...


class AccountStores(UserStores, OutboxStores, ConfigurationStores, Protocol):
    """The ports that a unit of work on accounts uses."""

    @property
    def accounts(self) -> AccountStore: ...

    @property
    def members(self) -> MemberStore: ...

    @property
    def api_tokens(self) -> ApiTokenStore: ...
