"""Members of any account, as operators add, change and remove them."""

from agentgate.lib.database import Store
from agentgate.lib.moment import Moment
from agentgate.people.accounts import members
from agentgate.people.accounts.records import Member, MemberInput, MemberInviteResult, RoleInput
from agentgate.protection.customers.editing import check_not_deleted
from agentgate.protection.customers.guards import CustomerCall
from agentgate.protection.customers.invitations import Invitations
from agentgate.protection.customers.records import InviteLink
from agentgate.protection.customers.repository import CustomerStores


async def add_customer_member(
    call: CustomerCall, body: MemberInput, store: Store[CustomerStores], invitations: Invitations
) -> MemberInviteResult:
    """Add a member to an account; operators may add owners.

    A person who has a password gets a notice by e-mail. Anybody else gets an invite link, by e-mail and in this
    answer, which is good for 7 days.
    """

    async def work(stores: CustomerStores) -> MemberInviteResult:
        check_not_deleted(call.account)
        membership, link = await members.invite_member(stores, call, call.account, body.email, body.role)
        member = members.member_record(membership)
        if link is None:
            await invitations.send_notice(stores, call, call.account, membership.email)
            return MemberInviteResult(member=member)
        url = await invitations.send_link(stores, call, call.account, membership.email, link)
        return MemberInviteResult(member=member, invite_url=url, expires_at=Moment(link.link.expires_ms))

    return await store.change(work)


async def change_customer_member(call: CustomerCall, body: RoleInput, store: Store[CustomerStores]) -> Member:
    """Change a member's role."""
    user_id = call.params["userId"]
    membership = await store.change(
        lambda stores: members.change_role(stores, call, call.account, user_id, body.role, actor_role=None)
    )
    return members.member_record(membership)


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
