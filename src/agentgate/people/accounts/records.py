"""Accounts, members, API tokens, sessions and access requests: as they go over the wire and as the store keeps them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib import limits
from agentgate.lib.enums import (
    AccessRequestStatus,
    AccountRole,
    AccountStatus,
    ApiTokenScope,
    ConsolePermission,
    MemberStatus,
    UserStatus,
)
from agentgate.lib.moment import Moment
from agentgate.lib.names import NAME_CHARACTERS
from agentgate.lib.records import Input, Record
from agentgate.people.identity.records import TYPED_CHARACTERS, PasskeyAssertion


class Limits(Record, frozen=True, kw_only=True):
    """The limits of an account. An operator can change each limit."""

    sites: int = limits.SITES_PER_ACCOUNT
    credentials_per_site: int = limits.LIVE_SECRETS_PER_SITE
    members: int = limits.MEMBERS_PER_ACCOUNT
    tokens: int = limits.LIVE_API_TOKENS_PER_ACCOUNT
    origins_per_site: int = limits.ORIGINS_PER_CONSOLE_SITE


class Usage(Record, frozen=True, kw_only=True):
    """Usage of an account. Only active tokens are counted."""

    sites: int
    members: int
    tokens: int


class StoredAccount(Record, frozen=True, kw_only=True):
    """An account as stored. `protected` marks the service's own account, which cannot be deleted or emptied."""

    id: str
    name: str
    status: AccountStatus
    protected: bool
    limits: Limits
    created_at: Moment
    require_mfa: bool = False
    suspended_reason: str | None = None
    deleted_ms: int | None = None
    oidc_issuer: str = ""
    oidc_group: str = ""
    oidc_role: AccountRole = AccountRole.READONLY
    oidc_only: bool = False

    @property
    def oidc(self) -> "OidcPolicy":
        """How members may sign in with an identity provider."""
        return OidcPolicy(issuer=self.oidc_issuer, group=self.oidc_group, role=self.oidc_role, only=self.oidc_only)


class OidcPolicy(Record, frozen=True, kw_only=True):
    """Sign-in with an identity provider. An empty `issuer` means none.

    Users of `group` join with `role` and leave with the group. With `only`, passwords do not open the account.
    """

    issuer: str
    group: str
    role: AccountRole
    only: bool


class Member(Record, frozen=True, kw_only=True):
    """A member of an account, or an invitation to become one.

    `invited`: the person has not accepted yet or, if added by an operator, has not set a password yet. An invitation
    has its own `userId`.
    """

    user_id: str
    email: str
    role: AccountRole
    status: MemberStatus
    mfa_enabled: bool
    joined_at: Moment
    name: str | UnsetType = UNSET
    last_sign_in_at: Moment | UnsetType = UNSET


class Membership(NamedTuple):
    """A member, and the account, which is not deleted."""

    member: Member
    account: StoredAccount


def member_status(user_status: str, *, has_password: bool) -> MemberStatus:
    """Return a member's status: that of the user, or that the person has not set a password yet."""
    if user_status == UserStatus.SUSPENDED:
        return MemberStatus.SUSPENDED
    return MemberStatus.ACTIVE if has_password else MemberStatus.INVITED


class StoredInvitation(Struct, frozen=True, kw_only=True):
    """An invitation that was not accepted yet. It stands for an address; whether that has a user is not read."""

    id: str
    account_id: str
    email: str
    role: AccountRole
    secret_digest: bytes
    created_ms: int
    expires_ms: int


class OpenInvitation(Record, frozen=True, kw_only=True):
    """An invitation to the signed-in user's address, which they may accept."""

    id: str
    account_name: str
    role: AccountRole
    expires_at: Moment


class MemberList(Record, frozen=True, kw_only=True):
    """The members of an account, longest-standing first."""

    items: list[Member]


class MemberInput(Input, frozen=True, kw_only=True):
    """The address to add and its role."""

    email: str
    role: AccountRole


class RoleInput(Input, frozen=True, kw_only=True):
    """The new role."""

    role: AccountRole


class MemberInviteResult(Record, frozen=True, kw_only=True):
    """The new member or the invitation. Only operators get the invite link, for a person without a password."""

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
        """Return whether its secret is accepted."""
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
    """A new API token and its secret, which is shown only once."""

    token: ApiToken
    secret: str


class OwnAccount(Record, frozen=True, kw_only=True):
    """The caller's active account. `role` is absent for an API token."""

    id: str
    name: str
    status: AccountStatus
    limits: Limits
    usage: Usage
    require_mfa: bool
    created_at: Moment
    oidc: OidcPolicy
    # The operator's identity providers, of which the account may choose one.
    oidc_issuers: list[str]
    role: AccountRole | UnsetType = UNSET


class OidcInput(Input, frozen=True, kw_only=True):
    """Sign-in with an identity provider of the operator; an empty `issuer` means none. `role` is not `owner`."""

    issuer: Annotated[str, Meta(max_length=32)]
    group: Annotated[str, Meta(max_length=200)] = ""
    role: AccountRole = AccountRole.READONLY
    only: bool = False


class AccountChange(Input, frozen=True, kw_only=True):
    """Changes of an account by its owners."""

    refused_fields: ClassVar = dict.fromkeys(
        ("id", "status", "role", "limits", "usage", "createdAt", "oidcIssuers"), "forbidden_field"
    )

    name: str | UnsetType = UNSET
    require_mfa: bool | UnsetType = UNSET
    oidc: OidcInput | UnsetType = UNSET


class ConfirmInput(Input, frozen=True, kw_only=True):
    """The account's name as confirmation."""

    confirm: str


class DeletedAccount(Record, frozen=True, kw_only=True):
    """A deleted account and the time at which its data is purged."""

    id: str
    name: str
    status: AccountStatus
    deleted_at: Moment
    purge_at: Moment


class TransferInput(Input, frozen=True, kw_only=True):
    """The new owner."""

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
    """The active account and the user's permissions in it."""

    limits: Limits
    permissions: list[ConsolePermission]
    require_mfa: bool


class Session(Record, frozen=True, kw_only=True):
    """The signed-in user, the active account and the CSRF token, or a request for a code.

    `invitations` is absent if there are none.
    """

    user: SessionUser | UnsetType = UNSET
    accounts: list[SessionAccount] | UnsetType = UNSET
    account: ActiveAccount | UnsetType = UNSET
    invitations: list[OpenInvitation] | UnsetType = UNSET
    csrf_token: str | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET
    mfa_required: bool | UnsetType = UNSET


_READ = frozenset({ConsolePermission.SITES_READ, ConsolePermission.ANALYTICS_READ, ConsolePermission.MEMBERS_READ})
_ALL = frozenset(ConsolePermission)

PERMISSIONS: Mapping[AccountRole, frozenset[ConsolePermission]] = MappingProxyType(
    {
        AccountRole.OWNER: _ALL,
        AccountRole.ADMIN: _ALL - {ConsolePermission.ACCOUNT_DELETE},
        AccountRole.MEMBER: _READ | {ConsolePermission.SITES_WRITE},
        AccountRole.READONLY: _READ,
    }
)


class AccessRequest(Record, frozen=True, kw_only=True):
    """A request for an account and its state."""

    id: str
    email: str
    name: str
    status: AccessRequestStatus
    created_at: Moment
    company: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    decided_at: Moment | UnsetType = UNSET
    decided_by: str | UnsetType = UNSET


class AccessRequestList(Record, frozen=True, kw_only=True):
    """Access requests, newest first."""

    items: list[AccessRequest]


MESSAGE_CHARACTERS = 2000

Typed = Annotated[str, Meta(max_length=TYPED_CHARACTERS)]
Name = Annotated[str, Meta(max_length=NAME_CHARACTERS)]
CheckToken = Annotated[str, Meta(max_length=2048)]


class Login(Input, frozen=True, kw_only=True):
    """The credentials of a user. `token` is from the browser check with action `sign_in`, required only during an
    attack."""

    email: Typed
    password: Typed
    token: CheckToken | UnsetType = UNSET


class CodeInput(Input, frozen=True, kw_only=True):
    """Exactly one of a code of the authenticator app, a recovery code, and a passkey's signature."""

    code: Typed | UnsetType = UNSET
    recovery_code: Typed | UnsetType = UNSET
    passkey: PasskeyAssertion | UnsetType = UNSET


class SwitchInput(Input, frozen=True, kw_only=True):
    """The account to switch to."""

    account_id: Typed


class AccountInput(Input, frozen=True, kw_only=True):
    """A new account."""

    name: Name


class InviteInfo(Record, frozen=True, kw_only=True):
    """The recipient of an invite link and the account to join.

    `hasPassword`: sign in and accept the invitation; the link cannot set a password.
    """

    email: str
    account_name: str
    role: AccountRole
    expires_at: Moment
    has_password: bool


class AcceptInput(Input, frozen=True, kw_only=True):
    """The secret of the invite link, and the first password."""

    token: Typed
    password: Typed
    name: Name | UnsetType = UNSET


class SetupInput(Input, frozen=True, kw_only=True):
    """The secret of the setup link, and who the first owner is."""

    token: Typed
    email: Typed
    password: Typed
    name: Name | UnsetType = UNSET


class SetupLink(Record, frozen=True, kw_only=True):
    """A link with which the first owner creates an account. It works once."""

    setup_url: str
    expires_at: Moment


class ForgotInput(Input, frozen=True, kw_only=True):
    """The user's address. `token` is from the browser check with action `sign_in`, required only during an attack."""

    email: Typed
    token: CheckToken | UnsetType = UNSET


class Received(Record, frozen=True, kw_only=True):
    """The response to known and unknown addresses."""

    status: Literal["received"] = "received"


class ResetInput(Input, frozen=True, kw_only=True):
    """The secret of the reset link, and the new password."""

    token: Typed
    password: Typed


class PasswordChange(Input, frozen=True, kw_only=True):
    """The current and the new password."""

    current_password: Typed
    new_password: Typed


class SessionItem(Record, frozen=True, kw_only=True):
    """One of the user's sessions. The address is a keyed hash."""

    id: str
    current: bool
    browser: str
    address_id: str
    created_at: Moment
    last_used_at: Moment


class SessionList(Record, frozen=True, kw_only=True):
    """The user's sessions, newest first."""

    items: list[SessionItem]


class AccessRequestInput(Input, frozen=True, kw_only=True):
    """A request for an account. `token` is from the browser check of AgentGate's own site."""

    email: Typed
    name: Name
    company: Name | UnsetType = UNSET
    message: Annotated[str, Meta(max_length=MESSAGE_CHARACTERS)] | UnsetType = UNSET
    token: CheckToken | UnsetType = UNSET
