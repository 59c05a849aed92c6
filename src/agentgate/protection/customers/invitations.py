"""Inviting people on an operator's behalf: the link that the operator is shown, and the message that carries it."""

from msgspec import UNSET, UnsetType

from agentgate.http.call import Call
from agentgate.lib.enums import AccountRole, AccountStatus
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.people.accounts.lifecycle import Invited, found_account, invite_newcomer
from agentgate.people.accounts.records import StoredAccount
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.links import IssuedLink, LinkUrls
from agentgate.people.identity.users import canonical_email
from agentgate.people.outbox.messages import Messenger, added_message, invite_message
from agentgate.protection.customers.records import InviteInput, InviteResult


class Invitations:
    """Tells people that they are invited. What goes out is put into the outbox within the unit of work."""

    def __init__(self, messenger: Messenger, urls: LinkUrls) -> None:
        self._messenger = messenger
        self._urls = urls

    async def send_link(
        self, stores: AccountStores, call: Call, account: StoredAccount, email: str, link: IssuedLink
    ) -> str:
        """Send an invite link; return it, for the operator."""
        url = self._urls.invite_url(link.secret, operator_call=call)
        message = invite_message(email, account_name=account.name, url=url, link_digest=link.link.secret_digest)
        await self._messenger.send(stores, call, message)
        return url

    async def send_notice(self, stores: AccountStores, call: Call, account: StoredAccount, email: str) -> None:
        """Tell somebody who can sign in already that they are in one more account."""
        url = self._urls.console_url(operator_call=call)
        await self._messenger.send(stores, call, added_message(email, account_name=account.name, url=url))

    async def send(self, stores: AccountStores, call: Call, invited: Invited) -> InviteResult:
        """Send a newcomer's invite link, and say so."""
        email = invited.membership.email
        return InviteResult(
            customer_id=invited.account.id,
            user_id=invited.membership.user_id,
            email=email,
            invite_url=await self.send_link(stores, call, invited.account, email, invited.link),
            expires_at=Moment(invited.link.link.expires_ms),
        )


async def invite(stores: AccountStores, call: Call, body: InviteInput) -> Invited:
    """Invite somebody into an existing account, or into a new one as its owner."""
    email = canonical_email(body.email)
    name = None if isinstance(body.name, UnsetType) else check_name(body.name)
    if isinstance(body.customer_id, UnsetType):
        if body.role not in {AccountRole.OWNER, UNSET}:
            raise Refused("invalid_request", "role must be owner, or left out: a new customer needs an owner.")
        chosen = name or email if isinstance(body.customer_name, UnsetType) else body.customer_name
        account_name = check_name(chosen, what="customerName")
        return await found_account(stores, call, account_name, email=email, name=name)
    if not isinstance(body.customer_name, UnsetType):
        raise Refused("invalid_request", "Give customerId or customerName, not both.")
    account = await stores.accounts.find_account(body.customer_id)
    if account is None or account.status is AccountStatus.DELETED:
        raise Refused("invalid_request", "customerId names no customer.")
    role = AccountRole.MEMBER if isinstance(body.role, UnsetType) else body.role
    return await invite_newcomer(stores, call, account, role, email=email, name=name)
