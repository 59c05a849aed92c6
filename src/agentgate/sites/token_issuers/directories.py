"""Keys of private token issuers from their directories (RFC 9578, section 4). One process reads them for all.

Customers name the issuers: so requests go to public addresses on port 443 only, and are bounded in time, size and
number. A failed attempt keeps the last good keys for a week.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

import msgspec
import structlog
from msgspec import UNSET, Struct

from agentgate.http.outbound.client import Outbound, OutboundAnswer, OutboundFailed, kept_s, look_up
from agentgate.lib.clock import DAY_MS, MINUTE_MS, SECOND_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.records import UNREADABLE, optional_moment
from agentgate.sites.private_tokens import TOKEN_TYPE, Issuer, read_issuer
from agentgate.sites.records import TokenIssuerStatus
from agentgate.sites.token_issuers.repository import ListedTokenKey, StoredIssuer, TokenIssuerStores

WELL_KNOWN = "/.well-known/private-token-issuer-directory"
MEDIA_TYPE = "application/private-token-issuer-directory"
FETCH_S = 3.0
MOST_READ_BYTES = 64 * 1024
AT_ONCE = 4
# Attempts of one run, the longest waiting first: slow servers delay the others by a minute or two.
MOST_IN_A_RUN = 32
MOST_KEYS = 8
# The shortest time between two attempts.
RETRY_MS = 10 * MINUTE_MS
# Keys are used that long after the directory was last read. Issuers change them daily to weekly.
STALE_MS = 7 * DAY_MS
_LATEST_S = 2**40


class NotADirectory(Exception):  # noqa: N818 - says what happened
    """The response is not an issuer directory with a usable key."""


class _Listed(Struct, rename="kebab"):
    token_type: int
    token_key: str
    not_before: float = 0


class _Document(Struct, rename="kebab"):
    token_keys: list[Any]


def read_directory(name: str, answer: OutboundAnswer) -> tuple[ListedTokenKey, ...]:
    """Return the usable keys of an issuer's directory, in its order; raise NotADirectory if there are none."""
    if answer.status != 200:
        raise NotADirectory(f"it returned status {answer.status} instead of 200")
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise NotADirectory(f"its Content-Type is not {MEDIA_TYPE}")
    if not answer.complete or answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise NotADirectory("it is too long, or has a Content-Encoding that was not requested")
    try:
        listed = msgspec.json.decode(answer.body, type=_Document).token_keys
    except UNREADABLE:
        raise NotADirectory("it is not an issuer directory in JSON") from None
    keys = tuple(_usable(name, listed))
    if not keys:
        raise NotADirectory("it lists no RSA key of 2048 bits for token type 2")
    return keys[:MOST_KEYS]


def _usable(name: str, listed: Sequence[Any]) -> Iterable[ListedTokenKey]:
    for each in listed[: 4 * MOST_KEYS]:
        try:
            key = msgspec.convert(each, _Listed)
            if key.token_type == TOKEN_TYPE and 0 <= key.not_before < _LATEST_S:
                read_issuer(name, key.token_key)
                yield ListedTokenKey(key.token_key, int(key.not_before) * SECOND_MS)
        except (msgspec.ValidationError, ValueError):
            continue


def active_keys(issuer: StoredIssuer, now_ms: int) -> list[ListedTokenKey]:
    """Return the keys in use now: begun, and read from the directory within a week."""
    if issuer.read_ms is None or now_ms - issuer.read_ms >= STALE_MS:
        return []
    return [key for key in issuer.keys if key.not_before_ms <= now_ms]


def status_of(issuer: StoredIssuer, now_ms: int) -> TokenIssuerStatus:
    """Return an issuer as the API shows it."""
    return TokenIssuerStatus(
        name=issuer.name,
        keys=len(active_keys(issuer, now_ms)),
        read_at=optional_moment(issuer.read_ms),
        problem=issuer.problem or UNSET,
    )


class Trust(Protocol):
    """The issuers that a site trusts: by keys that were entered, and by name."""

    @property
    def private_token_issuers(self) -> tuple[Issuer, ...]: ...
    @property
    def issuer_directories(self) -> tuple[str, ...]: ...


def trusts_issuers(site: Trust) -> bool:
    """Return whether a private token can support a visitor of a site."""
    return bool(site.private_token_issuers or site.issuer_directories)


class KnownIssuers:
    """The issuers in the memory of a worker."""

    def __init__(self) -> None:
        self._issuers: Mapping[str, StoredIssuer] = {}
        self._parsed: dict[tuple[str, str], Issuer] = {}

    def of(self, site: Trust, now_ms: int, *, first_only: bool = False) -> tuple[Issuer, ...]:
        """Return the issuers that a site trusts, under each of their keys.

        `first_only`: of each directory only the first key, which the issuer prefers.
        """
        found = list(site.private_token_issuers)
        for name in site.issuer_directories:
            issuer = self._issuers.get(name)
            keys = [] if issuer is None else active_keys(issuer, now_ms)
            found += [self._parsed[name, key.token_key] for key in (keys[:1] if first_only else keys)]
        return tuple(found)

    async def refresh(self, store: Store[TokenIssuerStores]) -> None:
        """Read the issuers again."""
        issuers = await store.read.token_issuers.list_issuers()
        names = [(issuer.name, key.token_key) for issuer in issuers for key in issuer.keys]
        self._parsed = {name: self._parsed.get(name) or read_issuer(*name) for name in names}
        self._issuers = {issuer.name: issuer for issuer in issuers}


class IssuerDirectories:
    """Reads the directories that are due. A job, so it runs in one process."""

    def __init__(self, store: Store[TokenIssuerStores], outbound: Outbound, clock: Clock) -> None:
        self._store = store
        self._outbound = outbound
        self._clock = clock
        self._places = asyncio.Semaphore(AT_ONCE)

    async def refresh(self) -> None:
        """Read some of the directories that are due, and delete issuers that no site names."""
        now_ms = self._clock.now_ms()
        named = await self._store.read.token_issuers.list_named()
        known = {issuer.name: issuer for issuer in await self._store.read.token_issuers.list_issuers()}
        for name in known.keys() - set(named):
            await self._store.change(lambda stores, name=name: stores.token_issuers.delete_issuer(name))  # type: ignore[misc]
        due = [issuer for name in named if (issuer := known.get(name) or StoredIssuer(name=name)).is_due(now_ms)]
        due.sort(key=lambda issuer: issuer.asked_ms)
        await asyncio.gather(*(self._read(issuer, now_ms) for issuer in due[:MOST_IN_A_RUN]))

    async def _read(self, issuer: StoredIssuer, now_ms: int) -> None:
        try:
            async with self._places:
                answer = await self._outbound.get(f"https://{issuer.name}{WELL_KNOWN}", {"accept": MEDIA_TYPE})
            keys = await asyncio.to_thread(read_directory, issuer.name, answer)
        except (OutboundFailed, NotADirectory) as failure:
            problem = str(failure)
            structlog.get_logger().info("issuer directory not read", issuer=issuer.name, reason=problem)
            found = msgspec.structs.replace(issuer, asked_ms=now_ms, next_ms=now_ms + RETRY_MS, problem=problem)
        else:
            next_ms = now_ms + max(kept_s(answer.headers) * SECOND_MS, RETRY_MS)
            found = StoredIssuer(name=issuer.name, keys=keys, read_ms=now_ms, asked_ms=now_ms, next_ms=next_ms)
        await self._store.change(lambda stores: stores.token_issuers.save_issuer(found))


async def read_statuses(stores: TokenIssuerStores, names: tuple[str, ...], now_ms: int) -> list[TokenIssuerStatus]:
    """Return the state of the issuers of a site."""
    if not names:
        return []
    return [status_of(issuer, now_ms) for issuer in await stores.token_issuers.find_issuers(names)]


def open_issuer_directories(store: Store[TokenIssuerStores], clock: Clock) -> IssuerDirectories:
    """Return the reader. Slow name servers block only its own threads."""
    threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="token-issuer-names")
    outbound = Outbound(
        resolve=partial(look_up, threads=threads), connect_s=FETCH_S, whole_s=FETCH_S, most_read_bytes=MOST_READ_BYTES
    )
    return IssuerDirectories(store, outbound, clock)
