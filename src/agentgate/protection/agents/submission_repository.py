"""Accepted submissions and the ledger in SQL. Those who arrive at the same time share one commit.

No timer: alone, a row is written at once; what arrives while a commit is under way goes with the next one. A submission
and its charge are written in one transaction, so neither is there without the other.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from agentgate.lib.database import Database, NewRows, RecordTable, Row, StoreUnavailable, Transaction, Value
from agentgate.lib.enums import ChargeSource
from agentgate.lib.price import Price
from agentgate.storage.values import check_values


class Charge(Struct, frozen=True, kw_only=True):
    """What an agent owes a site for one request that was let through, or for one accepted submission."""

    site_id: str
    # Of what it is for. A decision is charged once.
    decision_id: str
    agent: str
    keyid: str
    source: ChargeSource
    action: str | None
    price: Price
    charged_ms: int


class Submission(Struct, frozen=True, kw_only=True):
    """A submission that was accepted: of what content, and what that was answered, byte for byte."""

    site_id: str
    agent: str
    id: str
    content_hash: bytes
    answer: bytes
    kept_until_ms: int


class ChargedSum(Struct, frozen=True, kw_only=True):
    """What one agent was charged in one currency, for one kind of request."""

    agent: str
    source: ChargeSource
    action: str | None
    currency: str
    count: int
    minor_units: int


# A larger group would make the first of it wait longer than it saves the others.
LARGEST_GROUP = 500
# When more than this wait, the store is not keeping up, and waiting longer would help nobody.
MOST_WAITING = 10_000

_KEPT_SUBMISSIONS = RecordTable("submission", Submission)
_SUBMISSIONS = NewRows(
    "submission",
    key=("site_id", "agent", "id"),
    types=(
        ("site_id", "text"),
        ("agent", "text"),
        ("id", "text"),
        ("content_hash", "bytea"),
        ("answer", "bytea"),
        ("kept_until_ms", "bigint"),
    ),
)
_CHARGES = NewRows(
    "charge",
    key=("site_id", "decision_id"),
    types=(
        ("site_id", "text"),
        ("decision_id", "text"),
        ("agent", "text"),
        ("keyid", "text"),
        ("source", "text"),
        ("action", "text"),
        ("currency", "text"),
        ("minor_units", "bigint"),
        ("charged_ms", "bigint"),
    ),
)

Key = tuple[str, ...]
Rows = tuple[Value, ...]


class PendingWrite(NamedTuple):
    """One who wants to write: a submission, a charge, or both."""

    submission: Rows | None
    charge: Rows | None
    future: asyncio.Future[bool]

    @property
    def key(self) -> Key:
        """Return what may be there once."""
        row, width = (self.charge, 2) if self.submission is None else (self.submission, 3)
        assert row is not None, "nobody waits to write nothing"
        return tuple(map(str, row[:width]))


class SubmissionStore:
    """Accepted submissions, and the ledger of charges. A submission is kept with its charge or not at all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[PendingWrite] = []
        self._writing: asyncio.Task[None] | None = None

    async def find_submission(self, site_id: str, agent: str, submission_id: str) -> Submission | None:
        """Return what was accepted under this ID; None when nothing was."""
        found = "site_id = $1 AND agent = $2 AND id = $3"
        return await _KEPT_SUBMISSIONS.find(self._database, found, site_id, agent, submission_id)

    async def accept(self, submission: Submission, charge: Charge | None) -> bool:
        """Keep a submission and its charge, durably, both or none; False when the ID is taken. Of many, one wins."""
        row = _KEPT_SUBMISSIONS.values(submission)
        return await self._write(row, None if charge is None else _charge_row(charge))

    async def add_charge(self, charge: Charge) -> None:
        """Note a charge, durably. Noted twice, it is there once."""
        await self._write(None, _charge_row(charge))

    async def sum_charges(self, site_id: str, *, from_ms: int, to_ms: int) -> list[ChargedSum]:
        """Return what a site's agents were charged within a while, by agent, currency, action."""
        rows = await self._database.all(
            """SELECT agent, source, action, currency, count(*), sum(minor_units) FROM charge
                WHERE site_id = $1 AND charged_ms >= $2 AND charged_ms < $3
                GROUP BY agent, source, action, currency ORDER BY agent, currency, source, action""",
            site_id,
            from_ms,
            to_ms,
        )
        return [_sum(row) for row in rows]

    async def forget_submissions(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that need not be remembered any more; return how many went."""
        return await self._database.run(
            """DELETE FROM submission WHERE (site_id, agent, id) IN
                (SELECT site_id, agent, id FROM submission WHERE kept_until_ms < $1 ORDER BY kept_until_ms LIMIT $2)""",
            before_ms,
            most,
        )

    async def forget_charges(self, before_ms: int, *, most: int) -> int:
        """Remove some of those from before a moment; return how many went."""
        return await self._database.run(
            """DELETE FROM charge WHERE (site_id, decision_id) IN
                (SELECT site_id, decision_id FROM charge WHERE charged_ms < $1 ORDER BY charged_ms LIMIT $2)""",
            before_ms,
            most,
        )

    async def _write(self, submission: Rows | None, charge: Rows | None) -> bool:
        if len(self._waiting) >= MOST_WAITING:
            raise StoreUnavailable("too many submissions wait to be kept")
        for row in filter(None, (submission, charge)):
            # Here already, so that a value which cannot be stored fails its own call and not the whole group.
            check_values(row)
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(PendingWrite(submission, charge, future))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_waiting())
        return await future

    async def _write_waiting(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:LARGEST_GROUP], self._waiting[LARGEST_GROUP:]
                await self._write_group(group)
        finally:
            self._writing = None

    async def _write_group(self, group: list[PendingWrite]) -> None:
        # Of several with the same key the first stands for all: it wins, or the key was taken before.
        firsts: dict[Key, PendingWrite] = {}
        for waiting in group:
            firsts.setdefault(waiting.key, waiting)
        try:
            kept = await self._database.transaction(lambda transaction: _insert(transaction, firsts))
        except BaseException as failure:
            # Nobody knows whether it was committed, so nobody is told that it was or was not.
            for waiting in group:
                if not waiting.future.done():
                    waiting.future.set_exception(_unknown(failure))
            if not isinstance(failure, Exception):
                raise
            return
        for waiting in group:
            if not waiting.future.done():
                waiting.future.set_result(waiting.key in kept and firsts[waiting.key] is waiting)


async def _insert(transaction: Transaction, firsts: dict[Key, PendingWrite]) -> set[Key]:
    """Write those whose key is not there yet, each with its charge, and return the keys of those."""
    submissions = [each.submission for each in firsts.values() if each.submission is not None]
    kept: set[Key] = set()
    if submissions:
        kept.update(await transaction.insert_new(_SUBMISSIONS, sorted(submissions, key=_order)))
    charges = [
        each.charge
        for key, each in firsts.items()
        if each.charge is not None and (each.submission is None or key in kept)
    ]
    if charges:
        kept.update(await transaction.insert_new(_CHARGES, sorted(charges, key=_order)))
    return kept


def _order(row: Sequence[Value]) -> tuple[str, ...]:
    # The keys come first in both tables, and what follows them changes nothing: each key stands there once.
    return tuple(map(str, row[:3]))


def _charge_row(charge: Charge) -> Rows:
    return (
        charge.site_id,
        charge.decision_id,
        charge.agent,
        charge.keyid,
        charge.source.value,
        charge.action,
        charge.price.currency,
        charge.price.minor_units,
        charge.charged_ms,
    )


def _sum(row: Row) -> ChargedSum:
    agent, source, action, currency, count, minor_units = row
    return ChargedSum(
        agent=agent,
        source=ChargeSource(source),
        action=action,
        currency=currency,
        count=int(count),
        minor_units=int(minor_units),
    )


def _unknown(failure: BaseException) -> StoreUnavailable:
    # One for each who waits: an exception that several raise collects all their tracebacks.
    told = StoreUnavailable(str(failure) if isinstance(failure, StoreUnavailable) else f"submitting: {failure!r}")
    told.__cause__ = failure
    return told
