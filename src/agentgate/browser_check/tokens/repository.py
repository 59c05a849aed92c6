"""Redeemed receipts in SQL, and in files the last receipt that each worker redeemed, which reveals lost redemptions.

An embedded database whose journal was damaged opens without an error, and without its last commits; so does one that
was restored from a backup. A standby of PostgreSQL takes over without the changes that it did not receive. A mark is
not synchronized with the disk: it outlives the process, and after a power cut it is an older one, which hides nothing
else.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from agentgate.lib.clock import FOREVER_MS, Clock, SystemClock
from agentgate.lib.database import Database, NewRows, Row, StoreUnavailable, Value
from agentgate.storage.first_rows import FirstRows

# Always written whole, over the one before.
MARK_BYTES = 512


class Mark(Struct, frozen=True):
    """The last receipt that a worker spent, and the time up to which spends are known to be lost."""

    site_id: str
    receipt_id: str
    kept_until_ms: int
    issued_ms: int = FOREVER_MS
    lost_ms: int = 0


class SpendMarks:
    """The record of redemptions outside of the database."""

    def __init__(self, folder: Path, worker: str) -> None:
        self._folder = folder
        self._own = str(folder / f"spent-{worker}.mark")
        self._is_failing = False
        self._lost_ms = 0

    def list_marks(self) -> list[Mark | None]:
        """Return the marks of all workers; None for one that cannot be read."""
        return [_read(path) for path in sorted(self._folder.glob("spent-*.mark"))]

    @property
    def lost_ms(self) -> int:
        """Spends of receipts that were issued until then may be lost; 0 if no spends were lost."""
        return self._lost_ms

    def is_doubtful(self, issued_ms: int) -> bool:
        """Return whether a receipt may be among those whose spending was lost."""
        return issued_ms <= self._lost_ms

    def take_over(self, lost_ms: int) -> None:
        """Adopt the floor that another worker, or this worker before a restart, has recorded."""
        self._lost_ms = max(self._lost_ms, lost_ms)

    def note(self, site_id: str, receipt_id: str, *, issued_ms: int, kept_until_ms: int) -> None:
        """Note that this receipt is spent. If the disk does not take the mark, the commit stays valid."""
        content = Mark(site_id, receipt_id, kept_until_ms, issued_ms, self._lost_ms)
        mark = msgspec.json.encode(content).ljust(MARK_BYTES)
        try:
            file = os.open(self._own, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(file, mark, 0)
            finally:
                os.close(file)
        except OSError as failure:
            if not self._is_failing:
                structlog.get_logger().warning("the last redemption cannot be marked", why=str(failure))
            self._is_failing = True
        else:
            self._is_failing = False


class MarkedRows:
    """Inserts redemptions, and marks the last of each commit before any caller gets its outcome."""

    def __init__(self, database: Database, marks: SpendMarks, clock: Clock) -> None:
        self._database = database
        self._marks = marks
        self._clock = clock
        # The mark of the last receipt that was spent here.
        self._last: Mark | None = None
        self._was_away = False

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the rows whose key is new; return the keys of receipts that cannot have been spent before."""
        try:
            keys = await self._database.insert_new(new, rows)
            if self._was_away:
                await self._check_again(keys)
        except BaseException:
            # After any failure, another server may respond next.
            self._was_away = True
            raise
        if keys:
            times: dict[Row, tuple[Any, ...]] = {(row[0], row[1]): tuple(row[-2:]) for row in rows}
            keys = [key for key in keys if not self._marks.is_doubtful(times[key][0])]
        if keys:
            # The last new receipt is among the last receipts of the store.
            site_id, receipt_id = map(str, keys[-1])
            issued_ms, kept_until_ms = times[keys[-1]]
            self._last = Mark(site_id, receipt_id, kept_until_ms, issued_ms)
            self._marks.note(site_id, receipt_id, issued_ms=issued_ms, kept_until_ms=kept_until_ms)
        return keys

    async def check(self, now_ms: int, new: Sequence[Row] = (), *, is_unmarked: bool = False) -> None:
        """Look for the last spends of this machine's workers; if one is missing, doubt all that was issued until now.

        `new`: receipts that were spent just now. If a mark names one of them, its earlier spend was lost.
        """
        await self.read_floor()
        marks = self._marks.list_marks()
        for mark in filter(None, marks):
            self._marks.take_over(mark.lost_ms)
        if None in marks or await self._is_any_lost([*filter(None, (*marks, self._last))], new, now_ms):
            structlog.get_logger().error("redeemed tokens were lost: tokens issued until now are rejected")
            await self.lose(now_ms)
        elif is_unmarked:
            structlog.get_logger().warning(
                "the databases have no marks of earlier use: copied here, or last used by an older release;"
                " tokens issued until now are rejected"
            )
            await self.lose(now_ms)

    async def lose(self, now_ms: int) -> None:
        """Doubt all that was issued until now, here and in every other worker."""
        self._marks.take_over(now_ms)
        # A worker that starts later, or again, reads it from the mark.
        self._marks.note("", "", issued_ms=0, kept_until_ms=0)
        await self._database.run("UPDATE spend_floor SET lost_ms = $1 WHERE id = 1 AND lost_ms < $1", now_ms)

    async def read_floor(self) -> None:
        """Adopt the floor that another worker has recorded."""
        row = await self._database.one("SELECT lost_ms FROM spend_floor WHERE id = 1")
        if row is not None:
            self._marks.take_over(int(row[0]))

    async def _is_any_lost(self, marks: list[Mark], new: Sequence[Row], now_ms: int) -> bool:
        for mark in marks:
            # A redemption that may be deleted by now proves nothing, and below the floor the loss is known.
            is_proof = mark.kept_until_ms > now_ms and not self._marks.is_doubtful(mark.issued_ms)
            if is_proof and await self._is_lost((mark.site_id, mark.receipt_id), new):
                return True
        return False

    async def _is_lost(self, key: Row, new: Sequence[Row]) -> bool:
        found = "SELECT 1 FROM redemption WHERE site_id = $1 AND receipt_id = $2"
        return key in new or await self._database.one(found, *key) is None

    async def _check_again(self, new: list[Row]) -> None:
        """Check again, because another server may respond now."""
        await self.check(self._clock.now_ms(), new)
        self._was_away = False


def _read(path: Path) -> Mark | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Mark)
    except (OSError, msgspec.MsgspecError):
        return None


# Whether a receipt is redeemed now (False: it was before), or why the outcome is unknown.
SpendOutcome = bool | StoreUnavailable

ROWS = NewRows(
    "redemption",
    key=("site_id", "receipt_id"),
    types=(
        ("site_id", "text"),
        ("receipt_id", "text"),
        ("request_id", "text"),
        ("answer", "bytea"),
        ("issued_ms", "bigint"),
        ("kept_until_ms", "bigint"),
    ),
)


class Redemption(Struct, frozen=True, gc=False):
    """A redeemed receipt: the call that redeemed it, and its response if that does not follow from the receipt.

    Without a request ID the call can never be repeated, so there is no response to keep.
    """

    request_id: str | None = None
    answer: bytes | None = None


class RedemptionStore:
    """Redeemed receipts. Siteverify, gateway and handoff share them."""

    def __init__(self, database: Database, marks: SpendMarks | None = None, *, clock: Clock | None = None) -> None:
        self._database = database
        self._marks = marks
        self._marked = None if marks is None else MarkedRows(database, marks, clock or SystemClock())
        self._rows = FirstRows(self._marked or database, ROWS)

    @property
    def lost_ms(self) -> int:
        """Spends of receipts that were issued until then may be lost; 0 if no spends were lost."""
        return 0 if self._marks is None else self._marks.lost_ms

    async def check_marks(self, now_ms: int, *, is_unmarked: bool = False) -> None:
        """Look for the last spends. If one is missing, no receipt issued until now can be spent: it may have been.

        `is_unmarked`: the database was in use, and the data directory has no clock mark. If it has no marks of spends
        either, the database was copied there, and spends since the copy are missing.
        """
        if self._marks is not None and self._marked is not None:
            is_unmarked = is_unmarked and not self._marks.list_marks()
            await self._marked.check(now_ms, is_unmarked=is_unmarked)

    async def raise_floor(self, now_ms: int) -> None:
        """Let nothing be spent that was issued until now: a store that was restored does not know what was spent."""
        if self._marked is not None:
            await self._marked.lose(now_ms)

    async def read_floor(self) -> None:
        """Take over what another worker, another machine or a command has found to be lost."""
        if self._marked is not None:
            await self._marked.read_floor()

    async def find_redemption(self, site_id: str, receipt_id: str) -> Redemption | None:
        """Return how a receipt was spent; None when it was not."""
        row = await self._database.one(
            "SELECT request_id, answer FROM redemption WHERE site_id = $1 AND receipt_id = $2", site_id, receipt_id
        )
        return Redemption(row[0], None if row[1] is None else bytes(row[1])) if row else None

    async def spend(
        self, site_id: str, receipt_id: str, redemption: Redemption, *, issued_ms: int, kept_until_ms: int
    ) -> bool:
        """Spend a receipt, durably; False if it was spent already, or may have been. Of many at once, one wins.

        `issued_ms`: the receipt cannot have been spent before.
        """
        if self._is_doubtful(issued_ms):
            await self._rows.put((site_id, receipt_id, None, None, issued_ms, kept_until_ms))
            return False
        row = (site_id, receipt_id, redemption.request_id, redemption.answer, issued_ms, kept_until_ms)
        return await self._rows.put(row)

    def spend_then(
        self,
        site_id: str,
        receipt_id: str,
        redemption: Redemption,
        *,
        issued_ms: int,
        kept_until_ms: int,
        done: Callable[[SpendOutcome], None],
    ) -> None:
        """Spend a receipt likewise, and call `done` with the outcome as soon as it is known."""
        if self._is_doubtful(issued_ms):
            redemption, done = Redemption(), partial(_tell_spent, done)
        row = (site_id, receipt_id, redemption.request_id, redemption.answer, issued_ms, kept_until_ms)
        self._rows.put_then(row, done)

    def _is_doubtful(self, issued_ms: int) -> bool:
        return self._marks is not None and self._marks.is_doubtful(issued_ms)

    async def forget_redemptions(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that need not be remembered any more; return how many went."""
        return await self._database.run(
            """DELETE FROM redemption WHERE (site_id, receipt_id) IN
                (SELECT site_id, receipt_id FROM redemption WHERE kept_until_ms < $1 ORDER BY kept_until_ms LIMIT $2)
                AND kept_until_ms < $1""",
            before_ms,
            most,
        )


def _tell_spent(done: Callable[[SpendOutcome], None], outcome: SpendOutcome) -> None:
    # A missing row proves nothing: it may be among the lost spends.
    done(outcome if isinstance(outcome, StoreUnavailable) else False)
