"""Customers over HTTP, for operators: accounts, their members, users of all accounts, invitations, and requests."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.http.paging import list_pages, read_all
from agentgate.http.replies import Reply
from agentgate.lib.cursors import Cursors, Position
from agentgate.lib.database import Store
from agentgate.lib.enums import AccessRequestStatus, AccountRole, AccountStatus, UserStatus
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import (
    ACCESS_REQUESTS_LIMIT,
    CUSTOMER_DETAIL_AUDIT_EVENTS,
    CUSTOMERS_LIMIT,
    CUSTOMERS_QUERY_CHARACTERS,
    LIST_PAGE,
)
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.records import Query, given, optional, optional_moment, to_wire
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.people.accounts import access_requests, api_tokens, lifecycle, members
from agentgate.people.accounts.lifecycle import PURGE_MS, Invited, found_account, get_account, invite_newcomer
from agentgate.people.accounts.records import (
    AccessRequest,
    AccessRequestList,
    ConfirmInput,
    DeletedAccount,
    Limits,
    Member,
    MemberInput,
    MemberInviteResult,
    RoleInput,
    StoredAccount,
    member_status,
)
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import choose_membership
from agentgate.people.audit.actions import Action
from agentgate.people.audit.endpoints import AuditQuery, read_audit_page
from agentgate.people.audit.records import AuditPage
from agentgate.people.audit.trail import Subject, diff, record
from agentgate.people.identity.links import IssuedLink, LinkUrls, end_links, issue_link
from agentgate.people.identity.records import LinkKind, StoredUser
from agentgate.people.identity.users import canonical_email
from agentgate.people.outbox.messages import Messenger, added_message, invite_message, mfa_reset_message, reset_message
from agentgate.sites.customers.guards import CustomerCall
from agentgate.sites.customers.records import (
    Account,
    AccountList,
    CustomerDetail,
    CustomerFilter,
    CustomerList,
    CustomerPatch,
    CustomerSite,
    CustomerSiteInput,
    InviteInput,
    InviteLink,
    InviteResult,
    LimitsPatch,
    ResetLink,
    SuspendAccountInput,
    SuspendUserInput,
)
from agentgate.sites.customers.repository import CustomerStores
from agentgate.sites.detail import read_detail as read_site_detail
from agentgate.sites.detail import summary_pages
from agentgate.sites.editing import create_site
from agentgate.sites.records import SiteDetail, SiteInput
from agentgate.sites.repository import ActivityStore, SiteFilter


class Invitations:
    """Invites people. Messages are put into the outbox within the unit of work."""

    def __init__(self, messenger: Messenger, urls: LinkUrls) -> None:
        self._messenger = messenger
        self._urls = urls

    async def send_link(
        self, stores: AccountStores, call: Call, account: StoredAccount, email: str, link: IssuedLink
    ) -> str:
        """Send an invite link; return it, for the operator."""
        url = self._urls.invite_url(link.secret, operator_call=call)
        message = invite_message(email, account_name=account.name, url=url, link_digest=link.link.secret_digest)
        await self._messenger.send(stores, call.now, message)
        return url

    async def send_notice(self, stores: AccountStores, call: Call, account: StoredAccount, email: str) -> None:
        """Notify a user with a password of a further account."""
        url = self._urls.console_url(operator_call=call)
        await self._messenger.send(stores, call.now, added_message(email, account_name=account.name, url=url))

    async def send(self, stores: AccountStores, call: Call, invited: Invited) -> InviteResult:
        """Send a new user's invite link, and record it."""
        email = invited.member.email
        return InviteResult(
            customer_id=invited.account.id,
            user_id=invited.member.user_id,
            email=email,
            invite_url=await self.send_link(stores, call, invited.account, email, invited.link),
            expires_at=Moment(invited.link.link.expires_ms),
        )


class AccessRequestsQuery(Query, frozen=True, kw_only=True):
    """Which requests to show."""

    status: Literal["pending", "approved", "declined", "all"] = "all"
    limit: Annotated[int, Meta(ge=ACCESS_REQUESTS_LIMIT.least, le=ACCESS_REQUESTS_LIMIT.most)] = (
        ACCESS_REQUESTS_LIMIT.default
    )


async def list_access_requests(
    call: Call,  # noqa: ARG001 - every handler is given its call
    query: AccessRequestsQuery,
    store: Store[CustomerStores],
) -> AccessRequestList:
    """List requests for an account, newest first."""
    status = None if query.status == "all" else AccessRequestStatus(query.status)
    requests = await store.read.access_requests.list_requests(status, query.limit)
    return AccessRequestList(items=requests)


async def approve_access_request(call: Call, stores: CustomerStores, invitations: Invitations) -> InviteResult:
    """Approve a request: create a customer and invite its owner.

    The customer is named by the request's company, else by its name. The link is valid for 7 days and is also sent by
    email. A user with a password cannot be invited again: the request remains pending.
    """
    return await invitations.send(stores, call, await access_requests.approve(stores, call, call.params["id"]))


async def decline_access_request(call: Call, stores: CustomerStores) -> AccessRequest:
    """Decline a request without sending a message."""
    return await access_requests.decline(stores, call, call.params["id"])


class CustomersQuery(Query, frozen=True, kw_only=True):
    """Which accounts to show. `q` is a part of the account's ID, its name or a member's email address."""

    status: Literal["active", "suspended", "deleted", "all"] = "all"
    q: Annotated[str, Meta(max_length=CUSTOMERS_QUERY_CHARACTERS)] = ""
    limit: Annotated[int, Meta(ge=CUSTOMERS_LIMIT.least, le=CUSTOMERS_LIMIT.most)] = CUSTOMERS_LIMIT.default


async def list_customers(call: Call, query: CustomersQuery, store: Store[CustomerStores]) -> CustomerList:  # noqa: ARG001 - every handler is given its call
    """List customers, newest first."""
    status = None if query.status == "all" else AccountStatus(query.status)
    wanted = CustomerFilter(status=status, text=query.q, limit=query.limit)
    return CustomerList(items=await store.read.customers.list_customers(wanted))


async def read_customer(
    call: CustomerCall, store: Store[CustomerStores], activity: ActivityStore
) -> Reply[CustomerDetail]:
    """Read a customer with members, sites, API tokens, usage and newest audit events."""
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def change_customer(
    call: CustomerCall, body: CustomerPatch, store: Store[CustomerStores], activity: ActivityStore
) -> Reply[CustomerDetail]:
    """Rename a customer or change its limits; omitted fields are unchanged."""
    account_id = call.account.id

    async def change(stores: CustomerStores) -> None:
        # Each kind of change has its own audit entry.
        if not isinstance(body.name, UnsetType):
            await lifecycle.rename_account(stores, call, account_id, body.name)
        if not isinstance(body.limits, UnsetType):
            await change_limits(stores, call, account_id, body.limits)
        if not isinstance(body.require_mfa, UnsetType):
            await lifecycle.change_mfa_policy(stores, call, account_id, require_mfa=body.require_mfa)
        if not isinstance(body.oidc_only, UnsetType):
            policy = replace((await get_account(stores, account_id)).oidc, only=body.oidc_only)
            await lifecycle.change_oidc(stores, call, account_id, policy)

    await store.change(change)
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def delete_customer(call: CustomerCall, body: ConfirmInput, stores: CustomerStores) -> DeletedAccount:
    """Delete a customer.

    `confirm` must be its name. No site may be in `enforce` mode. Credentials, sessions and API tokens end immediately.
    The data is purged after 30 days; until then the customer can be reactivated. Its sites remain but issue no
    challenges.
    """
    # The sites are not touched: the browser check reads the account's status, so that they come back with it.
    return await lifecycle.delete_account(stores, call, call.account.id, body.confirm)


async def suspend_customer(
    call: CustomerCall, body: SuspendAccountInput, store: Store[CustomerStores], activity: ActivityStore
) -> Reply[CustomerDetail]:
    """Suspend a customer.

    Its members cannot use console and API. Its sites remain protected.
    """
    reason = body.reason.strip()
    if not reason:
        raise Refused("invalid_request", "reason must not be empty.")
    await store.change(lambda stores: lifecycle.suspend_account(stores, call, call.account.id, reason))
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def reactivate_customer(
    call: CustomerCall, store: Store[CustomerStores], activity: ActivityStore
) -> Reply[CustomerDetail]:
    """Reactivate a suspended customer, or one that was deleted less than 30 days ago.

    Revoked credentials and API tokens remain revoked.
    """
    await store.change(lambda stores: lifecycle.reactivate_account(stores, call, call.account.id))
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def create_customer_site(
    call: CustomerCall, body: CustomerSiteInput, store: Store[CustomerStores], activity: ActivityStore
) -> SiteDetail:
    """Create a site for a customer; the customer's limits do not apply to operators."""
    wanted = SiteInput(**given(body))

    async def work(stores: CustomerStores) -> str:
        account = await lifecycle.get_account(stores, call.account.id)
        check_not_deleted(account)
        return (await create_site(stores, call, wanted, account)).id

    site_id = await store.change(work)
    return await read_site_detail(store.read, activity, site_id, now=call.now)


async def list_customer_audit(
    call: CustomerCall, query: AuditQuery, store: Store[CustomerStores], keyring: Keyring
) -> AuditPage:
    """List the audit entries of a customer's account, newest first."""
    return await read_audit_page(store.read, keyring, call, query, account_id=call.account.id)


async def revoke_customer_token(call: CustomerCall, stores: CustomerStores) -> None:
    """Revoke an API token of a customer now."""
    await api_tokens.revoke_token(stores, call, call.account.id, call.params["tokenId"])


async def add_customer_member(
    call: CustomerCall, body: MemberInput, stores: CustomerStores, invitations: Invitations
) -> MemberInviteResult:
    """Add a member to an account; operators may add owners.

    A user with a password gets a notice by email. Other people get an invite link, by email and in this response, which
    is valid for 7 days.
    """
    check_not_deleted(call.account)
    member, link = await members.add_member(stores, call, call.account, body.email, body.role)
    if link is None:
        await invitations.send_notice(stores, call, call.account, member.email)
        return MemberInviteResult(member=member)
    url = await invitations.send_link(stores, call, call.account, member.email, link)
    return MemberInviteResult(member=member, invite_url=url, expires_at=Moment(link.link.expires_ms))


async def change_customer_member(call: CustomerCall, body: RoleInput, stores: CustomerStores) -> Member:
    """Change a member's role."""
    user_id = call.params["userId"]
    return await members.change_role(stores, call, call.account, user_id, body.role, actor_role=None)


async def remove_customer_member(call: CustomerCall, stores: CustomerStores) -> None:
    """Remove a member.

    The person's sessions in this account switch to another of their accounts.
    """
    await members.remove_member(stores, call, call.account, call.params["userId"], actor_role=None)


async def resend_customer_invite(call: CustomerCall, stores: CustomerStores, invitations: Invitations) -> InviteLink:
    """Send a new invite link to a member without a password."""
    check_not_deleted(call.account)
    membership, link = await members.resend_invite(stores, call, call.account, call.params["userId"])
    return InviteLink(invite_url=await invitations.send_link(stores, call, call.account, membership.email, link))


# The default of an absent body.
NO_REASON = SuspendUserInput()


class AccountsQuery(Query, frozen=True, kw_only=True):
    """Which users to list. Default: all."""

    q: Annotated[str, Meta(max_length=CUSTOMERS_QUERY_CHARACTERS)] = ""
    limit: Annotated[int, Meta(ge=LIST_PAGE.least, le=LIST_PAGE.most)] | UnsetType = UNSET
    cursor: str | UnsetType = UNSET


async def list_accounts(
    call: Call, query: AccountsQuery, store: Store[CustomerStores], keyring: Keyring
) -> Reply[AccountList]:
    """List users with their customers, one row per membership, newest first.

    Default: all of them. With `limit`, `nextCursor` leads to the next page. `q` is a part of an email address, a user's
    name or ID, or a customer's name.
    """

    async def read(behind: Position | None, limit: int) -> tuple[list[Account], Position | None]:
        return await store.read.customers.list_accounts(text=query.q, behind=behind, limit=limit)

    return await list_pages(AccountList, read, query, Cursors(keyring, call.route, query.q))


async def invite_account(
    call: Call, body: InviteInput, stores: CustomerStores, invitations: Invitations
) -> InviteResult:
    """Invite a person into a new customer or, with `customerId`, into an existing one.

    The link is valid for 7 days and is also sent by email. A user with a password needs no link and is added with `POST
    /v1/admin/customers/{id}/members`.
    """
    return await invitations.send(stores, call, await invite(stores, call, body))


async def suspend_user(call: Call, stores: CustomerStores, body: SuspendUserInput = NO_REASON) -> Account:
    """Suspend a user and end their sessions."""
    user = await _get_user(stores, call)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is already suspended.")
    await stores.users.save_status(user.id, UserStatus.SUSPENDED)
    await stores.user_sessions.end_sessions(user.id, call.now)
    # They would outlive the suspension.
    await end_links(stores, call, LinkKind.RESET, user.id)
    await _record_of_user(stores, call, Action.USER_SUSPEND, user, **given(body))
    return await _show_user(stores, user.id)


async def reactivate_user(call: Call, stores: CustomerStores) -> Account:
    """Reactivate a suspended user."""
    user = await _get_user(stores, call)
    if user.status is not UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is not suspended.")
    await stores.users.save_status(user.id, UserStatus.ACTIVE)
    await _record_of_user(stores, call, Action.USER_REACTIVATE, user)
    return await _show_user(stores, user.id)


async def create_reset_link(call: Call, stores: CustomerStores, urls: LinkUrls, messenger: Messenger) -> ResetLink:
    """Create a password reset link for a user.

    It works once within an hour and is also sent by email.
    """
    user = await _get_user(stores, call)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is suspended. Reactivate them first.")
    if user.password_hash is None:
        raise Refused("invalid_state", "The user has no password to reset. Resend the invitation instead.")
    issued = await issue_link(stores, call, LinkKind.RESET, user.id)
    await _record_of_user(stores, call, Action.USER_RESET_LINK, user)
    url = urls.reset_url(issued.secret, operator_call=call)
    await messenger.send(stores, call.now, reset_message(user.email, url=url, link_digest=issued.link.secret_digest))
    return ResetLink(reset_url=url)


async def reset_mfa(call: Call, stores: CustomerStores, messenger: Messenger) -> Account:
    """Turn off a user's two-factor authentication.

    The user then signs in with the password alone and may set it up again; sessions continue.
    """
    user = await _get_user(stores, call)
    if not await stores.users.disable_mfa(user.id):
        raise Refused("mfa_not_enabled", "The user has not turned on two-factor authentication.")
    await _record_of_user(stores, call, Action.USER_MFA_RESET, user)
    await messenger.send(stores, call.now, mfa_reset_message(user.email))
    return await _show_user(stores, user.id)


async def _show_user(stores: CustomerStores, user_id: str) -> Account:
    """Return a user with the account that a new session of theirs would work in."""
    user = await stores.users.find_user(user_id)
    assert user is not None, "the user is locked"
    chosen = choose_membership(await stores.members.list_memberships(user.id))
    known: dict[str, Any] = {}
    if chosen is not None:
        member, account = chosen
        known = {"role": member.role, "customer_id": account.id, "customer_name": account.name}
    return to_wire(
        user,
        Account,
        **known,
        user_id=user.id,
        status=member_status(user.status, has_password=user.password_hash is not None),
        mfa_enabled=user.has_mfa,
    )


async def _get_user(stores: CustomerStores, call: Call) -> StoredUser:
    user_id = call.params["userId"]
    # Under the lock, so that of two operators who suspend at once only one finds the user active.
    await stores.users.lock_user(user_id)
    user = await stores.users.find_user(user_id)
    if user is None:
        raise Refused("not_found", "There is no user with this ID.")
    return user


async def _record_of_user(stores: CustomerStores, call: Call, action: Action, user: StoredUser, **detail: Any) -> None:
    """Record an entry in the trail of each of the user's accounts, for their owners; else one without account."""
    places = await stores.members.list_memberships(user.id)
    account_ids: list[str | None] = [account.id for _, account in places]
    for account_id in account_ids or [None]:
        subject = Subject(account_id=account_id, target=user.id)
        await record(stores, call, action, subject, {"email": user.email, **detail})


async def invite(stores: AccountStores, call: Call, body: InviteInput) -> Invited:
    """Invite a person into an existing account, or into a new one as its owner."""
    email = canonical_email(body.email)
    name = None if isinstance(body.name, UnsetType) else check_name(body.name)
    if isinstance(body.customer_id, UnsetType):
        if body.role not in {AccountRole.OWNER, UNSET}:
            raise Refused("invalid_request", "role must be owner or omitted: a new customer needs an owner.")
        chosen = name or email if isinstance(body.customer_name, UnsetType) else body.customer_name
        account_name = check_name(chosen, what="customerName")
        return await found_account(stores, call, account_name, email=email, name=name)
    if not isinstance(body.customer_name, UnsetType):
        raise Refused("invalid_request", "Send customerId or customerName, not both.")
    account = await stores.accounts.find_account(body.customer_id)
    if account is None or account.status is AccountStatus.DELETED:
        raise Refused("invalid_request", "customerId does not match a customer.")
    role = AccountRole.MEMBER if isinstance(body.role, UnsetType) else body.role
    return await invite_newcomer(stores, call, account, role, email=email, name=name)


async def read_detail(
    stores: CustomerStores, activity: ActivityStore, account_id: str, *, now: Moment
) -> Reply[CustomerDetail]:
    """Return everything about one account, a deleted one included until it is purged. Its sites are sent in pages."""
    summary = await stores.customers.find_customer(account_id)
    account = await stores.accounts.find_account(account_id)
    if summary is None or account is None:
        raise Refused("not_found", "There is no customer with this ID.")
    deleted_ms = account.deleted_ms
    read = summary_pages(stores, activity, SiteFilter(account_id=account_id), now=now)

    async def read_sites(behind: Position | None, limit: int) -> tuple[list[CustomerSite], Position | None]:
        sites, last = await read(behind, limit)
        return await off_loop(len(sites), lambda: [to_wire(each, CustomerSite) for each in consumed(sites)]), last

    site_list, rest = await read_all(read_sites)
    detail = CustomerDetail(
        **{name: getattr(summary, name) for name in summary.__struct_fields__},
        member_list=await members.list_members(stores, account_id),
        site_list=site_list,
        tokens=await stores.api_tokens.list_tokens(account_id),
        usage=await stores.accounts.read_usage(account_id, now),
        audit=await stores.audit.list_account_events(account_id, limit=CUSTOMER_DETAIL_AUDIT_EVENTS),
        require_mfa=account.require_mfa,
        oidc=account.oidc,
        suspended_reason=optional(account.suspended_reason),
        deleted_at=optional_moment(deleted_ms),
        purge_at=optional_moment(None if deleted_ms is None else deleted_ms + PURGE_MS),
    )
    return Reply(body=detail, rest=rest, rest_of="site_list")


async def change_limits(stores: AccountStores, call: Call, account_id: str, patch: LimitsPatch) -> None:
    """Change limits. Sites and members beyond a lowered limit remain; only new ones are rejected."""
    account = await get_account(stores, account_id)
    after = replace(account.limits, **given(patch))
    changes = diff(account.limits, after, Limits.__struct_fields__)
    if not changes:
        return
    await stores.accounts.save_account(replace(account, limits=after))
    await record(stores, call, Action.ACCOUNT_LIMITS, Subject(account_id=account.id, target=account.id), changes)


def check_not_deleted(account: StoredAccount) -> None:
    """Reject changes that give a deleted account anything new."""
    if account.status is AccountStatus.DELETED:
        raise Refused("invalid_state", "The customer is deleted. Reactivate it first.")
