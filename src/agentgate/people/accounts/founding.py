"""A new account together with its first owner, who is invited to it."""

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.lib.enums import AccountRole, UserStatus
from agentgate.lib.errors import Refused
from agentgate.people.accounts.lifecycle import create_account
from agentgate.people.accounts.members import invite_member
from agentgate.people.accounts.records import StoredAccount, StoredMembership
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.identity.links import IssuedLink
from agentgate.people.identity.users import find_or_create_user


class Invited(Struct, frozen=True, kw_only=True):
    """Somebody who has no password yet, their new place in an account, and the link that will let them in."""

    account: StoredAccount
    membership: StoredMembership
    link: IssuedLink


async def found_account(
    stores: AccountStores, call: Call, account_name: str, *, email: str, name: str | None
) -> Invited:
    """Create an account and invite its owner."""
    account = await create_account(stores, call, account_name)
    return await invite_newcomer(stores, call, account, AccountRole.OWNER, email=email, name=name)


async def invite_newcomer(
    stores: AccountStores, call: Call, account: StoredAccount, role: AccountRole, *, email: str, name: str | None
) -> Invited:
    """Add somebody who has no password yet; refuse somebody who has, for whom an invite link would be of no use."""
    user = await find_or_create_user(stores, call, email, name=name)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The address is that of a suspended user; reactivate the user first.")
    membership, link = await invite_member(stores, call, account, email, role)
    if link is None:
        raise Refused(
            "already_active",
            "The address is that of a user who has a password already. Add them to an account as a member, or let"
            " them create another account themselves.",
        )
    return Invited(account=account, membership=membership, link=link)
