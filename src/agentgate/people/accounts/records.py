"""Accounts, members, API tokens and sessions as they go over the wire and as the store keeps them."""

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType

from agentgate.lib import limits
from agentgate.lib.enums import AccountRole, AccountStatus, ApiTokenScope, ConsolePermission, MemberStatus, UserStatus
from agentgate.lib.moment import Moment
from agentgate.lib.names import NAME_CHARACTERS
from agentgate.lib.records import Input, Record


class Limits(Record, frozen=True, kw_only=True):
    """How much an account may have. An operator can change each of them."""

    sites: int = limits.SITES_PER_ACCOUNT
    credentials_per_site: int = limits.LIVE_SECRETS_PER_SITE
    members: int = limits.MEMBERS_PER_ACCOUNT
    tokens: int = limits.LIVE_API_TOKENS_PER_ACCOUNT
    origins_per_site: int = limits.ORIGINS_PER_CONSOLE_SITE


class Usage(Record, frozen=True, kw_only=True):
    """How much an account has. Tokens are those that still work."""

    sites: int
    members: int
    tokens: int


class StoredAccount(Record, frozen=True, kw_only=True):
    """An account as the store keeps it. `protected` marks the service's own, which nobody may delete or empty."""

    id: str
    name: str
    status: AccountStatus
    protected: bool
    limits: Limits
    created_at: Moment
    require_mfa: bool = False
    suspended_reason: str | None = None
    deleted_ms: int | None = None


class StoredMembership(Record, frozen=True, kw_only=True):
    """A user's place in an account, with what a list of members shows of the user."""

    account_id: str
    user_id: str
    role: AccountRole
    joined_at: Moment
    email: str
    name: str | None
    status: MemberStatus
    mfa_enabled: bool
    last_sign_in_ms: int | None


class Member(Record, frozen=True, kw_only=True):
    """A member of an account. `invited` until the person has set a password."""

    user_id: str
    email: str
    role: AccountRole
    status: MemberStatus
    mfa_enabled: bool
    joined_at: Moment
    name: str | UnsetType = UNSET
    last_sign_in_at: Moment | UnsetType = UNSET


def member_status(user_status: str, *, has_password: bool) -> MemberStatus:
    """Return a member's status: that of the user, or that the person has not set a password yet."""
    if user_status == UserStatus.SUSPENDED:
        return MemberStatus.SUSPENDED
    return MemberStatus.ACTIVE if has_password else MemberStatus.INVITED


class MemberList(Record, frozen=True, kw_only=True):
    """The members of an account, longest-standing first."""

    items: list[Member]


class MemberInput(Input, frozen=True, kw_only=True):
    """Whom to add, and as what."""

    email: str
    role: AccountRole


class RoleInput(Input, frozen=True, kw_only=True):
    """The new role."""

    role: AccountRole


class MemberInviteResult(Record, frozen=True, kw_only=True):
    """The new member. Operators also get the invite link of a person who has no password yet; customers never do."""

    member: Member
    invite_url: str | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET


class ApiToken(Record, frozen=True, kw_only=True):
    """An API token, without its secret."""

    id: str
    name: str
    scopes: list[ApiTokenScope]
    created_at: Moment
    created_by: str
    expires_at: Moment | UnsetType = UNSET
    revoked_at: Moment | UnsetType = UNSET
    last_used_at: Moment | UnsetType = UNSET

    def is_live(self, now_ms: int) -> bool:
        """Say whether its secret is accepted."""
        return self.revoked_at is UNSET and (self.expires_at is UNSET or now_ms < self.expires_at)


class ApiTokenList(Record, frozen=True, kw_only=True):
    """The account's API tokens, newest first, revoked and expired ones included."""

    items: list[ApiToken]


class ApiTokenInput(Input, frozen=True, kw_only=True):
    """A new API token."""

    name: Annotated[str, Meta(max_length=NAME_CHARACTERS)]
    scopes: list[ApiTokenScope]
    expires_at: Moment | UnsetType = UNSET


class ApiTokenSecret(Record, frozen=True, kw_only=True):
    """A new API token and its secret, which is shown this once."""

    token: ApiToken
    secret: str


class OwnAccount(Record, frozen=True, kw_only=True):
    """The account that the caller works in. `role` is absent for an API token."""

    id: str
    name: str
    status: AccountStatus
    limits: Limits
    usage: Usage
    require_mfa: bool
    created_at: Moment
    role: AccountRole | UnsetType = UNSET


class AccountChange(Input, frozen=True, kw_only=True):
    """What a customer may change on its account."""

    refused_fields: ClassVar = dict.fromkeys(
        ("id", "status", "role", "limits", "usage", "createdAt"), "forbidden_field"
    )

    name: str | UnsetType = UNSET
    require_mfa: bool | UnsetType = UNSET


class ConfirmInput(Input, frozen=True, kw_only=True):
    """The account's name, typed to confirm."""

    confirm: str


class DeletedAccount(Record, frozen=True, kw_only=True):
    """An account that is deleted, and when its data will be gone."""

    id: str
    name: str
    status: AccountStatus
    deleted_at: Moment
    purge_at: Moment


class TransferInput(Input, frozen=True, kw_only=True):
    """Who becomes owner."""

    user_id: str


class SessionUser(Record, frozen=True, kw_only=True):
    """The signed-in user."""

    id: str
    email: str
    mfa_enabled: bool
    name: str | UnsetType = UNSET


class SessionAccount(Record, frozen=True, kw_only=True):
    """One of the user's accounts."""

    id: str
    name: str
    role: AccountRole
    status: AccountStatus


class ActiveAccount(SessionAccount, frozen=True, kw_only=True):
    """The account the user works in, and what they may do there."""

    limits: Limits
    permissions: list[ConsolePermission]
    require_mfa: bool


class Session(Record, frozen=True, kw_only=True):
    """Who is signed in, where, and the token that changing requests must carry. Or: a code is still needed."""

    user: SessionUser | UnsetType = UNSET
    accounts: list[SessionAccount] | UnsetType = UNSET
    account: ActiveAccount | UnsetType = UNSET
    csrf_token: str | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET
    mfa_required: bool | UnsetType = UNSET
