"""SealedTokens: encrypted text that a visitor holds for a while and can neither read, change nor transfer.

Each is redeemed once, in the table of redemptions.
"""

import hmac
import secrets
from functools import lru_cache

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore
from agentgate.http.decode import RawBody
from agentgate.http.forms import FORM_MEDIA_TYPES, media_type_of, read_fields
from agentgate.lib import base64url
from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.lib.keyring import Keyring

PURPOSE = "challenge"
NONCE_BYTES = 12
ID_BYTES = 16
# Redeemed tokens are stored longer than they are valid, with a margin for clock skew.
KEPT_MS = HOUR_MS
_MOST_CIPHERS = 16


class PageHolder(Struct, frozen=True):
    """The holder of a sealed token: a visitor of a site on one of its origins."""

    site_id: str
    site_key: str
    origin: str
    # 16 hex digits.
    visitor: str


class SealedToken(Struct, frozen=True, array_like=True):
    """Content of a sealed token, and its validity period."""

    id: str
    not_before_ms: int
    expires_ms: int
    content: bytes


class SealedTokens:
    """Seals and opens. The keys are derived from the challenge keys, and rotate with them."""

    def __init__(self, keyring: Keyring, redemptions: RedemptionStore) -> None:
        self._keyring = keyring
        self._redemptions = redemptions
        self._decoder = msgspec.msgpack.Decoder(SealedToken)

    def seal(self, kind: str, content: bytes, holder: PageHolder, *, not_before_ms: int, expires_ms: int) -> str:
        """Return the text to carry."""
        token = SealedToken(secrets.token_urlsafe(ID_BYTES), int(not_before_ms), int(expires_ms), content)
        nonce = secrets.token_bytes(NONCE_BYTES)
        cipher = _cipher(self._keyring.current(PURPOSE))
        sealed = nonce + cipher.encrypt(nonce, msgspec.msgpack.encode(token), _bound_to(kind, holder))
        return base64url.encode(sealed)

    async def take(self, kind: str, text: str, holder: PageHolder, *, now_ms: int) -> bytes | None:
        """Redeem a sealed token and return its content; None if it is invalid now or was redeemed before."""
        token = self.open(kind, text, holder, now_ms=now_ms)
        if token is None:
            return None
        is_new = await self._redemptions.spend(
            holder.site_id,
            token.id,
            Redemption(),
            issued_ms=token.not_before_ms,
            kept_until_ms=token.expires_ms + KEPT_MS,
        )
        return token.content if is_new else None

    def open(self, kind: str, text: str, holder: PageHolder, *, now_ms: int) -> SealedToken | None:
        """Return the content of a sealed token; None for another kind or holder, and outside its validity period."""
        try:
            sealed = base64url.decode(text)
        except ValueError:
            return None
        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        for material in self._keyring.materials(PURPOSE):
            try:
                plain = _cipher(material).decrypt(nonce, rest, _bound_to(kind, holder))
            except (InvalidTag, ValueError):
                # ValueError: so short that not even the nonce is whole.
                continue
            token = self._decoder.decode(plain)
            return token if token.not_before_ms <= now_ms < token.expires_ms else None
        return None


@lru_cache(maxsize=_MOST_CIPHERS)
def _cipher(material: bytes) -> AESGCM:
    # The label derives the key, so it stays as it was first written.
    return AESGCM(hmac.digest(material, b"agentgate envelope 1", "sha256"))


def _bound_to(kind: str, holder: PageHolder) -> bytes:
    # Lengths go before the parts, so that bytes cannot be moved from one part into its neighbor.
    parts = (kind, holder.site_key, holder.origin, holder.visitor)
    return b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)


# The name of a saved form in the page and its script.
KIND = "capsule"
LIFETIME_MS = 10 * MINUTE_MS
MOST_FIELDS = 1_000


class SavedForm(Struct, frozen=True):
    """Target, encoding and fields of a form, in their order."""

    url: str
    enctype: str
    fields: list[tuple[str, str]]


class SavedForms:
    """Seals and opens saved forms."""

    def __init__(self, sealed_tokens: SealedTokens) -> None:
        self._sealed_tokens = sealed_tokens
        self._decoder = msgspec.msgpack.Decoder(SavedForm)

    def close(self, saved_form: SavedForm, holder: PageHolder, *, now_ms: int) -> str:
        content = msgspec.msgpack.encode(saved_form)
        return self._sealed_tokens.seal(KIND, content, holder, not_before_ms=now_ms, expires_ms=now_ms + LIFETIME_MS)

    async def take(self, text: str, holder: PageHolder, *, now_ms: int) -> SavedForm | None:
        """Redeem a saved form; None if it is another holder's, expired, or was redeemed before."""
        content = await self._sealed_tokens.take(KIND, text, holder, now_ms=now_ms)
        return None if content is None else self._decoder.decode(content)


def read_form(body: RawBody, url: str) -> SavedForm | None:
    """Return a posted form; None if it is too large, no form, or has fields that cannot be saved."""
    media_type = media_type_of(body.content_type)
    if body.content is None or media_type not in FORM_MEDIA_TYPES:
        return None
    try:
        fields = read_fields(body.content, body.content_type, most=MOST_FIELDS)
    except ValueError:
        return None
    return SavedForm(url, media_type, fields)
