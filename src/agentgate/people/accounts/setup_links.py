"""The first owner's link: it creates a user with a password, and the account of the installation.

It exists only while no user has a password or an identity provider. Every change holds one lock, so that of two uses at
once one succeeds.
"""

from typing import Protocol

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.errors import Refused
from agentgate.lib.secrets import digest, new_secret
from agentgate.people.accounts.lifecycle import create_account, get_account
from agentgate.people.accounts.records import StoredAccount
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.links import INVITE_MS, IssuedLink

# Each start prints one; a service that restarts in a loop must not fill the table.
MOST_LINKS = 20
TAKEN = "A user exists already. Create a link for a user with a password with agentgate reset-link EMAIL."


class StoredSetupLink(Struct, frozen=True, kw_only=True):
    """A link that was not used yet."""

    secret_digest: bytes
    created_ms: int
    expires_ms: int


_LINKS = RecordTable("setup_link", StoredSetupLink)


class SetupLinkStore(LockingRepository):
    """Links of the first owner, and the state that they depend on."""

    async def lock_setup(self) -> None:
        """Keep other units of work from making or using a link until this one is done."""
        await self._session.lock("setup-link")

    async def has_user(self) -> bool:
        """Return whether any user can sign in."""
        return bool(
            await self._session.all(
                "SELECT 1 FROM users WHERE password_hash IS NOT NULL UNION ALL SELECT 1 FROM oidc_identity LIMIT 1"
            )
        )

    async def add_link(self, link: StoredSetupLink) -> None:
        """Add a link; only the newest ones are kept."""
        await _LINKS.add(self._session, link)
        await self._session.run(
            f"""DELETE FROM setup_link WHERE secret_digest NOT IN
                (SELECT secret_digest FROM setup_link ORDER BY created_ms DESC, secret_digest LIMIT {MOST_LINKS})"""  # noqa: S608
        )

    async def find_link(self, secret_digest: bytes, now_ms: int) -> StoredSetupLink | None:
        """Return a link that has not expired; None without one."""
        return await _LINKS.find(self._session, "secret_digest = $1 AND expires_ms > $2", secret_digest, now_ms)

    async def delete_links(self) -> None:
        await self._session.run("DELETE FROM setup_link")

    async def list_accounts_without_members(self) -> list[str]:
        """Return the active accounts without members; the service's own one is not among them."""
        rows = await self._session.all(
            """SELECT id FROM account WHERE status = 'active' AND protected = 0
                AND NOT EXISTS (SELECT 1 FROM membership WHERE membership.account_id = account.id)
                AND NOT EXISTS (SELECT 1 FROM service_site JOIN site ON site.site_key = service_site.site_key
                    WHERE site.account_id = account.id)
                ORDER BY created_ms, id LIMIT 2"""
        )
        return [str(row[0]) for row in rows]


class SetupStores(AccountStores, Protocol):
    """The repositories of accounts, with the links."""

    setup_links: SetupLinkStore


async def issue_setup_link(stores: SetupStores, call: Call) -> IssuedLink:
    """Create a link; reject the call if any user can sign in."""
    await stores.setup_links.lock_setup()
    if await stores.setup_links.has_user():
        raise Refused("invalid_state", TAKEN)
    secret = new_secret()
    link = StoredSetupLink(secret_digest=digest(secret), created_ms=call.now, expires_ms=call.now + INVITE_MS)
    await stores.setup_links.add_link(link)
    await record(stores, call, Action.ACCOUNT_SETUP_LINK, Subject(), {})
    return IssuedLink(secret, link)


async def peek_setup_link(stores: SetupStores, call: Call, secret: str) -> None:
    """Reject a link that is unknown, used or expired, or that came too late: a user can sign in."""
    found = await stores.setup_links.find_link(digest(secret), call.now)
    if found is None or await stores.setup_links.has_user():
        raise Refused("invalid_link")


async def spend_setup_link(stores: SetupStores, call: Call, secret: str) -> None:
    """Use a link up, and with it all others."""
    await stores.setup_links.lock_setup()
    await peek_setup_link(stores, call, secret)
    await stores.setup_links.delete_links()


async def find_or_create_first_account(stores: SetupStores, call: Call, name: str) -> StoredAccount:
    """Return the account of the sites that were made before the link was used; with none or several, a new one."""
    found = await stores.setup_links.list_accounts_without_members()
    return await get_account(stores, found[0]) if len(found) == 1 else await create_account(stores, call, name)
