"""Tokens and clearances of a request: a token is for this one request, a clearance comes from an earlier check."""

from collections.abc import Collection, Iterator, Mapping

from msgspec import UNSET, Struct

from agentgate.browser_check.tokens.binding import Bindings, TokenHolder
from agentgate.browser_check.tokens.clearance import ClearanceHolder, ClearanceRefused, Clearances
from agentgate.browser_check.tokens.receipts import Claims, NotAReceipt, SigningKeys, is_of_the_future, read_receipt
from agentgate.browser_check.tokens.redeem import KEPT_MS
from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore
from agentgate.gateway.request.original_request import Original
from agentgate.gateway.route_protection import Protection
from agentgate.lib.clock import FOREVER_MS, SECOND_MS
from agentgate.lib.enums import ClearanceLevel, Mode, ReceiptKind, TokenBinding
from agentgate.lib.keyring import Keyring
from agentgate.sites.directory import SiteView

TOKEN_HEADER = b"x-agentgate-token"
JA4 = b"x-ja4"
BODY_DIGEST = b"x-original-body-digest"


class Shown(Struct, frozen=True, gc=False, cache_hash=True):
    """The state of a token or clearance for the signals, the reason of a denial, and the token to redeem."""

    states: tuple[str, ...]
    # None when a token or clearance is good for the request.
    reason: str | None
    token: Claims | None = None


NOTHING = Shown((), "receipt_required")
MISSING = Shown(("missing",), "receipt_required")
OTHER_CONTENT = Shown(("invalid",), "invalid_token")
CLEARED = Shown(("clearance",), None)
CLEARED_LOW = Shown(("clearance", "clearance_low"), None)
# For a client whose headers identify it as a program: the clearance meets the route's requirement and exempts from no
# rule.
CLEARED_PROGRAM = Shown((), None)
EXPIRED = Shown(("expired",), "expired_clearance")
INVALID = Shown(("invalid",), "invalid_clearance")
WRONG_ORIGIN = Shown(("wrong_origin",), "origin_mismatch")
OTHERS_TOKEN = Shown(("wrong_visitor",), "visitor_mismatch")
WRONG_VISITOR = Shown(("wrong_visitor",), "invalid_clearance")
# Of several clearances, the most informative state is reported.
_WORTH = {INVALID: 0, WRONG_ORIGIN: 1, WRONG_VISITOR: 2, EXPIRED: 3, CLEARED_LOW: 4}
# How many clearances of a visitor are verified: each costs a keyed hash.
MOST_CLEARANCES = 8

# Reason of a rejected token -> the state that signals read.
_TOKEN_STATES = {
    "invalid_token": "invalid",
    "expired_token": "expired",
    "action_mismatch": "wrong_action",
    "origin_mismatch": "wrong_origin",
}
_KIND_STATES = {
    ReceiptKind.BROWSER: ("valid", "browser"),
    ReceiptKind.AGENT: ("valid", "agent"),
    ReceiptKind.HANDOFF: ("valid", "handoff"),
}


class Receipts:
    """Reads tokens and clearances, and redeems tokens."""

    def __init__(
        self, keys: SigningKeys, clearances: Clearances, redemptions: RedemptionStore, *, keyring: Keyring
    ) -> None:
        self._keys = keys
        self.clearances = clearances
        self._redemptions = redemptions
        self.keyring = keyring
        self._bindings = Bindings(keyring)

    def inspect(
        self,
        headers: Mapping[bytes, bytes],
        original: Original,
        protection: Protection,
        *,
        site: SiteView,
        now_ms: int,
    ) -> Shown:
        """Return the state of the token or clearance. A token takes precedence: it was issued for this request."""
        token = headers.get(TOKEN_HEADER)
        if token is not None and protection.action is not None:
            return self.token(token, headers, original.origin, {protection.action}, site=site, now_ms=now_ms)
        found = cookies_of(headers.get(b"cookie", b""), self.clearances.cookie_name(site.site_key).encode())
        shown, *_ = self.clearance(
            found,
            site=site,
            origin=original.origin,
            holder=holder_of(headers, original.address),
            now_ms=now_ms,
        )
        return fit(shown, protection)

    async def spend(self, site: SiteView, token: Claims, *, now_ms: int) -> bool:
        """Redeem a token, durably; return False if it was redeemed before."""
        kept_until_ms = max(now_ms, token.exp * SECOND_MS) + KEPT_MS
        issued_ms = token.iat * SECOND_MS
        return await self._redemptions.spend(
            site.id, token.jti, Redemption(), issued_ms=issued_ms, kept_until_ms=kept_until_ms
        )

    def token(
        self,
        text: bytes,
        headers: Mapping[bytes, bytes],
        origin: str,
        actions: Collection[str | None],
        *,
        site: SiteView,
        now_ms: int,
    ) -> Shown:
        """Return the state of a token on a route that takes tokens for these actions."""
        try:
            signed = read_receipt(text.decode("latin-1"), self._keys)
        except NotAReceipt:
            return Shown(("invalid",), "invalid_token")
        claims = signed.claims
        if signed.test:
            return Shown(("invalid", "test"), "invalid_token")
        if claims.aud != site.site_key:
            return Shown(("invalid", "wrong_site"), "invalid_token")
        reason = _misfit(claims, origin, actions, now_ms=now_ms)
        if reason is not None:
            return Shown((_TOKEN_STATES[reason],), reason)
        if site.mode is Mode.ENFORCE and not self._bindings.is_proven(claims):
            return Shown(("invalid",), "invalid_token")
        return Shown(_KIND_STATES[claims.kind], None, claims) if _fits_body(claims, site, headers) else OTHER_CONTENT

    def is_holders(
        self, claims: Claims, site: SiteView, address: str, headers: Mapping[bytes, bytes], now_ms: int
    ) -> bool:
        """Return whether the client that redeems a token is its holder, as far as the site's binding requires."""
        if claims.binding is UNSET or site.token_binding is TokenBinding.NONE:
            return True
        found = cookies_of(headers.get(b"cookie", b""), self.clearances.cookie_name(site.site_key).encode())
        genuine = tuple(self._ids_of(found, site.site_key, now_ms))
        user_agent = headers.get(b"user-agent", b"").decode("latin-1")
        return self._bindings.may_spend(claims, TokenHolder(address, user_agent, genuine), site)

    def is_proven(self, claims: Claims) -> bool:
        """Return whether enforce mode would have passed the check of a token."""
        return self._bindings.is_proven(claims)

    def _ids_of(self, values: tuple[bytes, ...], site_key: str, now_ms: int) -> Iterator[str]:
        for value in values:
            try:
                yield self.clearances.read(value.decode("latin-1"), site_key=site_key, now_ms=now_ms).id
            except ClearanceRefused:
                continue

    def clearance(
        self, values: tuple[bytes, ...], *, site: SiteView, origin: str, holder: ClearanceHolder, now_ms: int
    ) -> tuple[Shown | None, int, str | None]:
        """Return the state of the clearances (None if there are none), its expiry, and the ID of a valid one.

        A good one outweighs all others.

        A browser may hold several clearances of one name, for other paths and domains, and anyone can plant a bad one:
        it must not shut out the visitor who also has a good one.
        """
        best, valid = None, None
        until_ms = FOREVER_MS
        for value in values:
            found, found_until_ms, clearance_id = self._one_clearance(
                value, site=site, origin=origin, holder=holder, now_ms=now_ms
            )
            if found is CLEARED:
                return found, found_until_ms, clearance_id
            until_ms = min(until_ms, found_until_ms)
            if best is None or _WORTH[found] > _WORTH[best]:
                best, valid = found, clearance_id
        return best, until_ms, valid

    def _one_clearance(
        self, value: bytes, *, site: SiteView, origin: str, holder: ClearanceHolder, now_ms: int
    ) -> tuple[Shown, int, str | None]:
        try:
            clearance = self.clearances.read(value.decode("latin-1"), site_key=site.site_key, now_ms=now_ms)
        except ClearanceRefused as refused:
            is_expired = refused.reason == "expired_clearance"
            return (EXPIRED, FOREVER_MS, None) if is_expired else (INVALID, now_ms, None)
        if clearance.origin != origin:
            return WRONG_ORIGIN, clearance.expires_ms, None
        if not self.clearances.is_held_by(clearance, holder, site.mode):
            return WRONG_VISITOR, clearance.expires_ms, None
        level = CLEARED_LOW if clearance.level is ClearanceLevel.LOW else CLEARED
        return level, clearance.expires_ms, clearance.id


def holder_of(headers: Mapping[bytes, bytes], address: str) -> ClearanceHolder:
    """Return the client of a request, as clearances are bound to it."""
    ja4 = headers.get(JA4)
    return ClearanceHolder(address, headers.get(b"user-agent"), None if ja4 is None else ja4.decode("latin-1"))


def fit(shown: Shown | None, protection: Protection) -> Shown:
    """Return the state of a clearance, or of none, on a route."""
    if shown is None:
        return MISSING if protection.required else NOTHING
    if protection.required and shown.reason is None and ("clearance_low" in shown.states or not protection.clearance):
        # Genuine, but of a lower level than the route requires.
        return Shown(shown.states, "receipt_required")
    return shown


def _misfit(claims: Claims, origin: str, actions: Collection[str | None], *, now_ms: int) -> str | None:
    if is_of_the_future(claims, now_ms=now_ms):
        return "invalid_token"
    if now_ms >= claims.exp * SECOND_MS:
        return "expired_token"
    if claims.action not in actions:
        return "action_mismatch"
    # An agent's receipt names no origin: it is bound to its content instead.
    if claims.kind is ReceiptKind.BROWSER and claims.origin != origin:
        return "origin_mismatch"
    return None


def _fits_body(claims: Claims, site: SiteView, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the body matches a receipt that is bound to content. Only the adapter can report the digest."""
    action = site.actions.get(claims.action)
    if action is None or action.require_content_digest is not True or claims.content_digest is UNSET:
        return True
    return headers.get(BODY_DIGEST) == claims.content_digest.encode()


def cookies_of(header: bytes, name: bytes) -> tuple[bytes, ...]:
    """Return the distinct values of a cookie in their order, up to the limit."""
    at = header.find(name)
    if at < 0:
        return ()
    end = at + len(name)
    if header.find(name, end) < 0 and header[end : end + 1] == b"=" and (at == 0 or header[at - 2 : at] == b"; "):
        # As browsers write it, and at a pair's beginning only.
        return (header[end + 1 :].partition(b";")[0].strip(b" \t"),)
    pairs = (pair.partition(b"=") for pair in header.replace(b", ", b"; ").split(b";"))
    found = dict.fromkeys(value.strip(b" \t") for label, _, value in pairs if label.strip(b" \t") == name)
    return tuple(found)[:MOST_CLEARANCES]
