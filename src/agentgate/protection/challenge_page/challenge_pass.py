"""Passes: what the challenge page brings back. A token becomes a clearance, a saved form is given back to its page."""

import hashlib

from msgspec import UNSET, Struct, UnsetType, field

from agentgate.events.records import CounterName
from agentgate.http.replies import set_cookie
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.enums import ClearanceLevel, ReceiptKind
from agentgate.lib.records import Input
from agentgate.lib.shared_cache import SharedCache
from agentgate.lib.visitor_ids import write_visitor
from agentgate.protection.challenge_page.proxied_call import ProxiedCall
from agentgate.protection.challenge_page.saved_form import SavedForm, SavedForms
from agentgate.protection.challenge_page.sealed_token import SealedTokens
from agentgate.protection.challenge_page.wait import Waits, WaitTicket
from agentgate.protection.gateway.event_log import GatewayEventLog
from agentgate.protection.gateway.receipts import Receipts
from agentgate.protection.tokens.claims import Claims, is_of_the_future
from agentgate.protection.tokens.clearance import ClearanceRefused, Clearances, IssuedClearance
from agentgate.protection.tokens.format import NotAReceipt, read_receipt
from agentgate.protection.tokens.keys import SigningKeys

# A page that is asked for again so soon after a pass was not helped by it.
LATELY_MS = 30 * SECOND_MS


class PassInput(Input, frozen=True, kw_only=True):
    """The page has passed the check."""

    token: str
    return_: str | UnsetType = field(name="return", default=UNSET)
    framed: str | UnsetType = UNSET


class Passed(Struct, frozen=True):
    """A visitor who may go on: with which cookie, where to."""

    clearance: IssuedClearance
    url: str
    framed: str = ""


class Passes:
    """Gives clearances for tokens and for time, and saved forms. Each is taken once."""

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
        self._waits = Waits(sealed_tokens, shared_cache)
        self._saved_forms = SavedForms(sealed_tokens)
        self._event_log = event_log
        self._shared_cache = shared_cache

    async def redeem(self, proxied: ProxiedCall, token: str, url: str, *, framed: str) -> Passed | str:
        """Spend a token and return the clearance, or the reason why it is not good for one."""
        site, now_ms = proxied.site, proxied.call.now
        try:
            signed = read_receipt(token, self._keys)
        except NotAReceipt:
            return "invalid_token"
        reason = "invalid_token" if signed.test else _misfit(signed.claims, proxied)
        if reason is not None:
            return reason
        if not await self._receipts.spend(site, signed.claims, now_ms=now_ms):
            return "token_used"
        self._event_log.count(site, CounterName.TOKENS_REDEEMED, now_ms)
        await self._shared_cache.put(_lately(proxied, url), b"1", ttl_ms=LATELY_MS)
        level, renewed = self._level(proxied)
        return Passed(self._issue(proxied, level, renewed), url, framed)

    def ticket(self, proxied: ProxiedCall, url: str) -> WaitTicket:
        """Return what becomes a low clearance for whoever waits."""
        return self._waits.begin(proxied, url)

    async def wait_is_over(self, proxied: ProxiedCall, ticket: str) -> Passed | str:
        """Take a ticket and return the low clearance, or the reason why it is not good for one."""
        url = await self._waits.end(proxied, ticket)
        if url is None:
            return "invalid_clearance"
        if await self._waits.is_too_often(proxied):
            return "rate_limited"
        await self._shared_cache.put(_lately(proxied, url), b"1", ttl_ms=LATELY_MS)
        return Passed(self._issue(proxied, ClearanceLevel.LOW, None), url)

    async def was_here_lately(self, proxied: ProxiedCall, url: str) -> bool:
        """Say whether this visitor passed a moment ago, on the way to the same address."""
        return await self._shared_cache.get(_lately(proxied, url)) is not None

    def enclose(self, proxied: ProxiedCall, form: SavedForm) -> str:
        """Return a form as the page carries it."""
        return self._saved_forms.close(form, proxied.holder, now_ms=proxied.call.now)

    async def release(self, proxied: ProxiedCall, saved_form: str) -> SavedForm | None:
        """Return the form; None when it is not this visitor's, over, or was sent already."""
        return await self._saved_forms.take(saved_form, proxied.holder, now_ms=proxied.call.now)

    def _issue(self, proxied: ProxiedCall, level: ClearanceLevel, renewed: str | None) -> IssuedClearance:
        holder = proxied.holder
        return self._clearances.issue(
            site_key=holder.site_key,
            origin=holder.origin,
            visitor=holder.visitor,
            level=level,
            now_ms=proxied.call.now,
            renewed=renewed,
        )

    def _level(self, proxied: ProxiedCall) -> tuple[ClearanceLevel, str | None]:
        """Return the level of the check that was passed: the SDK has just set a cookie that says so."""
        holder, now_ms = proxied.holder, proxied.call.now
        value = proxied.call.request.cookie(self._clearances.cookie_name(holder.site_key))
        try:
            known = None if value is None else self._clearances.read(value, site_key=holder.site_key, now_ms=now_ms)
        except ClearanceRefused:
            known = None
        if known is None or (known.origin, known.visitor) != (holder.origin, holder.visitor):
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
    # Passed by somebody else, somewhere else.
    return None if claims.sub == write_visitor(proxied.visitor) else "invalid_token"


def _lately(proxied: ProxiedCall, url: str) -> str:
    # Many people may share an address. Those who also share a browser and a destination are sent one click too many.
    request = proxied.call.request
    described = "\n".join((request.header("user-agent") or "", request.header("accept-language") or "", url))
    return f"gateway-pass:{proxied.site.number}:{proxied.visitor:016x}:{hashlib.sha256(described.encode()).hexdigest()}"
