"""One-time links: made, looked at, spent and ended, and the addresses that carry them. The store knows digests only.

None of these functions leaves an audit entry: what the link is made or used for does.
"""

from typing import Protocol

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import ActorKind
from agentgate.lib.errors import Refused
from agentgate.lib.secrets import digest, new_secret
from agentgate.people.identity.records import LinkKind, StoredLink
from agentgate.people.identity.repository import IdentityStores

INVITE_MS = limits.INVITE_LINK_DAYS * DAY_MS
# Hosts of a listener that is open on all addresses. A link to such a host does not work.
EVERY_ADDRESS = frozenset({"0.0.0.0", "[::]", "::"})  # noqa: S104 - compared with, not listened on
RESET_MS = limits.PASSWORD_RESET_LINK_HOURS * HOUR_MS


class Issued(Protocol):
    """The fields that are stored of a link: a `StoredLink`, or an invitation that has one."""

    @property
    def secret_digest(self) -> bytes: ...

    @property
    def expires_ms(self) -> int: ...


class IssuedLink(Struct, frozen=True):
    """A new link with its secret, which exists here and in the message only."""

    secret: str
    link: Issued


async def issue_link(
    stores: IdentityStores, call: Call, kind: LinkKind, user_id: str, *, account_id: str | None = None
) -> IssuedLink:
    """Create a link; the user's earlier ones of the kind end, with an account those for it only."""
    # Without the lock, two calls at once would each end the earlier links and each leave a new one.
    await stores.users.lock_user(user_id)
    await end_links(stores, call, kind, user_id, account_id=account_id)
    secret = new_secret()
    link = StoredLink(
        secret_digest=digest(secret),
        kind=kind,
        user_id=user_id,
        account_id=account_id,
        created_ms=call.now,
        expires_ms=call.now + (INVITE_MS if kind is LinkKind.INVITE else RESET_MS),
    )
    await stores.links.add_link(link)
    return IssuedLink(secret, link)


async def peek_link(stores: IdentityStores, call: Call, kind: LinkKind, secret: str) -> StoredLink:
    """Return what a link is for without using it; reject one that is unknown, of another kind, used or expired."""
    link = await stores.links.find_link(digest(secret))
    if link is None or link.kind is not kind or link.used_ms is not None or call.now >= link.expires_ms:
        raise Refused("invalid_link")
    return link


async def spend_link(stores: IdentityStores, call: Call, kind: LinkKind, secret: str) -> StoredLink:
    """Use a link up; of concurrent attempts, one succeeds. All other links of the user end with it.

    Using a link sets a password: an older invitation must not be a second way to do so afterwards.
    """
    link = await peek_link(stores, call, kind, secret)
    if not await stores.links.spend_link(link.secret_digest, call.now):
        raise Refused("invalid_link")
    # A used link has reached its recipient, by mail or from an operator.
    await stores.outbox.clear_body_of_link(link.secret_digest, used_ms=call.now)
    for other in LinkKind:
        await end_links(stores, call, other, link.user_id)
    return link


async def end_links(
    stores: IdentityStores, call: Call, kind: LinkKind, user_id: str, *, account_id: str | None = None
) -> None:
    """End the user's unused links of a kind, with an account those for it only, and delete the messages' bodies."""
    for secret_digest in await stores.links.end_links(user_id, kind, call.now, account_id=account_id):
        await stores.outbox.clear_body_of_link(secret_digest)


class LinkUrls:
    """Writes links out. The secret follows the `#`, and browsers do not send this part."""

    def __init__(self, public_base_url: str, public_listen: str) -> None:
        self._public_base_url = public_base_url.rstrip("/")
        # Host and port of the public listener, the host of IPv6 in brackets.
        self._host, _, self._port = public_listen.rpartition(":")

    def note_port(self, port: int) -> None:
        """Note the port that the public listener really has: it may have been opened on any free one."""
        self._port = str(port)

    def invite_url(self, secret: str, *, operator_call: Call | None = None) -> str:
        """Return the page that accepts an invitation."""
        return f"{self.origin(operator_call)}/console/invite#{secret}"

    def setup_url(self, secret: str, *, operator_call: Call | None = None) -> str:
        """Return the page on which the first owner creates an account."""
        return f"{self.origin(operator_call)}/console/setup#{secret}"

    def reset_url(self, secret: str, *, operator_call: Call | None = None) -> str:
        """Return the page that sets a new password."""
        return f"{self.origin(operator_call)}/console/reset#{secret}"

    def console_url(self, *, operator_call: Call | None = None) -> str:
        """Return the console's first page, for a message without a separate link."""
        return f"{self.origin(operator_call)}/console/"

    def origin(self, operator_call: Call | None) -> str:
        """Return where people and their browsers reach the service."""
        if self._public_base_url:
            return self._public_base_url
        # People reach the public listener only, whichever listener the operator came to.
        host = self._host if self._host not in EVERY_ADDRESS else _operators_host(operator_call) or "localhost"
        return f"http://{host}:{self._port}"


def _operators_host(call: Call | None) -> str | None:
    """Return the name under which an operator reaches this machine; None if the caller is not an operator."""
    # Only the admin listener accepts operators, and it has compared Host with its allowlist.
    if call is None or call.caller is None or call.caller.kind is not ActorKind.OPERATOR:
        return None
    host = (call.request.header("host") or "").lower()
    return host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
