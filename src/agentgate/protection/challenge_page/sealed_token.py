"""SealedTokens: sealed text that a visitor carries for us for a while, and can neither read, change nor hand on.

Each is taken once. What was taken stands in the same table as spent tokens.
"""

import base64
import hmac
import secrets

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.keyring import Keyring
from agentgate.protection.tokens.repositories.redemptions import Redemption, RedemptionStore

PURPOSE = "challenge"
NONCE_BYTES = 12
ID_BYTES = 16
# What was taken is remembered for longer than it could be shown, whatever the clocks say.
KEPT_MS = HOUR_MS


class PageHolder(Struct, frozen=True):
    """Who carries it: a visitor of a site on one of its origins."""

    site_id: str
    site_key: str
    origin: str
    # 16 hex digits.
    visitor: str


class SealedToken(Struct, frozen=True, array_like=True):
    """What was sealed, and when it may be opened."""

    id: str
    not_before_ms: int
    expires_ms: int
    content: bytes


class SealedTokens:
    """Seals and opens. The keys are derived from those of the challenges, and rotate with them."""

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
        return base64.urlsafe_b64encode(sealed).decode("ascii").rstrip("=")

    async def take(self, kind: str, text: str, holder: PageHolder, *, now_ms: int) -> bytes | None:
        """Return what a text of ours holds, once; None for what cannot be opened now or was taken before."""
        token = self.open(kind, text, holder, now_ms=now_ms)
        if token is None:
            return None
        is_new = await self._redemptions.spend(
            holder.site_id, token.id, Redemption(), kept_until_ms=token.expires_ms + KEPT_MS
        )
        return token.content if is_new else None

    def open(self, kind: str, text: str, holder: PageHolder, *, now_ms: int) -> SealedToken | None:
        """Return what a text of ours holds; None for another kind, another holder, too early or too late."""
        try:
            sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
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


def _cipher(material: bytes) -> AESGCM:
    # The label derives the key, so it stays as it was first written.
    return AESGCM(hmac.digest(material, b"agentgate envelope 1", "sha256"))


def _bound_to(kind: str, holder: PageHolder) -> bytes:
    # Lengths go before the parts, so that bytes cannot be moved from one part into its neighbour.
    parts = (kind, holder.site_key, holder.origin, holder.visitor)
    return b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
