"""Reset links for users who forgot their password. Responses never reveal whether an address belongs to a user."""

from dataclasses import dataclass

from agentgate.http.call import Call
from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import UserStatus
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.tasks.background import BackgroundTasks
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import choose_account_id, reachable
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.links import LinkUrls, issue_link
from agentgate.people.identity.records import LinkKind, StoredUser
from agentgate.people.identity.sign_in_limits import SignInAttempt, SignInLimits
from agentgate.people.outbox.messages import Messenger, reset_message

PER_SOURCE = Window("forgot-source", 10, 15 * MINUTE_MS)
OVER_ALL = Window("forgot-all", 100, MINUTE_MS)
PER_DEVICE = Window("forgot-device", 10, 15 * MINUTE_MS)
# A user who has received this many messages within the hour has one to use. More would only fill the mailbox.
PER_EMAIL = Window("forgot-email", 3, HOUR_MS)
# The owner's own browser has a separate limit, however many links strangers have requested.
PER_EMAIL_OF_DEVICE = Window("forgot-email-device", 3, HOUR_MS)


@dataclass(frozen=True, kw_only=True)
class PasswordReset:
    """Accepts requests for reset links and sends the links after the response, so that its time reveals no address."""

    store: Store[AccountStores]
    limiter: Limiter
    limits: SignInLimits
    background: BackgroundTasks
    messenger: Messenger
    urls: LinkUrls

    async def ask(self, call: Call, email: str, *, token: str | None) -> None:
        """Accept a request for a canonical address; reject it if one source or device sends too many.

        If all sources together send too many, unknown devices wait or pass the browser check.
        """
        attempt = self.limits.attempt(call, email)
        if await self._may_send(attempt, token):
            self.background.start("password reset", lambda: self._send(call, email))

    async def _may_send(self, attempt: SignInAttempt, token: str | None) -> bool:
        if attempt.known is not None:
            await self.limiter.require(PER_DEVICE, attempt.known)
            return await self.limiter.count(PER_EMAIL_OF_DEVICE, attempt.known)
        await self.limiter.require(PER_SOURCE, attempt.source)
        if not await self.limiter.count(OVER_ALL, ""):
            await self.limits.pass_or_wait(attempt, token, purpose="forgot")
        return await self.limiter.count(PER_EMAIL, attempt.email)

    async def _send(self, call: Call, email: str) -> None:
        user = await self.store.read.users.find_user_by_email(email)
        if user is not None:
            user_id = user.id
            await self.store.change(lambda stores: self._issue(stores, call, user_id))

    async def _issue(self, stores: AccountStores, call: Call, user_id: str) -> None:
        await stores.users.lock_user(user_id)
        user = await stores.users.find_user(user_id)
        if user is None or not may_reset(user):
            return
        memberships = await stores.members.list_memberships(user.id)
        if memberships and not reachable(memberships, ""):
            # A password would open none of their accounts.
            return
        issued = await issue_link(stores, call, LinkKind.RESET, user.id)
        url = self.urls.reset_url(issued.secret)
        message = reset_message(user.email, url=url, link_digest=issued.link.secret_digest)
        await self.messenger.send(stores, call.now, message)
        account_id = choose_account_id(memberships)
        subject = Subject(account_id=account_id, target=user.id)
        await record(stores, call, Action.USER_RESET_LINK, subject, {"method": "forgot"})


def may_reset(user: StoredUser) -> bool:
    """Return whether a link would be of use: not to the suspended, nor to who was invited and has no password yet."""
    return user.status is UserStatus.ACTIVE and user.password_hash is not None
