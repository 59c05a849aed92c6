"""Spent receipts in SQL, and beside the database the last receipt that each worker spent: by it shows what was lost.

An embedded database whose journal was damaged opens without complaint, and without what it committed last; so does one
that was put back from a backup. A standby of PostgreSQL takes over without what it was not sent. A mark is not
synchronised with the disk: it outlives the process, and after a power cut it is an older one, which hides nothing else.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from agentgate.lib.clock import Clock, SystemClock
from agentgate.lib.database import Database, NewRows, Row, StoreUnavailable, Value
from agentgate.storage.first_rows import FirstRows

# Always written whole, over the one before.
MARK_BYTES = 512


class Mark(Struct, frozen=True):
    """A receipt that must be there until it may be forgotten, and until when older ones are in doubt."""

    site_id: str
    receipt_id: str
    kept_until_ms: int
    doubt_until_ms: int


class SpendMarks:
    """What is known of spends outside of the database.

    `longest_ms`: for how long the redemption of a receipt that is issued now has to be kept.
    """

    def __init__(self, folder: Path, worker: str, *, longest_ms: int) -> None:
        self._folder = folder
        self._own = str(folder / f"spent-{worker}.mark")
        self._longest_ms = longest_ms
        self._is_failing = False
        # Receipts that need not be kept longer than this were issued before spends were lost.
        self._doubt_until_ms = 0

    def list_marks(self) -> list[Mark | None]:
        """Return the marks of all workers; None for one that cannot be read."""
        return [_read(path) for path in sorted(self._folder.glob("spent-*.mark"))]

    @property
    def doubt_until_ms(self) -> int:
        """Receipts that need not be kept longer than this are doubtful."""
        return self._doubt_until_ms

    @property
    def lost_ms(self) -> int:
        """When spends were lost, or are known to have been; long ago where none were."""
        return self._doubt_until_ms - self._longest_ms

    @property
    def has_doubts(self) -> bool:
        """Say whether there can be a receipt that is doubtful."""
        return self._doubt_until_ms > 0

    def is_doubtful(self, kept_until_ms: int) -> bool:
        """Say whether a receipt may be among those whose spending was lost."""
        return kept_until_ms <= self._doubt_until_ms

    def take_over(self, doubt_until_ms: int) -> None:
        """Doubt what another worker doubts, or this one before it started again."""
        self._doubt_until_ms = max(self._doubt_until_ms, doubt_until_ms)

    def lose(self, now_ms: int) -> None:
        """From now on, doubt all that was issued until now."""
        structlog.get_logger().error("spent receipts were lost; none that was issued until now is accepted")
        self.take_over(now_ms + self._longest_ms)
        # So that a worker which starts later, or again, knows of it.
        self.note("", "", kept_until_ms=0)

    def note(self, site_id: str, receipt_id: str, *, kept_until_ms: int) -> None:
        """Note that this receipt is spent. A disk that takes no mark took the commit: that stands."""
        mark = msgspec.json.encode(Mark(site_id, receipt_id, kept_until_ms, self._doubt_until_ms)).ljust(MARK_BYTES)
        try:
            file = os.open(self._own, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(file, mark, 0)
            finally:
                os.close(file)
        except OSError as failure:
            if not self._is_failing:
                structlog.get_logger().warning("the last spend cannot be marked", why=str(failure))
            self._is_failing = True
        else:
            self._is_failing = False


class MarkedRows:
    """Inserts redemptions, and marks the last of each commit before anybody is told."""

    def __init__(self, database: Database, marks: SpendMarks, clock: Clock) -> None:
        self._database = database
        self._marks = marks
        self._clock = clock
        # The last receipt spent here, and until when it has to be there.
        self._last: tuple[Row, int] | None = None
        self._was_away = False

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the rows whose key is not there yet; return the keys of those that nobody can have spent before."""
        try:
            keys = await self._database.insert_new(new, rows)
            if self._was_away:
                await self._check_again(keys)
        except BaseException:
            # Whatever it was, it may be another server that answers next.
            self._was_away = True
            raise
        if keys and self._marks.has_doubts:
            kept: dict[Row, Any] = {(row[0], row[1]): row[-1] for row in rows}
            keys = [key for key in keys if not self._marks.is_doubtful(kept[key])]
        if keys:
            site_id, receipt_id = key = keys[-1]
            # The last that is new is among the last there are.
            kept_until_ms: Any = next(row[-1] for row in reversed(rows) if row[0] == site_id and row[1] == receipt_id)
            self._last = key, kept_until_ms
            self._marks.note(site_id, receipt_id, kept_until_ms=kept_until_ms)
        return keys

    async def check(self, now_ms: int, new: Sequence[Row] = (), *, is_unmarked: bool = False) -> None:
        """Look whether the last spends of all workers of this machine are there; if not, doubt all issued until now.

        `new`: receipts that were spent just now. One that a mark names was spent before, and was lost.
        """
        lost = is_unmarked
        for mark in self._marks.list_marks():
            if mark is None:
                lost = True
                continue
            self._marks.take_over(mark.doubt_until_ms)
            # One that may be forgotten by now says nothing.
            if mark.kept_until_ms > now_ms:
                lost = lost or await self._is_lost((mark.site_id, mark.receipt_id), new)
        if self._last is not None and now_ms < self._last[1]:
            lost = lost or await self._is_lost(self._last[0], new)
        if lost:
            await self.lose(now_ms)
        else:
            await self.read_floor()

    async def lose(self, now_ms: int) -> None:
        """Doubt all that was issued until now, here and in every other worker."""
        self._marks.lose(now_ms)
        await self._database.run(
            "UPDATE spend_floor SET doubt_until_ms = $1 WHERE id = 1 AND doubt_until_ms < $1",
            self._marks.doubt_until_ms,
        )

    async def read_floor(self) -> None:
        """Take over the doubt that another worker has recorded."""
        row = await self._database.one("SELECT doubt_until_ms FROM spend_floor WHERE id = 1")
        if row is not None:
            self._marks.take_over(int(row[0]))

    async def _is_lost(self, key: Row, new: Sequence[Row]) -> bool:
        found = "SELECT 1 FROM redemption WHERE site_id = $1 AND receipt_id = $2"
        return key in new or await self._database.one(found, *key) is None

    async def _check_again(self, new: list[Row]) -> None:
        """It may be another server that answers now."""
        await self.check(self._clock.now_ms(), new)
        self._was_away = False


def _read(path: Path) -> Mark | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Mark)
    except (OSError, msgspec.MsgspecError):
        return None


# Whether a receipt is spent now (False: it was before), or why nobody knows.
SpendOutcome = bool | StoreUnavailable

ROWS = NewRows(
    "redemption",
    key=("site_id", "receipt_id"),
    types=(
        ("site_id", "text"),
        ("receipt_id", "text"),
        ("request_id", "text"),
        ("answer", "bytea"),
        ("kept_until_ms", "bigint"),
    ),
)


class Redemption(Struct, frozen=True, gc=False):
    """A receipt that was spent: by which call, and what that was answered where it does not follow from the receipt.

    Without a request ID the call can never be repeated, so there is no answer to keep.
    """

    request_id: str | None = None
    answer: bytes | None = None


class RedemptionStore:
    """Spent receipts. Siteverify, gateway and handoff share them."""

    def __init__(self, database: Database, marks: SpendMarks | None = None, *, clock: Clock | None = None) -> None:
        self._database = database
        self._marks = marks
        self._marked = None if marks is None else MarkedRows(database, marks, clock or SystemClock())
        self._rows = FirstRows(self._marked or database, ROWS)

    @property
    def lost_ms(self) -> int:
        """When spends were lost, or are known to have been; 0 or less where none were."""
        return 0 if self._marks is None else self._marks.lost_ms

    async def check_marks(self, now_ms: int, *, is_unmarked: bool = False) -> None:
        """Look whether the last spends are there. If not, nothing issued until now can be spent: it may have been.

        `is_unmarked`: the database was in use, and there is nothing beside it that a use would have left. Then it was
        put there, and what was spent since it was copied is not in it.
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

    async def spend(self, site_id: str, receipt_id: str, redemption: Redemption, *, kept_until_ms: int) -> bool:
        """Spend a receipt, durably; False when it was spent already, or may have been. Of many at once, one wins."""
        if self._is_doubtful(kept_until_ms):
            await self._rows.put(_row(site_id, receipt_id, Redemption(), kept_until_ms))
            return False
        return await self._rows.put(_row(site_id, receipt_id, redemption, kept_until_ms))

    def spend_then(
        self,
        site_id: str,
        receipt_id: str,
        redemption: Redemption,
        *,
        kept_until_ms: int,
        done: Callable[[SpendOutcome], None],
    ) -> None:
        """Spend a receipt likewise, and tell the caller how it went as soon as that is known."""
        marks = self._marks
        if marks is not None and marks.is_doubtful(kept_until_ms):
            redemption, done = Redemption(), partial(_tell_spent, done)
        self._rows.put_then((site_id, receipt_id, redemption.request_id, redemption.answer, kept_until_ms), done)

    def _is_doubtful(self, kept_until_ms: int) -> bool:
        return self._marks is not None and self._marks.is_doubtful(kept_until_ms)

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


def _row(site_id: str, receipt_id: str, redemption: Redemption, kept_until_ms: int) -> tuple[Value, ...]:
    return site_id, receipt_id, redemption.request_id, redemption.answer, kept_until_ms
