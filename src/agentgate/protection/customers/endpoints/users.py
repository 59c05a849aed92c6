"""Users of all accounts, as operators list, invite, suspend and help them."""

from agentgate.http.call import Call
from agentgate.lib.database import Store
from agentgate.people.identity.links import LinkUrls
from agentgate.people.outbox.messages import Messenger, mfa_reset_message, reset_message
from agentgate.protection.customers import users
from agentgate.protection.customers.invitations import Invitations, invite
from agentgate.protection.customers.records import (
    Account,
    AccountList,
    InviteInput,
    InviteResult,
    ResetLink,
    SuspendUserInput,
)
from agentgate.protection.customers.repository import CustomerStores

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
    await store.change(lambda stores: users.suspend_user(stores, call, user_id, body.reason))
    return await users.read_account(store.read, user_id)


async def reactivate_user(call: Call, store: Store[CustomerStores]) -> Account:
    """Let a suspended user sign in again."""
    user_id = call.params["userId"]
    await store.change(lambda stores: users.reactivate_user(stores, call, user_id))
    return await users.read_account(store.read, user_id)


async def create_reset_link(
    call: Call, store: Store[CustomerStores], urls: LinkUrls, messenger: Messenger
) -> ResetLink:
    """Make a link with which a user can set a new password.

    It is good once and for an hour, and also goes out by e-mail.
    """

    async def work(stores: CustomerStores) -> ResetLink:
        user, issued = await users.make_reset_link(stores, call, call.params["userId"])
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
        user = await users.reset_mfa(stores, call, user_id)
        await messenger.send(stores, call, mfa_reset_message(user.email))

    await store.change(work)
    return await users.read_account(store.read, user_id)
