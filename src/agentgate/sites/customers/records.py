"""Accounts as operators see them. On this wire an account is called a customer, a person in one an account."""

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import AccountRole, AccountStatus, MemberStatus, Mode, WidgetMode
from agentgate.lib.limits import SUSPEND_ACCOUNT_REASON_CHARACTERS, SUSPEND_USER_REASON_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record, SiteKey
from agentgate.people.accounts.records import ApiToken, Limits, Member, OidcPolicy, Usage
from agentgate.people.audit.records import AuditEvent
from agentgate.sites.records import SiteChange, SiteHealthSummary, SiteInput

# Enough for any customer, and little enough that a slip of the hand does not lift a limit altogether.
MOST_OF_A_LIMIT = 10_000


class CustomerSummary(Record, frozen=True, kw_only=True):
    """An account in a list. `owner` is the longest-standing owner; the last sign-in is of any member."""

    id: str
    name: str
    status: AccountStatus
    members: int
    sites: int
    limits: Limits
    created_at: Moment
    protected: bool
    owner_email: str | UnsetType = UNSET
    last_sign_in_at: Moment | UnsetType = UNSET


class CustomerList(Record, frozen=True, kw_only=True):
    """Accounts, newest first."""

    items: list[CustomerSummary]


class CustomerSite(Record, frozen=True, kw_only=True):
    """A site of an account, as shown on the account's page. `degraded`: events are unavailable."""

    site_key: SiteKey
    name: str
    mode: Mode
    widget_mode: WidgetMode
    health: SiteHealthSummary
    degraded: bool | UnsetType = UNSET


class CustomerDetail(CustomerSummary, frozen=True, kw_only=True):
    """Everything about one account. `audit` has its newest events; a deleted account is purged at `purgeAt`."""

    member_list: list[Member]
    site_list: list[CustomerSite]
    tokens: list[ApiToken]
    usage: Usage
    audit: list[AuditEvent]
    require_mfa: bool
    oidc: OidcPolicy
    suspended_reason: str | UnsetType = UNSET
    deleted_at: Moment | UnsetType = UNSET
    purge_at: Moment | UnsetType = UNSET


LimitValue = Annotated[int, Meta(ge=0, le=MOST_OF_A_LIMIT)]


class LimitsPatch(Input, frozen=True, kw_only=True):
    """The limits to change; omitted limits are unchanged."""

    sites: LimitValue | UnsetType = UNSET
    credentials_per_site: LimitValue | UnsetType = UNSET
    members: LimitValue | UnsetType = UNSET
    tokens: LimitValue | UnsetType = UNSET
    origins_per_site: LimitValue | UnsetType = UNSET


_SERVER_FIELDS = (
    *("id", "status", "protected", "createdAt", "ownerEmail", "members", "sites", "lastSignInAt", "memberList"),
    *("siteList", "tokens", "usage", "audit", "suspendedReason", "deletedAt", "purgeAt"),
)


class CustomerPatch(Input, frozen=True, kw_only=True):
    """Changes of an account by an operator; omitted fields are unchanged."""

    refused_fields: ClassVar = dict.fromkeys(_SERVER_FIELDS, "forbidden_field")

    name: str | UnsetType = UNSET
    limits: LimitsPatch | UnsetType = UNSET
    require_mfa: bool | UnsetType = UNSET
    # With false, passwords open the account again, for owners whose identity provider is unavailable.
    oidc_only: bool | UnsetType = UNSET


class SuspendAccountInput(Input, frozen=True, kw_only=True):
    """The reason for the suspension of an account."""

    reason: Annotated[
        str,
        Meta(min_length=SUSPEND_ACCOUNT_REASON_CHARACTERS.least, max_length=SUSPEND_ACCOUNT_REASON_CHARACTERS.most),
    ]


class SuspendUserInput(Input, frozen=True, kw_only=True):
    """The reason for the suspension of a user."""

    reason: Annotated[str, Meta(max_length=SUSPEND_USER_REASON_CHARACTERS.most)] | UnsetType = UNSET


class CustomerSiteInput(SiteChange, frozen=True, kw_only=True):
    """A new site of the account in the path. `name` is required. Default `siteKey`: generated."""

    refused_fields: ClassVar = {
        **SiteInput.refused_fields,
        **dict.fromkeys(("customerId", "customerName"), "forbidden_field"),
    }

    site_key: SiteKey | UnsetType = UNSET


class Account(Record, frozen=True, kw_only=True):
    """A user with one of their accounts; the account is absent for a user without accounts."""

    user_id: str
    email: str
    status: MemberStatus
    mfa_enabled: bool
    created_at: Moment
    role: AccountRole | UnsetType = UNSET
    customer_id: str | UnsetType = UNSET
    customer_name: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    last_sign_in_at: Moment | UnsetType = UNSET


class AccountList(Record, frozen=True, kw_only=True):
    """Users with their accounts, one row per membership, newest first. `nextCursor`: there are more than `limit`."""

    items: list[Account]
    next_cursor: str | UnsetType = UNSET


class InviteInput(Input, frozen=True, kw_only=True):
    """An invitation to the account of `customerId` or to a new account. A new account's name is `customerName`.
    Default: the person's name or address. Its first member is its owner. Default role in an existing account: `member`.
    """

    email: str
    name: str | UnsetType = UNSET
    customer_id: str | UnsetType = UNSET
    customer_name: str | UnsetType = UNSET
    role: AccountRole | UnsetType = UNSET


class InviteResult(Record, frozen=True, kw_only=True):
    """The invited user and the account. The link was also sent by email."""

    customer_id: str
    user_id: str
    email: str
    invite_url: str
    expires_at: Moment


class InviteLink(Record, frozen=True, kw_only=True):
    """A new invite link. Earlier links are revoked."""

    invite_url: str


class ResetLink(Record, frozen=True, kw_only=True):
    """A password reset link that works once within an hour."""

    reset_url: str


class CustomerFilter(Struct, frozen=True, kw_only=True):
    """Which accounts a list shows."""

    status: AccountStatus | None
    # A part of the account's ID, its name or a member's address; empty finds all.
    text: str
    limit: int
