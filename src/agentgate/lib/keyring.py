"""The keys of the service: one per purpose, created on first start, rotatable, shared by all workers.

The durable store has the keys, sealed under the root secret, which is stored elsewhere. A message authenticated for one
purpose never passes for another: each purpose has a separate key and is part of the authenticated bytes.
"""

import base64
import hashlib
import secrets
from collections.abc import Iterable, Mapping
from hmac import compare_digest
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from agentgate.lib.clock import DAY_MS, MINUTE_MS
from agentgate.lib.database import LockingRepository, RecordTable, Store
from agentgate.lib.mac import PreparedMac

# purpose -> how long a replaced key still verifies what it made.
PURPOSES = {
    "cursor": DAY_MS,
    "csrf": DAY_MS,
    "challenge": DAY_MS,
    "clearance": DAY_MS,
    "visitor": 0,
    "receipt": 2 * DAY_MS,
}
# All workers read the keys again within this time, so a key may be used once it is that old.
REFRESH_MS = 10_000
ACTIVATION_MS = 6 * MINUTE_MS
KEY_BYTES = 32
SHORTEST_TAG = 16


class KeysUnreadable(Exception):  # noqa: N818 - says what happened
    """The stored keys do not open under this root secret."""


class StoredKey(Struct, frozen=True, kw_only=True):
    """One key as stored.

    It makes new things from `active_ms` on, by when every worker has read it; from `retired_ms` on it verifies nothing.
    """

    id: str
    purpose: str
    sealed: bytes
    created_ms: int
    active_ms: int
    retired_ms: int | None = None


_KEYS = RecordTable("service_key", StoredKey)


class KeyStore(LockingRepository):
    async def list_keys(self) -> list[StoredKey]:
        """Return every key that was ever made and not swept, newest first."""
        return [_KEYS.read(row) for row in await self._session.all(f"{_KEYS.select} ORDER BY created_ms DESC, id")]

    async def add_key(self, key: StoredKey) -> None:
        await _KEYS.add(self._session, key)

    async def retire_keys(self, purpose: str, retired_ms: int) -> None:
        """Give every key of the purpose that has no end yet this one."""
        await _KEYS.change(self._session, "purpose = $1 AND retired_ms IS NULL", purpose, retired_ms=retired_ms)

    async def lock_keys(self) -> None:
        """Keep other workers from making keys until this unit of work is done."""
        await self._session.lock("keys")


class KeyStores(Protocol):
    """The repository that a unit of work on keys uses."""

    keys: KeyStore


class Keyring:
    """The opened keys. `replace` swaps them whole, so that a reader never sees half a rotation."""

    def __init__(self, keys: Iterable[tuple[StoredKey, bytes]], now_ms: int) -> None:
        self._by_purpose: Mapping[str, list[bytes]] = {}
        self._macs: Mapping[str, list[PreparedMac]] = {}
        self._since_ms: Mapping[str, int] = {}
        self._first: Mapping[str, int] = {}
        # How often the keys were swapped: a cache of values that a key made compares this number instead of keys.
        self.generation = 0
        self.replace(keys, now_ms)

    def replace(self, keys: Iterable[tuple[StoredKey, bytes]], now_ms: int) -> None:
        """Take over what the store has now; the key that makes new things comes first."""
        opened: dict[str, list[tuple[bool, int, bytes]]] = {purpose: [] for purpose in PURPOSES}
        firsts: dict[str, int] = {}
        for stored, material in keys:
            if stored.active_ms == stored.created_ms:
                # Only the first key of a purpose is used at once: there was none before it.
                firsts[stored.purpose] = stored.active_ms
            if stored.purpose in opened and (stored.retired_ms is None or stored.retired_ms > now_ms):
                opened[stored.purpose].append((stored.active_ms <= now_ms, stored.active_ms, material))
        self._since_ms = {purpose: max(found)[1] for purpose, found in opened.items() if found}
        self._first = firsts
        self._by_purpose = {
            purpose: [material for *_, material in sorted(found, reverse=True)] for purpose, found in opened.items()
        }
        self._macs = {
            purpose: [PreparedMac(material, prefix=_join(purpose.encode())) for material in materials]
            for purpose, materials in self._by_purpose.items()
        }
        self.generation += 1

    def current(self, purpose: str) -> bytes:
        """Return the key that makes new things."""
        return self._by_purpose[purpose][0]

    def since_ms(self, purpose: str) -> int:
        """Return since when the current key makes new things; 0 for the first one, which nothing is older than."""
        since_ms = self._since_ms[purpose]
        return 0 if since_ms == self._first.get(purpose) else since_ms

    def materials(self, purpose: str) -> tuple[bytes, ...]:
        """Return every key of a purpose that verifies, or soon will: the one that makes new things first."""
        return tuple(self._by_purpose[purpose])

    def mac(self, purpose: str, *parts: bytes) -> bytes:
        """Authenticate parts with the purpose's current key."""
        return self._macs[purpose][0].tag(_join(*parts))

    def is_mac(self, tag: bytes, purpose: str, *parts: bytes) -> bool:
        """Return whether the tag, whole or cut to 16 bytes or more, was made for these parts by a key that verifies."""
        return self.is_mac_of(tag, purpose, _join(*parts))

    def is_mac_of(self, tag: bytes, purpose: str, framed: bytes) -> bool:
        """Return `is_mac` of parts that are joined already: each behind its length in four bytes."""
        length = len(tag)
        if length < SHORTEST_TAG:
            return False
        is_made_by_one = False
        # Every key is tried, so that the duration does not depend on the matching key.
        for mac in self._macs[purpose]:
            is_made_by_one |= compare_digest(mac.tag(framed)[:length], tag)
        return is_made_by_one


def _join(*parts: bytes) -> bytes:
    # Lengths go before the parts, so that bytes cannot be moved from one part into its neighbor.
    return b"".join([len(part).to_bytes(4, "big") + part for part in parts])


class Sealer:
    """Seals stored values, under a key derived from the root secret."""

    def __init__(self, root_secret: bytes) -> None:
        if len(root_secret) < KEY_BYTES:
            raise ValueError(f"the root secret needs at least {KEY_BYTES} bytes")
        self._cipher = AESGCM(hashlib.blake2b(root_secret, digest_size=KEY_BYTES, person=b"agentgate seal").digest())

    def seal(self, plain: bytes, context: str) -> bytes:
        """Encrypt; the context must be given again to open."""
        nonce = secrets.token_bytes(12)
        return nonce + self._cipher.encrypt(nonce, plain, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """Decrypt; raise KeysUnreadable for another root secret, another context or changed bytes."""
        try:
            return self._cipher.decrypt(sealed[:12], sealed[12:], context.encode())
        except (InvalidTag, ValueError):
            # ValueError: so short that not even the nonce is whole.
            raise KeysUnreadable(
                "The stored keys cannot be opened with this root secret. Put back the root secret that this store was"
                " created with; otherwise signed tokens and sealed data cannot be read."
            ) from None


async def load_keys(store: Store[KeyStores], sealer: Sealer, now_ms: int) -> list[tuple[StoredKey, bytes]]:
    """Open the stored keys; make the ones that do not exist yet."""

    async def work(stores: KeyStores) -> list[StoredKey]:
        await stores.keys.lock_keys()
        stored = await stores.keys.list_keys()
        # With the wrong root secret nothing may be added: the right one could not open it.
        _open(stored, sealer)
        for purpose in _missing(stored):
            made = _new_key(purpose, sealer, now_ms, active_ms=now_ms)
            await stores.keys.add_key(made)
            stored.append(made)
        return stored

    stored = await store.read.keys.list_keys()
    if _missing(stored):
        stored = await store.change(work)
    return _open(stored, sealer)


def _open(stored: Iterable[StoredKey], sealer: Sealer) -> list[tuple[StoredKey, bytes]]:
    return [(key, sealer.open(key.sealed, f"{key.purpose}:{key.id}")) for key in stored]


async def rotate_key(store: Store[KeyStores], sealer: Sealer, purpose: str, now_ms: int) -> StoredKey:
    """Create a new key in a separate unit of work."""
    return await store.change(lambda stores: replace_key(stores, sealer, purpose, now_ms))


async def replace_key(stores: KeyStores, sealer: Sealer, purpose: str, now_ms: int) -> StoredKey:
    """Create a new key; the old one is used until the new one is active, and verifies for the purpose's grace period
    after that."""
    made = _new_key(purpose, sealer, now_ms, active_ms=now_ms + ACTIVATION_MS)
    await stores.keys.lock_keys()
    await stores.keys.retire_keys(purpose, made.active_ms + PURPOSES[purpose])
    await stores.keys.add_key(made)
    return made


def _missing(stored: Iterable[StoredKey]) -> list[str]:
    current = {key.purpose for key in stored if key.retired_ms is None}
    return [purpose for purpose in PURPOSES if purpose not in current]


def _new_key(purpose: str, sealer: Sealer, now_ms: int, *, active_ms: int) -> StoredKey:
    key_id = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    sealed = sealer.seal(secrets.token_bytes(KEY_BYTES), f"{purpose}:{key_id}")
    return StoredKey(id=key_id, purpose=purpose, sealed=sealed, created_ms=now_ms, active_ms=active_ms)
