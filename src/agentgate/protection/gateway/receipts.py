"""What a visitor shows for itself: a token for this one request, or a clearance from a check that it passed before."""

from collections.abc import Mapping

from msgspec import UNSET, Struct

from agentgate.lib.clock import SECOND_MS
from agentgate.lib.enums import ClearanceLevel, ReceiptKind
from agentgate.lib.keyring import Keyring
from agentgate.lib.visitor_ids import write_visitor
from agentgate.protection.gateway.original_request import Original
from agentgate.protection.gateway.route_protection import Protection
from agentgate.protection.sites.directory import SiteView
from agentgate.protection.tokens.claims import Claims
from agentgate.protection.tokens.clearance import Clearance, ClearanceRefused, Clearances
from agentgate.protection.tokens.format import NotAReceipt, read_receipt
from agentgate.protection.tokens.keys import SigningKeys
from agentgate.protection.tokens.ports import Redemption, RedemptionStore
from agentgate.protection.tokens.redeem import KEPT_MS

TOKEN_HEADER = b"x-agentgate-token"
BODY_DIGEST = b"x-original-body-digest"
# Clearances that were found genuine of late. A browser sends the same one with every request.
MOST_REMEMBERED = 20_000
# No longer `Cookie` header is remembered whole: what stands in it beside the clearance is the visitor's choice.
LONGEST_COOKIES = 1_024


class Shown(Struct, frozen=True, gc=False):
    """What was found: states for the signals, the reason why it will not do, and the token that must be spent."""

    states: tuple[str, ...]
    # None when a token or clearance is good for the request.
    reason: str | None
    token: Claims | None = None


NOTHING = Shown((), "receipt_required")
MISSING = Shown(("missing",), "receipt_required")
OTHER_CONTENT = Shown(("invalid",), "invalid_token")
CLEARED = Shown(("clearance",), None)
CLEARED_LOW = Shown(("clearance", "clearance_low"), None)

# Why a token is refused -> what the signals call it.
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


class Cleared(Struct, frozen=True, gc=False):
    """What a `Cookie` header with a good clearance showed: for whom, where, and until when."""

    site_key: str
    origin: str
    visitor: int
    expires_ms: int
    shown: Shown


class Receipts:
    """Reads tokens and clearances, and spends tokens."""

    def __init__(
        self, keys: SigningKeys, clearances: Clearances, redemptions: RedemptionStore, *, keyring: Keyring
    ) -> None:
        self._keys = keys
        self._clearances = clearances
        self._redemptions = redemptions
        self.keyring = keyring
        self._genuine: dict[tuple[str, str], Clearance] = {}
        # By the whole header, so that the same one again is one look-up. Only what was good for its visitor is in it.
        self._cleared: dict[bytes, Cleared] = {}
        # Names of cookies by site key.
        self._names: dict[str, bytes] = {}
        self._made_with = keyring.current("clearance")
        self._generation = keyring.generation

    def look(
        self,
        headers: Mapping[bytes, bytes],
        original: Original,
        protection: Protection,
        *,
        site: SiteView,
        visitor: int,
        now_ms: int,
    ) -> Shown:
        """Return what the request shows. A token goes before a clearance: it was made for this request."""
        token = headers.get(TOKEN_HEADER)
        if token is not None and protection.action is not None:
            found = self._token(token.decode("latin-1"), original, protection, site=site, now_ms=now_ms)
            return found if found.token is None or _fits_body(found.token, site, headers) else OTHER_CONTENT
        cookies = headers.get(b"cookie")
        shown = None if cookies is None else self._clearance(cookies, original, site, visitor=visitor, now_ms=now_ms)
        return fit(shown, protection)

    def cleared(self, cookies: bytes) -> Cleared | None:
        """Return what a `Cookie` header with a clearance showed that was found good of late."""
        return self._cleared.get(cookies)

    async def spend(self, site: SiteView, token: Claims, *, now_ms: int) -> bool:
        """Spend a token, durably; False when it was spent already."""
        kept_until_ms = max(now_ms, token.exp * SECOND_MS) + KEPT_MS
        return await self._redemptions.spend(site.id, token.jti, Redemption(), kept_until_ms=kept_until_ms)

    def _token(self, text: str, original: Original, protection: Protection, *, site: SiteView, now_ms: int) -> Shown:
        try:
            signed = read_receipt(text, self._keys)
        except NotAReceipt:
            return Shown(("invalid",), "invalid_token")
        claims = signed.claims
        if signed.test:
            return Shown(("invalid", "test"), "invalid_token")
        if claims.aud != site.site_key:
            return Shown(("invalid", "wrong_site"), "invalid_token")
        reason = _misfit(claims, original, protection, now_ms=now_ms)
        if reason is not None:
            return Shown((_TOKEN_STATES[reason],), reason)
        return Shown(_KIND_STATES[claims.kind], None, claims)

    def _clearance(
        self, cookies: bytes, original: Original, site: SiteView, *, visitor: int, now_ms: int
    ) -> Shown | None:
        if self._generation != self.keyring.generation:
            self._look_at_key()
        known = self._cleared.get(cookies)
        if (
            known is not None
            and known.visitor == visitor
            and now_ms < known.expires_ms
            and known.site_key == site.site_key
            and known.origin == original.origin
        ):
            return known.shown
        name = self._names.get(site.site_key) or self._new_name(site.site_key)
        found = _cookie(cookies, name)
        if found is None:
            return None
        try:
            clearance = self._genuine_clearance(found, site.site_key, now_ms)
        except ClearanceRefused as refused:
            return Shown(("expired" if refused.reason == "expired_clearance" else "invalid",), refused.reason)
        if clearance.origin != original.origin:
            return Shown(("wrong_origin",), "origin_mismatch")
        if clearance.visitor != write_visitor(visitor):
            return Shown(("wrong_visitor",), "invalid_clearance")
        shown = CLEARED_LOW if clearance.level is ClearanceLevel.LOW else CLEARED
        if len(cookies) <= LONGEST_COOKIES:
            if len(self._cleared) >= MOST_REMEMBERED:
                self._cleared = {}
            self._cleared[cookies] = Cleared(site.site_key, clearance.origin, visitor, clearance.expires_ms, shown)
        return shown

    def _look_at_key(self) -> None:
        """Forget every clearance when the key was rotated: the old one may have got into wrong hands."""
        self._generation = self.keyring.generation
        key = self.keyring.current("clearance")
        if key != self._made_with:
            self._made_with, self._genuine, self._cleared = key, {}, {}

    def _new_name(self, site_key: str) -> bytes:
        if len(self._names) >= MOST_REMEMBERED:
            self._names.clear()
        name = self._names[site_key] = self._clearances.cookie_name(site_key).encode()
        return name

    def _genuine_clearance(self, value: str, site_key: str, now_ms: int) -> Clearance:
        known = self._genuine.get((site_key, value))
        if known is not None and now_ms < known.expires_ms:
            return known
        clearance = self._clearances.read(value, site_key=site_key, now_ms=now_ms)
        if len(self._genuine) >= MOST_REMEMBERED:
            self._genuine = {}
        self._genuine[site_key, value] = clearance
        return clearance


def fit(shown: Shown | None, protection: Protection) -> Shown:
    """Return what a clearance, or none, is worth on a route."""
    if shown is None:
        return MISSING if protection.required else NOTHING
    if protection.required and shown.reason is None and ("clearance_low" in shown.states or not protection.clearance):
        # It is genuine, and the route asks for more.
        return Shown(shown.states, "receipt_required")
    return shown


def _misfit(claims: Claims, original: Original, protection: Protection, *, now_ms: int) -> str | None:
    if now_ms >= claims.exp * SECOND_MS:
        return "expired_token"
    if claims.action != protection.action:
        return "action_mismatch"
    # An agent's receipt names no origin: it is bound to its content instead.
    if claims.kind is ReceiptKind.BROWSER and claims.origin != original.origin:
        return "origin_mismatch"
    return None


def _fits_body(claims: Claims, site: SiteView, headers: Mapping[bytes, bytes]) -> bool:
    """Say whether a receipt that is bound to content comes with it. Only the adapter can say what the body is."""
    action = site.actions.get(claims.action)
    if action is None or action.require_content_digest is not True or claims.content_digest is UNSET:
        return True
    return headers.get(BODY_DIGEST) == claims.content_digest.encode()


def _cookie(header: bytes, name: bytes) -> str | None:
    """Return a cookie's value; two different ones are no value that could be genuine, and neither is chosen."""
    at = header.find(name)
    if at < 0:
        return None
    if (
        header.find(name, at + 1) < 0
        and header[at - 2 : at] == b"; "
        and header[at + len(name) : at + len(name) + 1] == b"="
    ):
        # As browsers write it, and nowhere else in the header.
        return header[at + len(name) + 1 :].partition(b";")[0].strip(b" \t").decode("latin-1")
    found: bytes | None = None
    for pair in header.replace(b", ", b"; ").split(b";"):
        label, _, value = pair.partition(b"=")
        if label.strip(b" \t") == name:
            value = value.strip(b" \t")
            if found is not None and found != value:
                return ""
            found = value
    return None if found is None else found.decode("latin-1")
