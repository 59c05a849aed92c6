"""Keys of agents, fetched from the key sets that their requests name, and cached.

Visitors choose what is fetched here: so it goes to public addresses only, is bounded in time, size and number, and one
visitor's key set never evicts another's. A failed fetch never invalidates a cached key set.
"""

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog
from msgspec import Struct

from agentgate.agents.signing.key_sets import KeyFound, ListedKey, NotAKeySet, read_key_set
from agentgate.http.outbound.client import Outbound, OutboundAnswer, OutboundFailed, Target, kept_s, look_up
from agentgate.lib.clock import DAY_MS, MINUTE_MS
from agentgate.lib.settings.values import ANY_HOST, KNOWN_HOSTS
from agentgate.sites.agent_policy import WELL_KNOWN

FETCH_S = 3.0
# A fetch that had less than this part of the time waited too long for others.
OWN_TIME = 0.9
MOST_READ_BYTES = 64 * 1024
MOST_FETCHES = 4
# One slot is reserved for the renewal of known key sets, which slow strangers must not block.
STRANGERS_FETCHES = 3
MOST_WAITING = 64
# Cached at once; the least recently used are evicted first, and failures before key sets.
MOST_KEY_SETS = 1_000
MOST_FAILURES = 1_000
# Failures and new fetches of one host, however many paths a visitor makes up.
MOST_OF_HOST = 8
# Delay before the same URL is fetched again: after a failure, or for a key that was not in it.
RETRY_MS = MINUTE_MS
# A key set is renewed after this part of its lifetime, so that no request waits for it.
RENEWED_AFTER = 0.75
# How long a key set is used after its lifetime while it cannot be fetched.
STALE_MS = 7 * DAY_MS
PORT = 443
NOT_FOUND = 404
HEADERS = {"accept": "application/http-message-signatures-directory+json, application/json;q=0.9, */*;q=0.1"}

NOT_ALLOWED = "AgentGate does not fetch key sets from that host. The site can add the host to agentDirectories."
NEVER_ALLOWED = "AgentGate fetches no key sets. The site can list the agent's keys in its policy."
BUSY = "too many key sets are being fetched; try again in a few seconds"


class KnownDirectory(Struct):
    """A key set that was fetched, and until when it is fresh."""

    host: str
    keys: Mapping[str, ListedKey]
    fresh_until_ms: int
    renewed_from_ms: int
    # When it was fetched last, with or without success.
    asked_ms: int


class Failure(Struct, frozen=True):
    """A URL without a key set: the reason, and until when it is not fetched again."""

    reason: str
    host: str
    until_ms: int


class KeyDirectories:
    """Implements KeySource. Any site may use `hosts`; ANY_HOST means all hosts, KNOWN_HOSTS the hosts in `known`."""

    def __init__(
        self, outbound: Outbound, *, hosts: tuple[str, ...], known: Callable[[], Collection[str]] = tuple
    ) -> None:
        self._outbound = outbound
        self._hosts = frozenset(hosts)
        self._known = known
        # Both in the order of use, the longest unused first.
        self._key_sets: dict[str, KnownDirectory] = {}
        self._failures: dict[str, Failure] = {}
        # Per host: cached failures, and new key sets that are being fetched.
        self._of_host: Counter[str] = Counter()
        self._fetches: dict[str, asyncio.Task[KeyFound | None]] = {}
        self._places = asyncio.Semaphore(MOST_FETCHES)
        self._strangers_places = asyncio.Semaphore(STRANGERS_FETCHES)

    def find(self, url: str, keyid: str, *, now_ms: int, hosts: Collection[str] = ()) -> KeyFound | Awaitable[KeyFound]:
        """Return a cached key; else an awaitable, which takes three seconds at most.

        `hosts` are those that a site adds. They count for this site only, also when the key set is cached.
        """
        if not self._hosts:
            return KeyFound(None, NEVER_ALLOWED)
        known = self._key_sets.get(url)
        if known is None:
            return self._find_new(url, keyid, hosts, now_ms=now_ms)
        if not self._is_allowed(known.host, hosts):
            return KeyFound(None, NOT_ALLOWED)
        self._key_sets[url] = self._key_sets.pop(url)
        listed = known.keys.get(keyid)
        may_ask = not _is_recent(known.asked_ms, now_ms)
        if listed is not None and now_ms < known.fresh_until_ms:
            if now_ms >= known.renewed_from_ms and may_ask:
                self._fetch(url, now_ms)
            return listed.found(now_ms=now_ms)
        if may_ask or url in self._fetches:
            return self._wait(url, keyid, now_ms=now_ms)
        return self._answer(url, keyid, now_ms=now_ms)

    def listed(self, url: str) -> list[str] | None:
        """Return the thumbprints of a cached key set; None if it is not cached."""
        known = self._key_sets.get(url)
        return None if known is None else sorted(known.keys)

    async def close(self) -> None:
        """Cancel pending fetches."""
        fetches = list(self._fetches.values())
        for fetch in fetches:
            fetch.cancel()
        await asyncio.gather(*fetches, return_exceptions=True)

    def _is_allowed(self, host: str, added: Collection[str]) -> bool:
        return (
            host in self._hosts
            or ANY_HOST in self._hosts
            or host in added
            or (KNOWN_HOSTS in self._hosts and host in self._known())
        )

    def _find_new(self, url: str, keyid: str, added: Collection[str], *, now_ms: int) -> KeyFound | Awaitable[KeyFound]:
        try:
            target = self._check(url)
        except OutboundFailed as refused:
            return KeyFound(None, f"the key set's URL cannot be used: it {refused.reason}")
        if not self._is_allowed(target.host, added):
            return KeyFound(None, NOT_ALLOWED)
        failure = self._failures.get(url)
        if failure is not None and _is_recent(failure.until_ms - RETRY_MS, now_ms):
            return KeyFound(None, failure.reason)
        if url in self._fetches:
            return self._wait(url, keyid, now_ms=now_ms)
        self._drop_failures(now_ms)
        if self._of_host[target.host] >= MOST_OF_HOST or len(self._fetches) >= MOST_WAITING:
            return KeyFound(None, BUSY)
        return self._wait(url, keyid, now_ms=now_ms)

    def _check(self, url: str) -> Target:
        target = self._outbound.check(url)
        if target.scheme != "https" or target.port != PORT:
            raise OutboundFailed("must start with https:// and have no port")
        return target

    def _wait(self, url: str, keyid: str, *, now_ms: int) -> Awaitable[KeyFound]:
        # Joined at once. If the caller joined only when it starts waiting, the running fetch could have ended, and
        # another would begin.
        return self._await(self._fetch(url, now_ms), url, keyid, now_ms=now_ms)

    async def _await(self, fetch: asyncio.Task[KeyFound | None], url: str, keyid: str, *, now_ms: int) -> KeyFound:
        # A caller may be canceled; the others keep waiting.
        busy = await asyncio.shield(fetch)
        return busy or self._answer(url, keyid, now_ms=now_ms)

    def _answer(self, url: str, keyid: str, *, now_ms: int) -> KeyFound:
        """Return the cached key, however old."""
        known = self._key_sets.get(url)
        if known is None or now_ms >= known.fresh_until_ms + STALE_MS:
            failure = self._failures.get(url)
            return KeyFound(None, failure.reason if failure else "the key set could not be fetched")
        listed = known.keys.get(keyid)
        if listed is None:
            return KeyFound(None, "the key set does not list the key of `keyid`, which must be the key's thumbprint")
        return listed.found(now_ms=now_ms)

    def _fetch(self, url: str, now_ms: int) -> asyncio.Task[KeyFound | None]:
        """Start to fetch a key set, or join the fetch that runs."""
        task = self._fetches.get(url)
        if task is None:
            task = self._fetches[url] = asyncio.create_task(self._fetch_in_turn(url, now_ms))
            host = self._check(url).host
            # Counted here and not when the task begins: many could start in between.
            self._of_host[host] += 1

            def finish(_: object) -> None:
                del self._fetches[url]
                self._uncount(host)

            task.add_done_callback(finish)
        return task

    async def _fetch_in_turn(self, url: str, now_ms: int) -> KeyFound | None:
        known = self._key_sets.get(url)
        if known is not None:
            known.asked_ms = now_ms
        queue = contextlib.nullcontext() if known is not None else self._strangers_places
        now_s = asyncio.get_running_loop().time
        began_s = math.inf
        try:
            # The time for a slot counts too: no caller waits longer than this.
            async with asyncio.timeout(FETCH_S):
                async with queue, self._places:
                    began_s = now_s()
                    await self._fetch_now(url, now_ms)
        except TimeoutError:
            if now_s() - began_s < OWN_TIME * FETCH_S:
                # Most of the time was spent waiting for others, so the failure is not cached.
                return KeyFound(None, BUSY) if known is None else None
            self._note_failure(url, f"no response within {FETCH_S:g} seconds", now_ms)
        return None

    async def _fetch_now(self, url: str, now_ms: int) -> None:
        try:
            answer = await self._outbound.get(url, HEADERS)
            if answer.status == NOT_FOUND and url.endswith(WELL_KNOWN):
                # The value of Signature-Agent may also be the key set's URL itself.
                answer = await self._outbound.get(url.removesuffix(WELL_KNOWN) + "/", HEADERS)
            keys = _keys_of(answer)
        except (OutboundFailed, NotAKeySet) as failure:
            self._note_failure(url, failure.reason, now_ms)
            return
        lifetime_ms = kept_s(answer.headers) * 1000
        self._drop_failure(url)
        self._key_sets.pop(url, None)
        self._key_sets[url] = KnownDirectory(
            host=self._check(url).host,
            keys=keys,
            fresh_until_ms=now_ms + lifetime_ms,
            renewed_from_ms=now_ms + round(lifetime_ms * RENEWED_AFTER),
            asked_ms=now_ms,
        )
        if len(self._key_sets) > MOST_KEY_SETS:
            del self._key_sets[next(iter(self._key_sets))]

    def _note_failure(self, url: str, reason: str, now_ms: int) -> None:
        # Without the query, which is free text.
        structlog.get_logger().info("key set not fetched", key_set=url.partition("?")[0], reason=reason)
        if url in self._key_sets:
            return
        self._drop_failure(url)
        host = self._check(url).host
        self._failures[url] = Failure(f"the key set could not be fetched: {reason}", host, now_ms + RETRY_MS)
        self._of_host[host] += 1
        if len(self._failures) > MOST_FAILURES:
            self._drop_failure(next(iter(self._failures)))

    def _drop_failures(self, now_ms: int) -> None:
        """Drop expired failures, which are in the order of their time."""
        while self._failures:
            url, failure = next(iter(self._failures.items()))
            if failure.until_ms > now_ms:
                return
            self._drop_failure(url)

    def _drop_failure(self, url: str) -> None:
        failure = self._failures.pop(url, None)
        if failure is not None:
            self._uncount(failure.host)

    def _uncount(self, host: str) -> None:
        self._of_host[host] -= 1
        if not self._of_host[host]:
            del self._of_host[host]


def _is_recent(then_ms: int, now_ms: int) -> bool:
    """Return whether a time was within RETRY_MS. A concurrent request may have begun shortly before that time."""
    return abs(now_ms - then_ms) < RETRY_MS


def _keys_of(answer: OutboundAnswer) -> dict[str, ListedKey]:
    if answer.status != 200:
        raise NotAKeySet(f"it returned status {answer.status} instead of 200")
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise NotAKeySet("it has a Content-Encoding that was not requested")
    return read_key_set(answer.body)


def open_directories(hosts: tuple[str, ...], known: Callable[[], Collection[str]]) -> KeyDirectories:
    """Return the key directories of a worker. Slow name servers block only their own threads.

    `known` returns the hosts of known agents.
    """
    threads = ThreadPoolExecutor(MOST_FETCHES, thread_name_prefix="key-set-names")
    outbound = Outbound(
        resolve=partial(look_up, threads=threads),
        connect_s=FETCH_S,
        whole_s=FETCH_S,
        most_read_bytes=MOST_READ_BYTES,
    )
    return KeyDirectories(outbound, hosts=hosts, known=known)
