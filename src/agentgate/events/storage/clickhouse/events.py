"""ClickhouseEvents: writes each event to ClickHouse once despite retries, and to the spool while it is unavailable.

Charges, redeemed tokens and the counters without events must be exact, so they are never stored in ClickHouse.
"""

import asyncio
import hashlib
from collections.abc import Sequence

import msgspec
import structlog

from agentgate.events.ports import Batching
from agentgate.events.records import Recorded
from agentgate.events.storage.clickhouse import schema
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.clickhouse.spool import Spool, Spooled
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.encoding import WIDE_COLUMNS
from agentgate.events.storage.events import EventEncoding
from agentgate.events.storage.rollups import HOURS_PER_DAY
from agentgate.lib.clock import Clock
from agentgate.lib.database import Database, Note, Row, StoreUnavailable
from agentgate.storage.clickhouse.client import ClickhouseClient, RowsRefused

_LISTS = tuple(WIDE_COLUMNS.index(name) for name in ("reasons", "labels"))
_to_lines = msgspec.json.Encoder().encode_lines


class ClickhouseEvents(EventEncoding):
    """Implements EventStore. A batch that is in the spool is kept: it survives this process."""

    # Each insert makes a part of every table, which ClickHouse has to merge: few and large ones.
    batching = Batching(flush_s=1.0, enough=10_000, most=20_000)

    def __init__(
        self,
        stats: Database,
        client: ClickhouseClient,
        days: ClickhouseDays,
        words: KnownWords,
        *,
        spool: Spool,
        clock: Clock,
    ) -> None:
        super().__init__(stats, words)
        self._clock = clock
        self._client = client
        self._days = days
        self._spool = spool
        # Whether ClickHouse was unavailable last time. If so, only the delivery of the spool waits for it.
        self._is_away = False

    async def write(self, events: Sequence[Recorded], *, again: bool = False) -> None:  # noqa: ARG002 - always safe
        """Keep events of one UTC day. The roll-ups follow within the same insert."""
        encoded = await self.encode(events)
        token = token_of([(event.site, event.id) for event in events])
        rows = await asyncio.to_thread(lambda: lines_of(encoded.wide()))
        await self._keep(token, len(events), rows)
        await self.keep_features(events)

    async def deliver(self) -> int:
        """Insert the batches of the spool, unless another worker does; return how many events were inserted."""
        delivered = 0
        with self._spool.alone() as alone:
            if not alone:
                return 0
            if self._is_away:
                # Raises while ClickHouse is unavailable, so that no batch is read from the disk in vain. Tables may be
                # missing if ClickHouse was unavailable at the start.
                await self._days.migrate(self._clock)
            for batch in await asyncio.to_thread(self._spool.batches):
                delivered += await self._deliver(batch)
        self._is_away = False
        return delivered

    @property
    def spooled(self) -> tuple[int, int]:
        """How many events of all workers wait in the spool, and how many bytes they take."""
        return self._spool.count()

    def watch(self, note: Note) -> None:
        """Report the duration of each statement to `note`."""
        self._client.watch(note)

    async def ping(self) -> None:
        """Return if ClickHouse responds; otherwise raise StoreUnavailable."""
        await self._client.ping()

    async def list_days(self) -> list[int]:
        """Return the UTC days (since 1970) that have events, oldest first."""
        return await self._days.days()

    async def close_days(self, *, now_ms: int) -> list[int]:  # noqa: ARG002 - nothing is left to do
        """Return nothing: the views keep all roll-ups up to date, of late events too."""
        return []

    async def forget(self, *, events_before_day: int, metrics_before_day: int) -> None:
        """Remove events before `events_before_day` and aggregates before `metrics_before_day`."""
        for table in schema.TABLES:
            # Delete rows of single visitors with the events; keep aggregates longer.
            is_sum = table in schema.ROLL_UPS
            await self._days.forget(table, metrics_before_day if is_sum else events_before_day)
        await self._stats.run("DELETE FROM counter_hour WHERE hour < $1", metrics_before_day * HOURS_PER_DAY)

    async def forget_site(self, site: int) -> None:
        """Remove everything that was recorded about a site."""
        await self._days.remove_site(site)
        for table in ("counter_hour", "feature_vector"):
            await self._stats.run(f"DELETE FROM {table} WHERE site = $1", site)  # noqa: S608 - our own names

    async def _keep(self, token: str, events: int, rows: bytes) -> None:
        away: StoreUnavailable | None = None
        if not self._is_away:
            try:
                await self._client.insert("event", WIDE_COLUMNS, rows, token=token)
            except StoreUnavailable as failure:
                structlog.get_logger().warning(
                    "ClickHouse is unavailable: events are written to the spool", why=str(failure)
                )
                self._is_away, away = True, failure
            else:
                return
        try:
            is_kept = await asyncio.to_thread(self._spool.put, token, events, rows)
        except OSError as failure:
            raise StoreUnavailable(f"the spool of events cannot be written: {failure.strerror}") from failure
        if not is_kept:
            raise StoreUnavailable("ClickHouse is unavailable and the spool of events is full") from away

    async def _deliver(self, batch: Spooled) -> int:
        try:
            rows = await asyncio.to_thread(batch.path.read_bytes)
            await self._client.insert("event", WIDE_COLUMNS, rows, token=batch.token, is_gzip=True)
        except FileNotFoundError:
            return 0
        except RowsRefused as failure:
            structlog.get_logger().error("events in the spool cannot be read", file=batch.path.name, why=str(failure))
            await asyncio.to_thread(self._spool.remove, batch, refused=True)
            return 0
        except StoreUnavailable:
            self._is_away = True
            raise
        await asyncio.to_thread(self._spool.remove, batch)
        return batch.events


def lines_of(rows: Sequence[Row]) -> bytes:
    """Return rows of WIDE_COLUMNS as ClickHouse reads them, one JSON array a line. Lists come as their JSON text."""
    reasons, labels = _LISTS
    return _to_lines(
        [
            [
                *row[:reasons],
                msgspec.Raw(row[reasons].encode()),
                *row[reasons + 1 : labels],
                msgspec.Raw(row[labels].encode()),
                *row[labels + 1 :],
            ]
            for row in rows
        ]
    )


def token_of(keys: Sequence[tuple[int, int]]) -> str:
    """Return the token of the events with these sites and IDs: the same ones are inserted once."""
    return hashlib.blake2b(msgspec.msgpack.encode(sorted(keys)), digest_size=16).hexdigest()
