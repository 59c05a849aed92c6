"""Clearance: what a browser that passed the check shows at the gateway for a while, instead of a token each time.

It goes into a cookie and is read on every request, so it is a keyed hash over a few fields and not a signature.
Nobody but this service can check it. Where the cookie is set is not decided here.
"""

import hashlib
import re
import secrets

from msgspec import Struct

from agentgate.lib import base64url
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.enums import ClearanceLevel
from agentgate.lib.keyring import Keyring
from agentgate.lib.moment import Moment

PREFIX = "agc1."
PURPOSE = "clearance"
TAG_BYTES = 32
# Two bytes of length go before each field.
LENGTH_BYTES = 2
EXPIRY_BYTES = 8
LONGEST = 1024

_INVALID, _EXPIRED = "invalid_clearance", "expired_clearance"
_LEVELS = {level.value: level for level in ClearanceLevel}
# Each field behind its length, and the field alone. Only an origin may be longer than 255 bytes. That a length is right
# is not looked at: it is authenticated, and no field could end elsewhere, since none but the last has a control.
_LAYOUT = re.compile(
    r"(\0.([!-~]+))([\0\1].([!-~]+))(\0\x10([0-9a-f]{16}))"
    rf"(\0.({'|'.join(_LEVELS)}))(\0\x10([0-9a-f]{{16}}))(\0\x08(.{{8}}))\Z",
    re.DOTALL,
)


class ClearanceRefused(Exception):  # noqa: N818 - an answer, not a fault
    """The text is no clearance for this site, or no longer one. `reason` is the gateway's."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Clearance(Struct, frozen=True, kw_only=True):
    """Who passed which check where, and until when that counts."""

    site_key: str
    origin: str
    # 16 hex digits.
    visitor: str
    level: ClearanceLevel
    # Stays the same when the clearance is renewed, so that its use can be followed and limited.
    id: str
    expires_ms: int


class IssuedClearance(Struct, frozen=True):
    """A clearance as the cookie carries it."""

    name: str
    value: str
    expires_at: Moment
    id: str


class Clearances:
    """Issues and reads clearances."""

    def __init__(self, keyring: Keyring, lifetime_s: int, *, issuer: str = "") -> None:
        self._keyring = keyring
        self._lifetime_ms = lifetime_s * SECOND_MS
        self._issuer = issuer

    def cookie_name(self, site_key: str) -> str:
        """Return the name of a site's cookie: another for each site and each installation under one domain."""
        derived = hashlib.sha256(f"{self._issuer}\n{site_key}".encode()).hexdigest()
        return f"ag_clearance_{derived[:8]}"

    def issue(
        self,
        *,
        site_key: str,
        origin: str,
        visitor: str,
        level: ClearanceLevel,
        now_ms: int,
        renewed: str | None = None,
    ) -> IssuedClearance:
        """Return a clearance that is good from now on; `renewed` is the ID of the one that it replaces."""
        clearance = Clearance(
            site_key=site_key,
            origin=origin,
            visitor=visitor,
            level=level,
            id=renewed or secrets.token_hex(8),
            expires_ms=now_ms + self._lifetime_ms,
        )
        fields = _fields_of(clearance)
        data = _join(fields) + self._keyring.mac(PURPOSE, *fields)
        value = PREFIX + base64url.encode(data)
        return IssuedClearance(self.cookie_name(site_key), value, Moment(clearance.expires_ms), clearance.id)

    def read(self, value: str, *, site_key: str, now_ms: int) -> Clearance:
        """Return what a clearance says; refuse one that is not ours, not this site's, or over."""
        data = _decode(value)
        layout = _LAYOUT.match(data[:-TAG_BYTES].decode("latin-1"))
        if layout is None:
            raise ClearanceRefused(_INVALID)
        groups = layout.groups()
        # Lengths have four bytes where fields are authenticated, and two in the cookie.
        framed = "\0\0" + "\0\0".join(groups[::2])
        if not self._keyring.is_mac_of(data[-TAG_BYTES:], PURPOSE, framed.encode("latin-1")):
            raise ClearanceRefused(_INVALID)
        of_site, origin, visitor, level, clearance_id, expiry = groups[1::2]
        if of_site != site_key:
            raise ClearanceRefused(_INVALID)
        expires_ms = int.from_bytes(expiry.encode("latin-1"))
        if now_ms >= expires_ms:
            raise ClearanceRefused(_EXPIRED)
        return Clearance(
            site_key=site_key,
            origin=origin,
            visitor=visitor,
            level=_LEVELS[level],
            id=clearance_id,
            expires_ms=expires_ms,
        )


def _fields_of(clearance: Clearance) -> tuple[bytes, ...]:
    texts = (clearance.site_key, clearance.origin, clearance.visitor, clearance.level.value, clearance.id)
    return (*(text.encode() for text in texts), clearance.expires_ms.to_bytes(EXPIRY_BYTES, "big"))


def _join(fields: tuple[bytes, ...]) -> bytes:
    return b"".join(len(field).to_bytes(LENGTH_BYTES, "big") + field for field in fields)


def _decode(value: str) -> bytes:
    if not value.startswith(PREFIX) or len(value) > LONGEST:
        raise ClearanceRefused(_INVALID)
    try:
        return base64url.decode_bytes(value.removeprefix(PREFIX).encode("ascii"))
    except ValueError:
        raise ClearanceRefused(_INVALID) from None
