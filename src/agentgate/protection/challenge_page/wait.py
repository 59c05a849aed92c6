"""Waiting: the way through the challenge page for browsers without JavaScript, where a site allows it.

A ticket is good once, for its visitor, after a wait, and with the cookie that came with it. That and a limit for each
address is all that it costs: it keeps out programs that were not written for it, and slows those that were.
"""

import hashlib
import hmac
import secrets

from msgspec import Struct

from agentgate.http.replies import set_cookie
from agentgate.lib.clock import MINUTE_MS, SECOND_MS
from agentgate.lib.shared_cache import SharedCache
from agentgate.protection.challenge_page.proxied_call import ProxiedCall
from agentgate.protection.challenge_page.sealed_token import SealedTokens

TICKET = "ticket"
# How long somebody waits, and how long the way on stays open after that.
WAIT_MS = 8 * SECOND_MS
TICKET_MS = 5 * MINUTE_MS
# So many clearances an address gets in this way, in so much time. People behind one address share them.
MOST_PASSES = 20
WINDOW_MS = 10 * MINUTE_MS

COOKIE = "agentgate-wait"
COOKIE_PATH = "/.agentgate/"
_SECRET_BYTES = 16
_DIGEST_BYTES = 32


class WaitTicket(Struct, frozen=True):
    """What the page carries, and the cookie without which it is good for nothing."""

    text: str
    set_cookie: tuple[str, str]


class Waits:
    """Gives tickets and takes them."""

    def __init__(self, sealed_tokens: SealedTokens, shared_cache: SharedCache) -> None:
        self._sealed_tokens = sealed_tokens
        self._shared_cache = shared_cache

    def begin(self, proxied: ProxiedCall, url: str) -> WaitTicket:
        """Return a ticket to an address of the site."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        ready_ms = proxied.call.now + WAIT_MS
        text = self._sealed_tokens.seal(
            TICKET,
            _digest(secret) + url.encode(),
            proxied.holder,
            not_before_ms=ready_ms,
            expires_ms=ready_ms + TICKET_MS,
        )
        cookie = set_cookie(
            COOKIE,
            secret,
            path=COOKIE_PATH,
            same_site="Lax",
            secure=proxied.original.origin.startswith("https://"),
            max_age_s=(WAIT_MS + TICKET_MS) // SECOND_MS,
        )
        return WaitTicket(text, cookie)

    async def end(self, proxied: ProxiedCall, ticket: str) -> str | None:
        """Take a ticket and return its address; None when it is not this browser's, not yet good, over or used."""
        now_ms, secret = proxied.call.now, proxied.call.request.cookie(COOKIE) or ""
        found = self._sealed_tokens.open(TICKET, ticket, proxied.holder, now_ms=now_ms)
        # Before it is taken: who comes without the cookie, or too early, may come again.
        if found is None or not hmac.compare_digest(found.content[:_DIGEST_BYTES], _digest(secret)):
            return None
        content = await self._sealed_tokens.take(TICKET, ticket, proxied.holder, now_ms=now_ms)
        return None if content is None else content[_DIGEST_BYTES:].decode()

    async def is_too_often(self, proxied: ProxiedCall) -> bool:
        """Count a pass; say whether this address has had too many lately."""
        key = f"gateway-wait:{proxied.site.number}:{proxied.visitor:016x}"
        return await self._shared_cache.add(key, 1, ttl_ms=WINDOW_MS) > MOST_PASSES


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
