"""Customers over HTTP, for operators: accounts, their members, users of all accounts, and requests for an account."""

from typing import Annotated, Literal

from msgspec import Meta

from agentgate.http.call import Call
from agentgate.lib.database import Store
from agentgate.lib.enums import AccessRequestStatus, AccountStatus
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import ACCESS_REQUESTS_LIMIT, CUSTOMERS_LIMIT, CUSTOMERS_QUERY_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, given
from agentgate.people.accounts import access_requests, api_tokens, lifecycle, members
from agentgate.people.accounts.records import (
    AccessRequest,
    AccessRequestList,
    ConfirmInput,
    DeletedAccount,
    Member,
    MemberInput,
    MemberInviteResult,
    RoleInput,
)
from agentgate.people.audit.endpoints import AuditQuery, read_audit_page
from agentgate.people.audit.records import AuditPage
from agentgate.people.identity.links import LinkUrls
from agentgate.people.outbox.messages import Messenger, mfa_reset_message, reset_message
from agentgate.protection.customers import editing
from agentgate.protection.customers.editing import Invitations, check_not_deleted, invite, read_detail
from agentgate.protection.customers.guards import CustomerCall
from agentgate.protection.customers.records import (
    Account,
    AccountList,
    CustomerDetail,
    CustomerFilter,
    CustomerList,
    CustomerPatch,
    CustomerSiteInput,
    InviteInput,
    InviteLink,
    InviteResult,
    ResetLink,
    SuspendAccountInput,
    SuspendUserInput,
)
from agentgate.protection.customers.repository import CustomerStores
from agentgate.protection.sites.detail import read_detail as read_site_detail
from agentgate.protection.sites.editing import create_site
from agentgate.protection.sites.records import SiteDetail, SiteInput
from agentgate.protection.sites.repository import ActivityStore


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


async def approve_access_request(call: Call, store: Store[CustomerStores], invitations: Invitations) -> InviteResult:
    """Approve a request: create a customer and invite its owner.

    The customer is named by the request's company, else by its name. The link is good for 7 days and also goes out
    by e-mail. Somebody who has a password already cannot be invited anew: the request stays pending.
    """

    async def work(stores: CustomerStores) -> InviteResult:
        return await invitations.send(stores, call, await access_requests.approve(stores, call, call.params["id"]))

    return await store.change(work)


async def decline_access_request(call: Call, store: Store[CustomerStores]) -> AccessRequest:
    """Decline a request. No message goes out."""
    return await store.change(lambda stores: access_requests.decline(stores, call, call.params["id"]))


class CustomersQuery(Query, frozen=True, kw_only=True):
    """Which accounts to show. `q` is a part of the account's ID, its name or a member's e-mail address."""

    status: Literal["active", "suspended", "deleted", "all"] = "all"
    q: Annotated[str, Meta(max_length=CUSTOMERS_QUERY_CHARACTERS)] = ""
    limit: Annotated[int, Meta(ge=CUSTOMERS_LIMIT.least, le=CUSTOMERS_LIMIT.most)] = CUSTOMERS_LIMIT.default


async def list_customers(call: Call, query: CustomersQuery, store: Store[CustomerStores]) -> CustomerList:  # noqa: ARG001 - every handler is given its call
    """List customers, newest first."""
    status = None if query.status == "all" else AccountStatus(query.status)
    wanted = CustomerFilter(status=status, text=query.q, limit=query.limit)
    return CustomerList(items=await store.read.customers.list_customers(wanted))


async def read_customer(call: CustomerCall, store: Store[CustomerStores], activity: ActivityStore) -> CustomerDetail:
    """Read a customer with members, sites, API tokens, usage and newest audit events."""
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def change_customer(
    call: CustomerCall, body: CustomerPatch, store: Store[CustomerStores], activity: ActivityStore
) -> CustomerDetail:
    """Rename a customer or change its limits; absent fields keep their value."""
    await store.change(lambda stores: editing.change_customer(stores, call, call.account.id, body))
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def delete_customer(call: CustomerCall, body: ConfirmInput, store: Store[CustomerStores]) -> DeletedAccount:
    """Delete a customer.

    `confirm` must be its name. No site may be in `enforce` mode. Credentials, sessions and API tokens end now, data
    is purged 30 days later; until then the customer can be reactivated. Its sites stay, but issue no more challenges.
    """
    # The sites are not touched: the browser check reads the account's status, so that they come back with it.
    return await store.change(lambda stores: lifecycle.delete_account(stores, call, call.account.id, body.confirm))


async def suspend_customer(
    call: CustomerCall, body: SuspendAccountInput, store: Store[CustomerStores], activity: ActivityStore
) -> CustomerDetail:
    """Suspend a customer.

    Console and API refuse its members. Its sites go on protecting.
    """
    reason = body.reason.strip()
    if not reason:
        raise Refused("invalid_request", "reason must say something.")
    await store.change(lambda stores: lifecycle.suspend_account(stores, call, call.account.id, reason))
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def reactivate_customer(
    call: CustomerCall, store: Store[CustomerStores], activity: ActivityStore
) -> CustomerDetail:
    """Reactivate a suspended customer, or one that was deleted less than 30 days ago.

    Credentials and API tokens that were revoked stay revoked.
    """
    await store.change(lambda stores: lifecycle.reactivate_account(stores, call, call.account.id))
    return await read_detail(store.read, activity, call.account.id, now=call.now)


async def create_customer_site(
    call: CustomerCall, body: CustomerSiteInput, store: Store[CustomerStores], activity: ActivityStore
) -> SiteDetail:
    """Create a site for a customer, whose limits do not bind operators."""
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
    """List what happened in a customer's account, newest first."""
    return await read_audit_page(store.read, keyring, call, query, account_id=call.account.id)


async def revoke_customer_token(call: CustomerCall, store: Store[CustomerStores]) -> None:
    """Revoke an API token of a customer now."""
    token_id = call.params["tokenId"]
    await store.change(lambda stores: api_tokens.revoke_token(stores, call, call.account.id, token_id))


async def add_customer_member(
    call: CustomerCall, body: MemberInput, store: Store[CustomerStores], invitations: Invitations
) -> MemberInviteResult:
    """Add a member to an account; operators may add owners.

    A person who has a password gets a notice by e-mail. Anybody else gets an invite link, by e-mail and in this
    answer, which is good for 7 days.
    """

    async def work(stores: CustomerStores) -> MemberInviteResult:
        check_not_deleted(call.account)
        member, link = await members.invite_member(stores, call, call.account, body.email, body.role)
        if link is None:
            await invitations.send_notice(stores, call, call.account, member.email)
            return MemberInviteResult(member=member)
        url = await invitations.send_link(stores, call, call.account, member.email, link)
        return MemberInviteResult(member=member, invite_url=url, expires_at=Moment(link.link.expires_ms))

    return await store.change(work)


async def change_customer_member(call: CustomerCall, body: RoleInput, store: Store[CustomerStores]) -> Member:
    """Change a member's role."""
    user_id = call.params["userId"]
    return await store.change(
        lambda stores: members.change_role(stores, call, call.account, user_id, body.role, actor_role=None)
    )


async def remove_customer_member(call: CustomerCall, store: Store[CustomerStores]) -> None:
    """Remove a member.

    The person's sessions in this account go on in another of theirs.
    """
    user_id = call.params["userId"]
    await store.change(lambda stores: members.remove_member(stores, call, call.account, user_id, actor_role=None))


async def resend_customer_invite(
    call: CustomerCall, store: Store[CustomerStores], invitations: Invitations
) -> InviteLink:
    """Send a member who has no password yet a fresh invite link."""

    async def work(stores: CustomerStores) -> InviteLink:
        check_not_deleted(call.account)
        membership, link = await members.resend_invite(stores, call, call.account, call.params["userId"])
        return InviteLink(invite_url=await invitations.send_link(stores, call, call.account, membership.email, link))

    return await store.change(work)


# What an absent body means.
NO_REASON = SuspendUserInput()


async def list_accounts(call: Call, store: Store[CustomerStores]) -> AccountList:  # noqa: ARG001 - every handler is given its call
    """List users with their customers, one row for each membership, newest first."""
    return AccountList(items=await store.read.customers.list_accounts())


async def invite_account(
    call: Call, body: InviteInput, store: Store[CustomerStores], invitations: Invitations
) -> InviteResult:
    """Invite somebody into a new customer, or with `customerId` into an existing one.

    The link is good for 7 days and also goes out by e-mail. Somebody who has a password already needs no link and is
    added with `POST /v1/admin/customers/{id}/members`.
    """

    async def work(stores: CustomerStores) -> InviteResult:
        return await invitations.send(stores, call, await invite(stores, call, body))

    return await store.change(work)


async def suspend_user(call: Call, store: Store[CustomerStores], body: SuspendUserInput = NO_REASON) -> Account:
    """Suspend a user and end their sessions."""
    user_id = call.params["userId"]
    await store.change(lambda stores: editing.suspend_user(stores, call, user_id, body.reason))
    return await editing.read_account(store.read, user_id)


async def reactivate_user(call: Call, store: Store[CustomerStores]) -> Account:
    """Let a suspended user sign in again."""
    user_id = call.params["userId"]
    await store.change(lambda stores: editing.reactivate_user(stores, call, user_id))
    return await editing.read_account(store.read, user_id)


async def create_reset_link(
    call: Call, store: Store[CustomerStores], urls: LinkUrls, messenger: Messenger
) -> ResetLink:
    """Make a link with which a user can set a new password.

    It is good once and for an hour, and also goes out by e-mail.
    """

    async def work(stores: CustomerStores) -> ResetLink:
        user, issued = await editing.make_reset_link(stores, call, call.params["userId"])
        url = urls.reset_url(issued.secret, operator_call=call)
        message = reset_message(user.email, url=url, link_digest=issued.link.secret_digest)
        await messenger.send(stores, call, message)
        return ResetLink(reset_url=url)

    return await store.change(work)


async def reset_mfa(call: Call, store: Store[CustomerStores], messenger: Messenger) -> Account:
    """Turn a user's two-factor authentication off.

    The user signs in with the password alone and may set it up again; sessions go on.
    """
    user_id = call.params["userId"]

    async def work(stores: CustomerStores) -> None:
        user = await editing.reset_mfa(stores, call, user_id)
        await messenger.send(stores, call, mfa_reset_message(user.email))

    await store.change(work)
    return await editing.read_account(store.read, user_id)
