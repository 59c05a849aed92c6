"""CrawlerStatuses: results of DNS for addresses that claim to be search crawlers. SearchConfirmer asks DNS for them.

Signals read a status without waiting; a missing one is looked up in the background. Until the result arrives, a few
requests pass: some from each network in which the operator has crawlers, and hardly any from other networks, because a
forger has as many addresses as it likes. SearchVerdicts keeps statuses in a file, so that a restart does not repeat
look-ups.
"""

import asyncio
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import structlog

from agentgate.decision.threat_data.search_operators import SearchOperator
from agentgate.http.address import subnet_of
from agentgate.http.outbound.dns import LookupFailed
from agentgate.lib.clock import HOUR_MS, MINUTE_MS, Clock

MOST_KNOWN = 20_000
# Beyond this many pending look-ups no claim passes unverified: a flood of claims must not be a flood of passes.
MOST_WAITING = 256
LOOKUPS_AT_ONCE = 8
LOOKUP_S = 2.0
# An address may have many names. Only this many names in the operator's domain are looked up.
MOST_NAMES = 4

# Number of addresses that pass within an hour before their DNS result arrives: from a network (/24, or /64 of IPv6) in
# which the operator has verified crawlers, and from all other networks together.
FREE_IN_KNOWN_NETWORK, FREE_ELSEWHERE = 16, 2

VERIFIED_MS, FORGED_MS, UNKNOWN_MS = 24 * HOUR_MS, HOUR_MS, 5 * MINUTE_MS


class CrawlerStatus(Enum):
    """Verification status of a claim."""

    VERIFIED = "verified"
    FORGED = "forged"
    # The first look-up is under way, and the network's budget has room.
    UNCONFIRMED = "unconfirmed"
    # The look-up gave no result, or too many look-ups are queued.
    UNKNOWN = "unknown"


class CachedVerification(NamedTuple):
    """A status, and until when it holds."""

    crawler_status: CrawlerStatus
    until_ms: int


class CrawlerClaim(NamedTuple):
    """An address that claims to be an operator's crawler."""

    address: str
    operator: SearchOperator


ClaimKey = tuple[str, int]
# Address, number of the operator, status, until when.
Saved = tuple[str, int, str, int]
LASTING = frozenset({CrawlerStatus.VERIFIED, CrawlerStatus.FORGED})
_LASTS_MS = {CrawlerStatus.VERIFIED: VERIFIED_MS, CrawlerStatus.FORGED: FORGED_MS, CrawlerStatus.UNKNOWN: UNKNOWN_MS}


class CrawlerStatuses:
    """A bounded cache of verification statuses. Reads return at once; the background looks up a missing status."""

    def __init__(self) -> None:
        self._known: dict[ClaimKey, CachedVerification] = {}
        self._asked: dict[ClaimKey, CrawlerClaim] = {}
        # Networks in which an operator has verified crawlers.
        self._networks: dict[ClaimKey, None] = {}
        # Addresses that pass until they are known, and how many did so within the present hour.
        self._free: set[ClaimKey] = set()
        self._spent: dict[ClaimKey, int] = {}
        self._hour = 0
        self.on_claim: Callable[[CrawlerClaim], None] | None = None

    def find(self, address: str, operator: SearchOperator, now_ms: int) -> CrawlerStatus:
        """Return the cached status; a missing one is looked up in the background."""
        key = (address, operator.number)
        known = self._known.get(key)
        if known is not None and now_ms < known.until_ms:
            return known.crawler_status
        if key not in self._asked and not self._ask(key, CrawlerClaim(address, operator)):
            return CrawlerStatus.UNKNOWN if known is None else known.crawler_status
        # Once only: a client whose DNS times out must not stay unconfirmed forever.
        if known is not None:
            return known.crawler_status
        return CrawlerStatus.UNCONFIRMED if self._is_free(key, now_ms) else CrawlerStatus.UNKNOWN

    def learn(self, claim: CrawlerClaim, crawler_status: CrawlerStatus, now_ms: int) -> None:
        """Cache the result of a look-up. A failed look-up does not replace an earlier result."""
        key = (claim.address, claim.operator.number)
        self._asked.pop(key, None)
        self._free.discard(key)
        if crawler_status is CrawlerStatus.UNKNOWN and key in self._known:
            crawler_status = self._known[key].crawler_status
            self._known[key] = CachedVerification(crawler_status, now_ms + UNKNOWN_MS)
            return
        self._remember(key, CachedVerification(crawler_status, now_ms + _LASTS_MS[crawler_status]))

    def export(self) -> list[Saved]:
        """Return the statuses to save over a restart."""
        return [
            (address, number, known.crawler_status.value, known.until_ms)
            for (address, number), known in self._known.items()
            if known.crawler_status in LASTING
        ]

    def restore(self, saved: Iterable[Saved]) -> None:
        """Restore saved statuses. Expired ones count until DNS has responded again."""
        for address, number, crawler_status, until_ms in saved:
            self._remember((address, number), CachedVerification(CrawlerStatus(crawler_status), until_ms))

    def __len__(self) -> int:
        return len(self._known)

    def _remember(self, key: ClaimKey, known: CachedVerification) -> None:
        if len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[key] = known
        if known.crawler_status is CrawlerStatus.VERIFIED:
            if len(self._networks) >= MOST_KNOWN:
                del self._networks[next(iter(self._networks))]
            self._networks[subnet_of(key[0]), key[1]] = None

    def _is_free(self, key: ClaimKey, now_ms: int) -> bool:
        if key in self._free:
            return True
        if now_ms // HOUR_MS != self._hour:
            self._hour = now_ms // HOUR_MS
            self._spent.clear()
        network = (subnet_of(key[0]), key[1])
        is_known = network in self._networks
        account = network if is_known else ("", key[1])
        spent = self._spent.get(account, 0)
        if spent >= (FREE_IN_KNOWN_NETWORK if is_known else FREE_ELSEWHERE):
            return False
        self._spent[account] = spent + 1
        self._free.add(key)
        return True

    def _ask(self, key: ClaimKey, claim: CrawlerClaim) -> bool:
        if self.on_claim is None or len(self._asked) >= MOST_WAITING:
            return False
        self._asked[key] = claim
        self.on_claim(claim)
        return True


class Lookup(Protocol):
    """DNS look-ups."""

    async def names_of(self, address: str) -> tuple[str, ...]: ...
    async def addresses_of(self, name: str, version: int) -> tuple[str, ...]: ...


class SearchConfirmer:
    """Looks claims up, a few at once."""

    def __init__(self, crawler_statuses: CrawlerStatuses, lookup: Lookup, clock: Clock) -> None:
        self._crawler_statuses = crawler_statuses
        self._lookup = lookup
        self._clock = clock
        self._claims: asyncio.Queue[CrawlerClaim] = asyncio.Queue()
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    def start(self) -> None:
        """Begin to take claims."""
        self._crawler_statuses.on_claim = self._claims.put_nowait
        self._tasks = tuple(asyncio.create_task(self._work()) for _ in range(LOOKUPS_AT_ONCE))

    async def close(self) -> None:
        """Stop, wherever the look-ups are."""
        self._crawler_statuses.on_claim = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def confirm(self, claim: CrawlerClaim) -> CrawlerStatus:
        """Look the address's names up, and whether one of the operator's leads back to it."""
        try:
            async with asyncio.timeout(LOOKUP_S):
                return await self._confirm(claim)
        except (TimeoutError, LookupFailed):
            return CrawlerStatus.UNKNOWN

    async def _confirm(self, claim: CrawlerClaim) -> CrawlerStatus:
        version = 6 if ":" in claim.address else 4
        names = [name for name in await self._lookup.names_of(claim.address) if claim.operator.owns(name)]
        for name in names[:MOST_NAMES]:
            # Anyone may give an address any name; only the name's owner can point it back.
            if claim.address in await self._lookup.addresses_of(name, version):
                return CrawlerStatus.VERIFIED
        return CrawlerStatus.FORGED

    async def _work(self) -> None:
        while True:
            claim = await self._claims.get()
            try:
                crawler_status = await self.confirm(claim)
            except Exception as failure:  # noqa: BLE001 - one odd name must not end the look-ups
                structlog.get_logger().warning("a crawler could not be verified", failure=type(failure).__name__)
                crawler_status = CrawlerStatus.UNKNOWN
            self._crawler_statuses.learn(claim, crawler_status, self._clock.now_ms())


FILE_NAME = "search-verdicts.json"


class SearchVerdicts:
    """Reads and writes the file. An unreadable or unwritable file is reported, and the service continues."""

    def __init__(self, folder: Path, crawler_statuses: CrawlerStatuses) -> None:
        self._path = folder / FILE_NAME
        self._crawler_statuses = crawler_statuses
        self._written: list[Saved] = []

    def load(self) -> None:
        """Restore the saved statuses."""
        self._crawler_statuses.restore(self._read())

    def save(self) -> None:
        """Save the statuses if they have changed."""
        known = self._crawler_statuses.export()
        if known == self._written:
            return
        entries = {(address, number): (address, number, *rest) for address, number, *rest in (*self._read(), *known)}
        content = msgspec.json.encode(list(entries.values())[-MOST_KNOWN:])
        unfinished = self._path.with_name(f"{self._path.name}.{id(self)}.unfinished")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(content)
            unfinished.replace(self._path)
        except OSError as problem:
            structlog.get_logger().warning("crawler verifications could not be stored", reason=str(problem))
            return
        self._written = known

    def _read(self) -> list[Saved]:
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=list[Saved])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as problem:
            structlog.get_logger().warning("stored crawler verifications cannot be read", reason=str(problem))
            return []
        return [entry for entry in found if entry[2] in {"verified", "forged"}]
