"""Passes: tokens, tickets and saved forms that a visitor brings back to the challenge page.

A token is exchanged for a clearance, a saved form is given back to its page. If a site allows it, browsers without
JavaScript get a low clearance for waiting: a ticket is valid once, for its visitor, after a waiting time, and with its
cookie. This blocks bots that do not support the ticket, and slows down the others. With an appeal ticket, a denied
visitor can appeal.
"""

import hashlib
import hmac
import secrets
import struct

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from agentgate.browser_check.tokens.clearance import ClearanceRefused, Clearances, IssuedClearance
from agentgate.browser_check.tokens.receipts import Claims, NotAReceipt, SigningKeys, is_of_the_future, read_receipt
from agentgate.events.decision_ids import read_id
from agentgate.events.records import CounterName
from agentgate.gateway.challenge_page.proxied_call import ProxiedCall
from agentgate.gateway.challenge_page.sealed_token import SavedForms, SealedTokens
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.receipts import Receipts, holder_of
from agentgate.http.replies import set_cookie
from agentgate.lib.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from agentgate.lib.enums import ClearanceLevel, Mode, ReceiptKind
from agentgate.lib.ids import write_visitor
from agentgate.lib.keyring import Keyring
from agentgate.lib.records import Input
from agentgate.lib.shared_cache import SharedCache
from agentgate.lib.tagged_text import TaggedText

TICKET = "ticket"
# The waiting time, and how long the ticket is valid after it.
WAIT_MS = 8 * SECOND_MS
TICKET_MS = 5 * MINUTE_MS
# Clearances of this kind for one address, and the period. People behind one address share them.
MOST_PASSES = 20
WINDOW_MS = 10 * MINUTE_MS

COOKIE = "agentgate-wait"
COOKIE_PATH = "/.agentgate/"
_SECRET_BYTES = 16
_DIGEST_BYTES = 32


class WaitTicket(Struct, frozen=True):
    """The ticket in the page, and the cookie that it needs."""

    text: str
    set_cookie: tuple[str, str]


class Waits:
    """Issues and redeems wait tickets."""

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
        """Redeem a ticket and return its address; None if it is another browser's, not yet valid, expired or used."""
        now_ms, secret = proxied.call.now, proxied.call.request.cookie(COOKIE) or ""
        found = self._sealed_tokens.open(TICKET, ticket, proxied.holder, now_ms=now_ms)
        # Before it is redeemed: a request without the cookie, or too early, may be repeated.
        if found is None or not hmac.compare_digest(found.content[:_DIGEST_BYTES], _digest(secret)):
            return None
        content = await self._sealed_tokens.take(TICKET, ticket, proxied.holder, now_ms=now_ms)
        return None if content is None else content[_DIGEST_BYTES:].decode()

    async def is_too_often(self, proxied: ProxiedCall) -> bool:
        """Count a pass; return whether this address has had too many lately."""
        key = f"gateway-wait:{proxied.site.number}:{proxied.visitor:016x}"
        return await self._shared_cache.add(key, 1, ttl_ms=WINDOW_MS) > MOST_PASSES


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


# Less than a person needs to read, decide and press a button.
APPEAL_WAIT_MS = 2 * SECOND_MS
APPEAL_MS = 6 * HOUR_MS
# When the ticket becomes valid, and the decision.
_NUMBERS = struct.Struct(">QQ")


class AppealTicket(Struct, frozen=True):
    """Content of an appeal ticket: the decision, and the page that the person requested."""

    decision: int
    return_url: str


class AppealTickets:
    """Writes and reads appeal tickets. They may be used again, as each decision has one appeal at most."""

    def __init__(self, keyring: Keyring) -> None:
        self._text = TaggedText(keyring, "challenge", b"appeal")

    def give(
        self, proxied: ProxiedCall, decision_id: str, return_url: str, *, wait_ms: int = APPEAL_WAIT_MS
    ) -> str | None:
        """Return a ticket for this visitor of this site; None for an invalid decision ID."""
        decision = read_id(decision_id)
        if decision is None:
            return None
        not_before_ms = int(proxied.call.now) + wait_ms
        content = _NUMBERS.pack(not_before_ms, decision) + return_url.encode()
        return self._text.write(content, *_context(proxied)).decode()

    def open(self, proxied: ProxiedCall, ticket: str) -> AppealTicket | None:
        """Return the content of a ticket; None if it is another visitor's, too new or too old."""
        content = self._text.read(ticket, *_context(proxied))
        if content is None:
            return None
        not_before_ms, decision = _NUMBERS.unpack_from(content)
        if not 0 <= int(proxied.call.now) - not_before_ms < APPEAL_MS:
            return None
        return AppealTicket(decision, content[_NUMBERS.size :].decode())


def _context(proxied: ProxiedCall) -> tuple[bytes, bytes, bytes]:
    """Return what an appeal ticket is bound to: the visitor of a site on one of its origins."""
    visitor = write_visitor(proxied.visitor)
    return proxied.site.site_key.encode(), proxied.original.origin.encode(), visitor.encode()


# A challenge so soon after a pass means that the pass did not help.
LATELY_MS = 30 * SECOND_MS


class PassInput(Input, frozen=True, kw_only=True):
    """The page has passed the check."""

    token: str
    return_: str | UnsetType = field(name="return", default=UNSET)
    framed: str | UnsetType = UNSET


class Passed(Struct, frozen=True):
    """A passed check: the clearance cookie, and the return URL."""

    clearance: IssuedClearance
    url: str
    framed: str = ""


class Passes:
    """Issues clearances for tokens and for waiting, and returns saved forms. Each is redeemed once."""

    def __init__(
        self,
        keys: SigningKeys,
        clearances: Clearances,
        receipts: Receipts,
        *,
        sealed_tokens: SealedTokens,
        event_log: GatewayEventLog,
        shared_cache: SharedCache,
    ) -> None:
        self._keys = keys
        self._clearances = clearances
        self._receipts = receipts
        self.waits = Waits(sealed_tokens, shared_cache)
        self.saved_forms = SavedForms(sealed_tokens)
        self._event_log = event_log
        self._shared_cache = shared_cache

    async def redeem(self, proxied: ProxiedCall, token: str, url: str, *, framed: str) -> Passed | str:
        """Redeem a token and return the clearance, or the reason why the token is rejected."""
        site, now_ms = proxied.site, proxied.call.now
        try:
            signed = read_receipt(token, self._keys)
        except NotAReceipt:
            return "invalid_token"
        reason = "invalid_token" if signed.test else _misfit(signed.claims, proxied)
        is_proven = self._receipts.is_proven(signed.claims)
        if reason is None and site.mode is Mode.ENFORCE and not is_proven:
            reason = "invalid_token"
        if reason is None and not self._is_holders(proxied, signed.claims):
            reason = "visitor_mismatch"
        if reason is not None:
            return reason
        if not await self._receipts.spend(site, signed.claims, now_ms=now_ms):
            return "token_used"
        self._event_log.count(site, CounterName.TOKENS_REDEEMED, now_ms)
        await self._shared_cache.put(_lately(proxied, url), b"1", ttl_ms=LATELY_MS)
        level, renewed = self._level(proxied)
        return Passed(self._issue(proxied, level, renewed, is_proven=is_proven), url, framed)

    async def wait_is_over(self, proxied: ProxiedCall, ticket: str) -> Passed | str:
        """Redeem a wait ticket and return the low clearance, or the reason why the ticket is rejected."""
        url = await self.waits.end(proxied, ticket)
        if url is None:
            return "invalid_clearance"
        if await self.waits.is_too_often(proxied):
            return "rate_limited"
        await self._shared_cache.put(_lately(proxied, url), b"1", ttl_ms=LATELY_MS)
        return Passed(self._issue(proxied, ClearanceLevel.LOW, None), url)

    async def was_here_lately(self, proxied: ProxiedCall, url: str) -> bool:
        """Return whether this visitor passed a moment ago for the same return URL."""
        return await self._shared_cache.get(_lately(proxied, url)) is not None

    def _is_holders(self, proxied: ProxiedCall, claims: Claims) -> bool:
        """Return whether the browser that earned the token sends it."""
        address, now_ms = proxied.original.address, proxied.call.now
        return self._receipts.is_holders(claims, proxied.site, address, proxied.headers, now_ms)

    def _issue(
        self, proxied: ProxiedCall, level: ClearanceLevel, renewed: str | None, *, is_proven: bool = True
    ) -> IssuedClearance:
        holder = proxied.holder
        return self._clearances.issue(
            site_key=holder.site_key,
            origin=holder.origin,
            holder=replace(holder_of(proxied.headers, proxied.original.address), is_proven=is_proven),
            level=level,
            now_ms=proxied.call.now,
            renewed=renewed,
        )

    def _level(self, proxied: ProxiedCall) -> tuple[ClearanceLevel, str | None]:
        """Return the level of the passed check, by the cookie that the SDK has just set."""
        holder, now_ms = proxied.holder, proxied.call.now
        value = proxied.call.request.cookie(self._clearances.cookie_name(holder.site_key))
        try:
            known = None if value is None else self._clearances.read(value, site_key=holder.site_key, now_ms=now_ms)
        except ClearanceRefused:
            known = None
        client = holder_of(proxied.headers, proxied.original.address)
        if (
            known is None
            or known.origin != holder.origin
            or not self._clearances.is_held_by(known, client, Mode.ENFORCE)
        ):
            return ClearanceLevel.CHECKED, None
        is_low = known.level is ClearanceLevel.LOW
        return (ClearanceLevel.CHECKED if is_low else known.level), known.id


def cookie_of(passed: Passed, proxied: ProxiedCall) -> tuple[str, str]:
    """Return the `Set-Cookie` header of a clearance."""
    issued = passed.clearance
    secure = proxied.original.origin.startswith("https://")
    # A frame of another site is sent no `Lax` cookie at all.
    same_site = "None" if passed.framed == "cross" and secure else "Lax"
    name, text = set_cookie(
        issued.name,
        issued.value,
        path="/",
        same_site=same_site,
        secure=secure,
        max_age_s=max(0, (issued.expires_at - proxied.call.now) // SECOND_MS),
    )
    return name, f"{text}; Partitioned" if passed.framed and secure else text


def _misfit(claims: Claims, proxied: ProxiedCall) -> str | None:
    site, origin = proxied.site, proxied.original.origin
    if claims.kind is not ReceiptKind.BROWSER or claims.aud != site.site_key:
        return "invalid_token"
    if is_of_the_future(claims, now_ms=proxied.call.now):
        return "invalid_token"
    if proxied.call.now >= claims.exp * SECOND_MS:
        return "expired_token"
    action = site.actions.get(claims.action)
    if action is None or action.clearance is not True:
        return "action_mismatch"
    if claims.origin != origin:
        return "origin_mismatch"
    # The check was passed by another visitor or on another origin.
    return None if claims.sub == write_visitor(proxied.visitor) else "invalid_token"


def _lately(proxied: ProxiedCall, url: str) -> str:
    # People who share address, browser and return URL see one click too many.
    request = proxied.call.request
    described = "\n".join((request.header("user-agent") or "", request.header("accept-language") or "", url))
    return f"gateway-pass:{proxied.site.number}:{proxied.visitor:016x}:{hashlib.sha256(described.encode()).hexdigest()}"
