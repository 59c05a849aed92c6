"""Decoys: remembers for an hour which clients opened a link that no person sees (`sites/decoys.py`).

Any page on the web can contain such a link, and a browser loads it as a picture or in advance. So a request counts only
if a page of the site led to it without a click. The client is an address and a browser, so that the others behind a
shared address are not affected.
"""

import asyncio
from collections.abc import Iterable, Mapping

import msgspec

from agentgate.decision.signals.request_class import RequestClass
from agentgate.gateway.header_fingerprints import HeaderFingerprint
from agentgate.gateway.pages import PageKind
from agentgate.gateway.visitors import Visitor
from agentgate.lib.clock import HOUR_MS, SECOND_MS, Clock
from agentgate.lib.shared_cache import SharedCache

TOUCHED = "decoy.touched"
TOUCHED_MS = HOUR_MS
SYNC_S = 1.0
# Clients of a site and of all sites. The oldest of the site with the most makes room.
MOST_OF_SITE, MOST = 2_000, 10_000
_KEY, _LOCK = "decoys", "decoys:lock"
# Only one worker at a time adds its own.
_LOCK_MS, _LOCK_TRIES, _LOCK_WAIT_S = 2 * SECOND_MS, 40, 0.05
# Sent with pages that no one has opened yet.
_IN_ADVANCE = (b"sec-purpose", b"purpose", b"x-purpose", b"x-moz")
_FETCH = (b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest")
_OWN_PAGE = (b"same-origin", b"navigate", b"document")

# Number of the address, and the browser's tag.
_Client = tuple[int, int]
# Site, address, browser, until when.
_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(list[tuple[int, int, int, int]]).decode


class Decoys:
    """The clients that opened decoys, of all sites, as this worker knows them."""

    def __init__(self, shared_cache: SharedCache, clock: Clock) -> None:
        self._shared_cache = shared_cache
        self._clock = clock
        # By site: until when, in the order of opening.
        self._clients: dict[int, dict[_Client, int]] = {}
        self._count = 0
        self._is_used = self._is_untold = False
        self._seen: bytes | None = None
        self.results: dict[tuple[str, ...], int] = {("touched",): 0, ("ignored",): 0}

    def note(
        self, kind: PageKind, fingerprint: HeaderFingerprint, visitor: Visitor, fields: Mapping[bytes, bytes]
    ) -> None:
        """Note a request of a decoy."""
        if not is_led_by_page(kind, fingerprint, fields):
            self.results["ignored",] += 1
            return
        self.results["touched",] += 1
        self._is_untold = True
        self._add(visitor.site, (visitor.number, fingerprint.tag), self._clock.now_ms() + TOUCHED_MS)

    def labels_of(self, visitor: Visitor, tag: int, now_ms: int) -> tuple[str, ...]:
        """Return the labels of a visitor of a site with decoys: of the address, and of what the client opened."""
        self._is_used = True
        clients = self._clients.get(visitor.site)
        if clients is None or clients.get((visitor.number, tag), 0) <= now_ms:
            return visitor.labels
        return (*visitor.labels, TOUCHED)

    async def sync(self) -> None:
        """Exchange the clients with the other workers, and delete those whose hour has ended."""
        cache, now_ms = self._shared_cache, self._clock.now_ms()
        self._delete_ended(now_ms)
        if cache.is_alone or not self._is_used:
            return
        if not self._is_untold:
            self._take(await cache.get(_KEY), now_ms)
            return
        for _ in range(_LOCK_TRIES):
            if await cache.take_once(_LOCK, ttl_ms=_LOCK_MS):
                break
            await asyncio.sleep(_LOCK_WAIT_S)
        self._take(await cache.get(_KEY), now_ms)
        self._is_untold = False
        self._seen = _ENCODE([(site, *client, end) for site, of in self._clients.items() for client, end in of.items()])
        await cache.put(_KEY, self._seen, ttl_ms=TOUCHED_MS)
        await cache.delete(_LOCK)

    def __len__(self) -> int:
        return self._count

    def _take(self, told: bytes | None, now_ms: int) -> None:
        if told is None or told == self._seen:
            return
        self._seen = told
        for site, number, tag, until_ms in sorted(_DECODE(told), key=lambda each: each[3]):
            if until_ms > max(now_ms, self._clients.get(site, {}).get((number, tag), 0)):
                self._add(site, (number, tag), until_ms)

    def _add(self, site: int, client: _Client, until_ms: int) -> None:
        clients = self._clients.setdefault(site, {})
        self._count -= clients.pop(client, None) is not None
        if len(clients) >= MOST_OF_SITE:
            self._delete(site, [next(iter(clients))])
        elif self._count >= MOST:
            most = max(self._clients, key=lambda each: len(self._clients[each]))
            self._delete(most, [next(iter(self._clients[most]))])
        self._clients.setdefault(site, clients)[client] = until_ms
        self._count += 1

    def _delete_ended(self, now_ms: int) -> None:
        for site, clients in tuple(self._clients.items()):
            self._delete(site, [client for client, until_ms in clients.items() if until_ms <= now_ms])

    def _delete(self, site: int, gone: Iterable[_Client]) -> None:
        clients = self._clients[site]
        for client in gone:
            del clients[client]
            self._count -= 1
        if not clients:
            del self._clients[site]


def is_led_by_page(kind: PageKind, fingerprint: HeaderFingerprint, fields: Mapping[bytes, bytes]) -> bool:
    """Return whether a page of the site led to a request, without a person's click.

    A client that claims to be a crawler is judged by its claim: a true one reads robots.txt, and `robots.disallowed`
    names the others. A user who can write links into the site's pages could have people click them, so a click is not
    counted. A program can claim one; it could as well send no Referer.
    """
    if kind.is_foreign or fingerprint.kind.method != "GET" or not fingerprint.methods.is_plain:
        return False
    if fingerprint.is_agents or not fingerprint.is_plain or fingerprint.program is not None:
        return False
    if fingerprint.kind.request_class not in {RequestClass.PAGE, RequestClass.PROGRAM}:
        return False
    if any(name in fields for name in _IN_ADVANCE):
        return False
    sent = tuple(fields.get(name) for name in _FETCH)
    if sent == (None, None, None):
        # Programs, old browsers, and every browser without TLS.
        return fields.get(b"referer", b"").startswith(kind.origin.encode() + b"/")
    return sent == _OWN_PAGE and b"sec-fetch-user" not in fields
