"""Clearance: what a browser that passed the check shows at the gateway for a while, instead of a token each time.

A cookie carries it on every request, so it is a keyed hash over a few fields and not a signature. Only this service can
verify it. It is bound to its holder: the visitor's network, the User-Agent and, where known, the TLS fingerprint.
"""

import hashlib
import re
import secrets
from functools import lru_cache

from msgspec import Struct

from agentgate.browser_check.tokens.binding import token_network
from agentgate.lib import base64url
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.enums import ClearanceLevel, Mode
from agentgate.lib.keyring import Keyring
from agentgate.lib.moment import Moment

PREFIX = "agc2."
PURPOSE = "clearance"
TAG_BYTES = 32
# Two bytes of length go before each field.
LENGTH_BYTES = 2
EXPIRY_BYTES = 8
DIGEST_BYTES = 16
# The TLS fingerprint of a clearance whose proxy did not send one.
UNKNOWN_JA4 = "-"
LONGEST = 1024

_INVALID, _EXPIRED = "invalid_clearance", "expired_clearance"
_LEVELS = {level.value: level for level in ClearanceLevel}
# Each field with its length, and the field alone. Only an origin may be longer than 255 bytes. The pattern need not
# compare lengths: they are authenticated, and no field could end elsewhere, since only the last one has control
# characters.
_LAYOUT = re.compile(
    r"(\0.([!-~]+))([\0\1].([!-~]+))(\0\x16([\w-]{22}))(\0.(-|[a-z]\.[\w-]+))"
    rf"(\0.({'|'.join(_LEVELS)}))(\0\x10([0-9a-f]{{16}}))(\0\x08(.{{8}}))\Z",
    re.DOTALL | re.ASCII,
)

_JA4 = re.compile(r"([a-z])[0-9a-z]{9}_([0-9a-f]{12})_[0-9a-f]{12}\Z")


class ClearanceRefused(Exception):  # noqa: N818 - an answer, not a fault
    """The text is not a clearance for this site, or is one that has expired. `reason` is the gateway's."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Clearance(Struct, frozen=True, kw_only=True):
    """A passed check: its site, origin, holder and level, and when the clearance expires."""

    site_key: str
    origin: str
    # Keyed digest of the network (/24 of IPv4, /48 of IPv6) and the User-Agent.
    holder: str
    # Transport and keyed digest of the cipher suites, or UNKNOWN_JA4.
    ja4: str
    level: ClearanceLevel
    # Stays the same when the clearance is renewed, so that its use can be followed and limited.
    id: str
    expires_ms: int


class ClearanceHolder(Struct, frozen=True, gc=False):
    """The client that earns a clearance or shows one."""

    address: str
    user_agent: bytes | None
    ja4: str | None = None
    # Whether enforce mode would have passed the check. The digest hides it from readers of the cookie.
    is_proven: bool = True


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
        return _cookie_name(self._issuer, site_key)

    def issue(
        self,
        *,
        site_key: str,
        origin: str,
        holder: ClearanceHolder,
        level: ClearanceLevel,
        now_ms: int,
        renewed: str | None = None,
    ) -> IssuedClearance:
        """Return a clearance that is good from now on; `renewed` is the ID of the one that it replaces."""
        clearance = Clearance(
            site_key=site_key,
            origin=origin,
            holder=base64url.encode(
                self._keyring.mac(PURPOSE, *_holder_parts(site_key, holder, is_proven=holder.is_proven))[:DIGEST_BYTES]
            ),
            ja4=self._tag_ja4(site_key, holder.ja4),
            level=level,
            id=renewed or secrets.token_hex(8),
            expires_ms=now_ms + self._lifetime_ms,
        )
        fields = _fields_of(clearance)
        data = _join(fields) + self._keyring.mac(PURPOSE, *fields)
        value = PREFIX + base64url.encode(data)
        return IssuedClearance(self.cookie_name(site_key), value, Moment(clearance.expires_ms), clearance.id)

    def read(self, value: str, *, site_key: str, now_ms: int) -> Clearance:
        """Return the fields of a clearance; reject one that is forged, another site's, or expired."""
        data = _decode(value)
        layout = _LAYOUT.match(data[:-TAG_BYTES].decode("latin-1"))
        if layout is None:
            raise ClearanceRefused(_INVALID)
        groups = layout.groups()
        # Lengths have four bytes where fields are authenticated, and two in the cookie.
        framed = "\0\0" + "\0\0".join(groups[::2])
        if not self._keyring.is_mac_of(data[-TAG_BYTES:], PURPOSE, framed.encode("latin-1")):
            raise ClearanceRefused(_INVALID)
        of_site, origin, holder, ja4, level, clearance_id, expiry = groups[1::2]
        if of_site != site_key:
            raise ClearanceRefused(_INVALID)
        expires_ms = int.from_bytes(expiry.encode("latin-1"))
        if now_ms >= expires_ms:
            raise ClearanceRefused(_EXPIRED)
        return Clearance(
            site_key=site_key,
            origin=origin,
            holder=holder,
            ja4=ja4,
            level=_LEVELS[level],
            id=clearance_id,
            expires_ms=expires_ms,
        )

    def is_held_by(self, clearance: Clearance, holder: ClearanceHolder, mode: Mode) -> bool:
        """Return whether a client is the one that earned the clearance. Unknown TLS fingerprints are not compared.

        Monitor mode also accepts clearances that it issued for checks that enforce mode would have rejected.
        """
        site_key = clearance.site_key
        tag, verdicts = base64url.decode(clearance.holder), (True, False) if mode is Mode.MONITOR else (True,)
        if not any(
            self._keyring.is_mac(tag, PURPOSE, *_holder_parts(site_key, holder, is_proven=each)) for each in verdicts
        ):
            return False
        shown = _read_ja4(holder.ja4)
        bound, _, suites = clearance.ja4.partition(".")
        if shown is None or shown[0] != bound:
            return True
        return self._keyring.is_mac(base64url.decode(suites), PURPOSE, *_ja4_parts(site_key, shown[1]))

    def _tag_ja4(self, site_key: str, text: str | None) -> str:
        shown = _read_ja4(text)
        if shown is None:
            return UNKNOWN_JA4
        transport, suites = shown
        return (
            f"{transport}.{base64url.encode(self._keyring.mac(PURPOSE, *_ja4_parts(site_key, suites))[:DIGEST_BYTES])}"
        )


def _holder_parts(site_key: str, holder: ClearanceHolder, *, is_proven: bool) -> tuple[bytes, ...]:
    kind, network = token_network(holder.address)
    purpose = b"clearance-holder" if is_proven else b"clearance-monitored"
    return purpose, site_key.encode(), kind.encode(), network, holder.user_agent or b""


def _ja4_parts(site_key: str, suites: str) -> tuple[bytes, ...]:
    return b"clearance-ja4", site_key.encode(), suites.encode()


def _read_ja4(text: str | None) -> tuple[str, str] | None:
    """Return transport and cipher suites; None for other forms.

    A browser changes the other parts itself: a resumed session adds an extension, HTTP/1.1 another protocol. Over QUIC
    it offers other suites than over TCP, so only fingerprints of one transport are compared.
    """
    found = None if text is None else _JA4.match(text)
    return None if found is None else (found[1], found[2])


def _fields_of(clearance: Clearance) -> tuple[bytes, ...]:
    texts = (clearance.site_key, clearance.origin, clearance.holder, clearance.ja4, clearance.level.value, clearance.id)
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


# Cached because OpenSSL's SHA-256 is slow if it runs rarely (decision 0023).
@lru_cache(maxsize=4_096)
def _cookie_name(issuer: str, site_key: str) -> str:
    derived = hashlib.sha256(f"{issuer}\n{site_key}".encode()).hexdigest()
    return f"ag_clearance_{derived[:8]}"
