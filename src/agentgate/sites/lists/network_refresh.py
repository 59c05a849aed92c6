"""Reads the sources of network lists again and again: lists at URLs, and the local API of CrowdSec.

A source that fails or is not a list changes only the list's `problem`, and the last good networks remain active. A list
from outside never contains private networks and the installation's proxies.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from agentgate.http.outbound.client import Outbound, OutboundAnswer, OutboundFailed, look_up
from agentgate.http.outbound.public_address import UNICAST_IPV6, not_public
from agentgate.lib.clock import MINUTE_MS, SECOND_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.enums import NetworkSource
from agentgate.lib.ip_address import read_network
from agentgate.lib.keyring import KeysUnreadable, Sealer
from agentgate.lib.limits import NETWORKS_PER_SITE
from agentgate.lib.records import UNREADABLE
from agentgate.lib.tasks.job import Job
from agentgate.sites.lists.network_endpoints import sealing_context
from agentgate.sites.lists.network_records import StoredNetworkList
from agentgate.sites.lists.network_repository import NetworkListStores
from agentgate.sites.lists.networks import (
    Network,
    covers_most,
    fit_for_blocking,
    of_network,
    overlaps,
    pack,
    read_list,
    read_plain,
    unpack,
)
from agentgate.sites.rules.patterns.networks import V6_BITS

EVERY_MS = 5 * SECOND_MS
AT_ONCE = 4
WHOLE_S = 30.0
MOST_BODY_BYTES = 16 * 1024 * 1024
# After a failure, a list is read again at the latest after this time.
RETRY_MS = 10 * MINUTE_MS
# A text of which more lines than this are no networks is not a list.
MOST_UNREADABLE = 0.1
# Lines of a list and objects of a stream. What fits the size may have millions, and threads share their time with
# the gateway.
MOST_LINES = 2 * NETWORKS_PER_SITE
# Accounts whose sources are read in one run, one source of each.
MOST_IN_A_RUN = 64
MOST_STREAMS = 64
_ETAG = re.compile(r'(?:W/)?"[!-~]{0,200}"\Z')
STREAM = "/v1/decisions/stream"
_SCOPES = frozenset(("ip", "range"))


class SourceFailed(Exception):  # noqa: N818 - says what happened
    """A source did not give a list. The reason is shown to the site's owner."""


class StreamDecision(Struct, frozen=True):
    """A decision of CrowdSec, as far as it is used."""

    value: str = ""
    scope: str = ""
    type: str = ""

    def is_ban(self) -> bool:
        return self.type.lower() == "ban" and self.scope.lower() in _SCOPES


_DECISION = msgspec.json.Decoder(StreamDecision)


class DecisionStream(Struct, frozen=True):
    """A response of CrowdSec's stream: decisions since the last response, or with `startup` all of them."""

    # Decoded one by one: a decoder lets no other thread run until it is done.
    new: list[msgspec.Raw] | None = None
    deleted: list[msgspec.Raw] | None = None


class NetworkListRefresh:
    """Reads the sources that are due."""

    def __init__(
        self,
        store: Store[NetworkListStores],
        outbound: Outbound,
        *,
        sealer: Sealer,
        clock: Clock,
        trusted_proxies: Iterable[str] = (),
    ) -> None:
        self._store = store
        self._outbound = outbound
        self._sealer = sealer
        self._clock = clock
        proxies = [of_network(read_network(text)) for text in trusted_proxies]
        self._is_ours = overlaps([*_not_public(), *proxies])
        # What CrowdSec has sent since its first response to this process, by site, list and URL.
        self._streams: dict[tuple[str, str, str], dict[str, Network]] = {}
        self._running = asyncio.Lock()
        self._places = asyncio.Semaphore(AT_ONCE)
        self.results: dict[tuple[str, ...], int] = {}

    async def run(self) -> None:
        """Read sources that are due, one of each account: no customer delays the others with many slow sources."""
        async with self._running:
            due = await self._store.read.network_lists.list_due(self._clock.now_ms(), most=MOST_IN_A_RUN)
            await asyncio.gather(*map(self._refresh, due))

    async def _refresh(self, found: StoredNetworkList) -> None:
        async with self._places:
            await self._refresh_now(found)

    async def _refresh_now(self, found: StoredNetworkList) -> None:
        now_ms = self._clock.now_ms()
        after = replace(found, problem="", checked_ms=now_ms, due_ms=now_ms + found.refresh_minutes * MINUTE_MS)
        try:
            after = await self._read(after)
        except (SourceFailed, OutboundFailed) as failed:
            self._streams.pop(_stream_key(found), None)
            retry_ms = now_ms + min(RETRY_MS, found.refresh_minutes * MINUTE_MS)
            after = replace(after, problem=str(failed)[:200], due_ms=retry_ms)
            structlog.get_logger().warning("a network list was not refreshed", list=found.name, reason=after.problem)
        if after.networks != found.networks:
            after = replace(after, changed_ms=now_ms, revision=found.revision + 1)
        saved = await self._store.change(partial(self._save, found, after))
        result = "failed" if after.problem else "changed" if saved and after.networks != found.networks else "unchanged"
        key = (found.source.value, result)
        self.results[key] = self.results.get(key, 0) + 1

    async def _save(self, before: StoredNetworkList, after: StoredNetworkList, stores: NetworkListStores) -> bool:
        # A list that its owner changed in the meantime is still due.
        saved = await stores.network_lists.save_if(after, before.revision)
        if saved and after.networks != before.networks:
            await stores.configuration.bump_site(after.site_id)
        return saved

    async def _read(self, found: StoredNetworkList) -> StoredNetworkList:
        known = await self._store.read.network_lists.find_all(found.site_id)
        most = NETWORKS_PER_SITE - sum(each.count for each in known if each.name != found.name)
        etag, before = "", 0
        if found.source is NetworkSource.CROWDSEC:
            networks = await self._read_stream(found, most)
        else:
            networks, etag, before = await self._read_url(found)
        kept, skipped = await asyncio.to_thread(fit_for_blocking, networks, self._is_ours)
        if len(kept) > most:
            raise SourceFailed(f"it has {len(kept)} networks; the site's lists have room for {max(most, 0)}")
        if await asyncio.to_thread(covers_most, kept):
            raise SourceFailed("it has most addresses of the internet")
        return replace(found, networks=pack(kept), count=len(kept), skipped=before + skipped, etag=etag)

    async def _read_url(self, found: StoredNetworkList) -> tuple[list[Network], str, int]:
        """Return the networks, their validator, and how many networks were skipped before."""
        validator = {"if-none-match": found.etag} if found.etag else {}
        answer = await self._outbound.get(found.url, validator)
        if answer.status == 304 and found.etag:
            # Looked at again, as the installation's proxies may have changed.
            return await asyncio.to_thread(unpack, found.networks), found.etag, found.skipped
        body = _body(answer)
        if body.count(b"\n") >= MOST_LINES:
            raise SourceFailed(f"it has more than {MOST_LINES} lines")
        # Networks are ASCII; others are comments.
        read = await asyncio.to_thread(read_list, body.decode("latin-1"))
        if not read.networks or read.unreadable > read.lines * MOST_UNREADABLE:
            raise SourceFailed(f"it is not a list: {read.unreadable} of {read.lines} lines are not networks")
        etag = answer.headers.get("etag", "")
        return read.networks, etag if _ETAG.match(etag) else "", 0

    async def _read_stream(self, found: StoredNetworkList, most: int) -> list[Network]:
        assert found.key is not None, "a list of CrowdSec has a key"
        try:
            key = self._sealer.open(found.key, sealing_context(found.site_id, found.name)).decode()
        except KeysUnreadable:
            raise SourceFailed("the stored key cannot be decrypted; save it again") from None
        at = _stream_key(found)
        stream = self._streams.get(at)
        url = f"{found.url.rstrip('/')}{STREAM}?startup={'true' if stream is None else 'false'}&scopes=ip,range"
        body = _body(await self._outbound.get(url, {"x-api-key": key, "accept": "application/json"}))
        after = await asyncio.to_thread(_applied, {} if stream is None else stream, body, 2 * max(most, 0))
        self._streams[at] = after
        while len(self._streams) > MOST_STREAMS:
            # A list without its stream is read from the start.
            del self._streams[next(iter(self._streams))]
        return list(after.values())


def _applied(stream: Mapping[str, Network], body: bytes, most: int) -> dict[str, Network]:
    """Return the bans after a response of the stream: first without those that ended, then with the new ones."""
    if body.count(b"{") > MOST_LINES:
        raise SourceFailed(f"CrowdSec sent more than {MOST_LINES} decisions")
    after = dict(stream)
    try:
        found = msgspec.json.decode(body, type=DecisionStream)
        for value in _bans(found.deleted):
            after.pop(value, None)
        for value in _bans(found.new):
            with contextlib.suppress(ValueError):
                after[value] = read_plain(value)
    except UNREADABLE:
        raise SourceFailed("it is not the decision stream of CrowdSec") from None
    if len(after) > most:
        raise SourceFailed(f"CrowdSec has {len(after)} bans, which is too many")
    return after


def _bans(decisions: Iterable[msgspec.Raw] | None) -> Iterator[str]:
    """Yield the addresses and networks of bans."""
    for raw in decisions or ():
        each = _DECISION.decode(raw)
        if each.is_ban():
            yield each.value


def _body(answer: OutboundAnswer) -> bytes:
    if answer.status != 200:
        raise SourceFailed(f"the server responded with status {answer.status}")
    if not answer.complete:
        raise SourceFailed(f"it is larger than {MOST_BODY_BYTES} bytes")
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise SourceFailed("it is compressed, although that was not requested")
    return answer.body


def _stream_key(found: StoredNetworkList) -> tuple[str, str, str]:
    return found.site_id, found.name, found.url


def _not_public() -> list[Network]:
    """Return the networks that no visitor on the internet has."""
    around = [Network(6, first << V6_BITS - 3, 3) for first in range(8)]
    return [*map(of_network, not_public()), *(each for each in around if each != of_network(UNICAST_IPV6))]


def refresh_jobs(refresh: NetworkListRefresh) -> tuple[Job, ...]:
    return (Job(name="refresh-network-lists", interval_ms=EVERY_MS, work=refresh.run, guarded=False),)


def open_outbound(private_hosts: Iterable[str]) -> Outbound:
    """Return the client for sources. Slow name servers block only their own threads."""
    threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="network-list-names")
    return Outbound(
        frozenset(private_hosts),
        resolve=partial(look_up, threads=threads),
        whole_s=WHOLE_S,
        most_read_bytes=4 * MOST_BODY_BYTES,
    )
