"""Members' actions on an account: on the account itself, its members, its API tokens. No response contains a link."""

from msgspec import UnsetType

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountRole, ConsolePermission
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, to_wire
from agentgate.people.accounts import api_tokens, lifecycle, members
from agentgate.people.accounts.guards import MemberCall
from agentgate.people.accounts.members import lock_acting_role
from agentgate.people.accounts.records import (
    AccountChange,
    ApiTokenInput,
    ApiTokenList,
    ApiTokenSecret,
    ConfirmInput,
    DeletedAccount,
    Member,
    MemberInput,
    MemberInviteResult,
    MemberList,
    OidcInput,
    OidcPolicy,
    OwnAccount,
    RoleInput,
    StoredAccount,
    TransferInput,
)
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.links import IssuedLink, LinkUrls
from agentgate.people.identity.oidc import Issuers
from agentgate.people.identity.users import canonical_email
from agentgate.people.outbox.messages import MailMessage, Messenger, invite_message


async def read_own_account(call: MemberCall, store: Store[AccountStores], issuers: Issuers) -> OwnAccount:
    """Read the account: its state, limits and usage."""
    return await _own_account(store.read, call, issuers, call.account, call.role)


async def change_own_account(
    call: MemberCall, body: AccountChange, stores: AccountStores, issuers: Issuers
) -> OwnAccount:
    """Rename the account, require two-factor authentication of all members, or choose an identity provider.

    Only owners can change `oidc`. To turn `only` on, sign in with the identity provider first.
    """
    role = await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.ACCOUNT_WRITE)
    account = await lifecycle.get_account(stores, call.account.id)
    if not isinstance(body.name, UnsetType):
        account = await lifecycle.rename_account(stores, call, account.id, body.name)
    if not isinstance(body.require_mfa, UnsetType):
        if body.require_mfa:
            await _check_has_mfa(stores, call)
        account = await lifecycle.change_mfa_policy(stores, call, account.id, require_mfa=body.require_mfa)
    if not isinstance(body.oidc, UnsetType):
        account = await _change_oidc(stores, call, body.oidc, issuers)
    return await _own_account(stores, call, issuers, account, role)


async def delete_own_account(call: MemberCall, body: ConfirmInput, stores: AccountStores) -> DeletedAccount:
    """Delete the account.

    `confirm` is the account's name. No site may be in `enforce` mode. Credentials and API tokens end immediately. The
    data is purged after 30 days.
    """
    await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.ACCOUNT_DELETE)
    return await lifecycle.delete_account(stores, call, call.account.id, body.confirm)


async def transfer_own_account(
    call: MemberCall, body: TransferInput, stores: AccountStores, issuers: Issuers
) -> OwnAccount:
    """Transfer the account to another member; the caller becomes admin."""
    await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.ACCOUNT_DELETE)
    assert call.user_id is not None, "only a user passes the lines above"
    account = await lifecycle.transfer_ownership(
        stores, call, call.account.id, from_user_id=call.user_id, to_user_id=body.user_id
    )
    return await _own_account(stores, call, issuers, account, AccountRole.ADMIN)


async def _change_oidc(stores: AccountStores, call: MemberCall, body: OidcInput, issuers: Issuers) -> StoredAccount:
    # An identity provider admits whom it likes, so only an owner may choose it.
    await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.ACCOUNT_DELETE)
    if body.issuer and body.issuer not in issuers.names:
        raise Refused("invalid_request", "issuer must be one of oidcIssuers.")
    if body.only and call.issuer != body.issuer:
        # Proves that it works, and keeps this owner from locking themselves out.
        raise Refused("invalid_state", "Sign in with this identity provider first. Then turn only on.")
    return await lifecycle.change_oidc(stores, call, call.account.id, to_wire(body, OidcPolicy))


async def _check_has_mfa(stores: AccountStores, call: MemberCall) -> None:
    # A caller without two-factor authentication would be locked out with the next request.
    user = await stores.users.find_user(call.user_id) if call.user_id is not None else None
    if user is None or not (user.has_mfa or call.issuer):
        raise Refused(
            "mfa_not_enabled", "Turn on two-factor authentication for yourself before you require it of others."
        )


async def _own_account(
    stores: AccountStores, call: MemberCall, issuers: Issuers, account: StoredAccount, role: AccountRole | None
) -> OwnAccount:
    usage = await stores.accounts.read_usage(account.id, call.now)
    return to_wire(account, OwnAccount, usage=usage, oidc=account.oidc, oidc_issuers=issuers.names, role=optional(role))


# Each of these sends a mail to an address of the caller's choice, so that none becomes a nuisance to a stranger.
INVITES = Window("invite", 200, HOUR_MS)
INVITES_TO_ONE = Window("invite-again", 5, HOUR_MS)
TOO_MANY = "Too many invitations were sent. Try again later."


async def list_members(call: MemberCall, store: Store[AccountStores]) -> MemberList:
    """List the members, longest-standing first, then pending invitations."""
    return MemberList(items=await members.list_members(store.read, call.account.id))


async def invite_member(
    call: MemberCall,
    body: MemberInput,
    *,
    store: Store[AccountStores],
    messenger: Messenger,
    urls: LinkUrls,
    limiter: Limiter,
) -> MemberInviteResult:
    """Invite a person by email.

    The person becomes a member by accepting. Until then the response is the same for known and unknown addresses. Only
    owners can invite owners.
    """
    await limiter.require(INVITES, call.account.id, TOO_MANY)
    # By address, because an invitation that is removed and sent again has another ID.
    await limiter.require(INVITES_TO_ONE, f"{call.account.id}:{canonical_email(body.email)}", TOO_MANY)

    async def work(stores: AccountStores) -> tuple[Member, IssuedLink]:
        role = await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.MEMBERS_WRITE)
        members.check_may_touch(role, body.role)
        invited, issued = await members.invite_member(stores, call, call.account, body.email, body.role)
        await messenger.send(stores, call.now, _message(urls, call.account, invited, issued))
        return invited, issued

    invited, issued = await store.change(work)
    return MemberInviteResult(member=invited, expires_at=Moment(issued.link.expires_ms))


async def change_member(call: MemberCall, body: RoleInput, stores: AccountStores) -> Member:
    """Change a member's role.

    Only owners can add or change owners. An account has at least one owner.
    """
    role = await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.MEMBERS_WRITE)
    return await members.change_role(stores, call, call.account, call.params["userId"], body.role, actor_role=role)


async def remove_member(call: MemberCall, stores: AccountStores) -> None:
    """Remove a member, or an invitation.

    Removing others requires `members:write`; every member can leave. Only owners can remove owners. An account has at
    least one owner.
    """
    user_id = call.params["userId"]
    needed = ConsolePermission.MEMBERS_READ if user_id == call.user_id else ConsolePermission.MEMBERS_WRITE
    if needed not in call.permissions:
        raise Refused("forbidden", f"You lack the permission {needed}, so you can remove only yourself.")

    role = await lock_acting_role(stores, call.account.id, call.user_id, needed)
    await members.remove_member(stores, call, call.account, user_id, actor_role=role)


async def resend_invite(
    call: MemberCall, store: Store[AccountStores], messenger: Messenger, urls: LinkUrls, limiter: Limiter
) -> MemberInviteResult:
    """Send a new link for an invitation or to a member without a password."""
    await limiter.require(INVITES_TO_ONE, f"{call.account.id}:{call.params['userId']}", TOO_MANY)

    async def work(stores: AccountStores) -> tuple[Member, IssuedLink]:
        await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.MEMBERS_WRITE)
        found, issued = await members.resend_invite(stores, call, call.account, call.params["userId"])
        await messenger.send(stores, call.now, _message(urls, call.account, found, issued))
        return found, issued

    found, issued = await store.change(work)
    return MemberInviteResult(member=found, expires_at=Moment(issued.link.expires_ms))


def _message(urls: LinkUrls, account: StoredAccount, member: Member, issued: IssuedLink) -> MailMessage:
    return invite_message(
        member.email,
        account_name=account.name,
        url=urls.invite_url(issued.secret),
        link_digest=issued.link.secret_digest,
    )


async def list_tokens(call: MemberCall, store: Store[AccountStores]) -> ApiTokenList:
    """List the account's API tokens, newest first."""
    return ApiTokenList(items=await store.read.api_tokens.list_tokens(call.account.id))


async def create_token(call: MemberCall, body: ApiTokenInput, stores: AccountStores) -> ApiTokenSecret:
    """Create an API token.

    The secret is only in this response.
    """
    token = api_tokens.new_token(call, body, call.permissions)

    await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.TOKENS_WRITE)
    return await api_tokens.create_token(stores, call, call.account.id, token)


async def revoke_token(call: MemberCall, stores: AccountStores) -> None:
    """Revoke an API token now."""
    await api_tokens.revoke_token(stores, call, call.account.id, call.params["id"])
