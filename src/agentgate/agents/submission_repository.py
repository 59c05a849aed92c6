"""Accepted submissions and the ledger in SQL. Rows that arrive at the same time share one commit."""

from collections.abc import Sequence

from msgspec import Struct

from agentgate.lib.database import Database, NewRows, RecordTable, Row, Transaction, Value
from agentgate.lib.enums import ChargeSource
from agentgate.sites.price import Price
from agentgate.storage.first_rows import FirstRows


class Charge(Struct, frozen=True, kw_only=True):
    """An agent's debt to a site for one allowed request, or for one accepted submission."""

    site_id: str
    # The ID of the charged decision. A decision is charged once.
    decision_id: str
    agent: str
    keyid: str
    source: ChargeSource
    action: str | None
    price: Price
    charged_ms: int


class Submission(Struct, frozen=True, kw_only=True):
    """An accepted submission: the digest of its content, and the bytes of its response."""

    site_id: str
    agent: str
    id: str
    content_hash: bytes
    answer: bytes
    kept_until_ms: int


class ChargedSum(Struct, frozen=True, kw_only=True):
    """The total charged to one agent in one currency, for one kind of request."""

    agent: str
    source: ChargeSource
    action: str | None
    currency: str
    count: int
    minor_units: int


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

_SUMS = RecordTable("charge", ChargedSum)


class _SubmissionsWithCharges:
    """Inserts rows of a submission and its charge, side by side: in one transaction, and none without the other."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the submissions whose key is not there yet, each with its charge; return the keys of those."""
        width, key_width = len(new.columns), len(new.key)

        async def insert(transaction: Transaction) -> list[Row]:
            kept = set(await transaction.insert_new(new, [row[:width] for row in rows]))
            charges = [row[width:] for row in rows if len(row) > width and tuple(row[:key_width]) in kept]
            if charges:
                await transaction.insert_new(_CHARGES, sorted(charges, key=lambda charge: tuple(map(str, charge[:2]))))
            return list(kept)

        return await self._database.transaction(insert)


class SubmissionStore:
    """Accepted submissions, and the ledger of charges. A submission is kept with its charge or not at all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._submissions = FirstRows(_SubmissionsWithCharges(database), _SUBMISSIONS)
        self._charges = FirstRows(database, _CHARGES)

    async def find_submission(self, site_id: str, agent: str, submission_id: str) -> Submission | None:
        found = "site_id = $1 AND agent = $2 AND id = $3"
        return await _KEPT_SUBMISSIONS.find(self._database, found, site_id, agent, submission_id)

    async def accept(self, submission: Submission, charge: Charge | None) -> bool:
        """Store a submission and its charge in one transaction; False if the ID is taken. One caller wins."""
        row = _KEPT_SUBMISSIONS.values(submission)
        return await self._submissions.put(row if charge is None else row + _charge_row(charge))

    async def add_charge(self, charge: Charge) -> None:
        """Store a charge. Idempotent."""
        await self._charges.put(_charge_row(charge))

    async def sum_charges(self, site_id: str, *, from_ms: int, to_ms: int) -> list[ChargedSum]:
        """Return the totals of a site's charges in a range, by agent, currency, action."""
        rows = await self._database.all(
            """SELECT agent, source, action, currency, count(*), CAST(sum(minor_units) AS BIGINT) FROM charge
                WHERE site_id = $1 AND charged_ms >= $2 AND charged_ms < $3
                GROUP BY agent, source, action, currency ORDER BY agent, currency, source, action""",
            site_id,
            from_ms,
            to_ms,
        )
        return [_SUMS.read(row) for row in rows]

    async def delete_submissions(self, before_ms: int, *, most: int) -> int:
        """Delete some expired submissions; return how many."""
        oldest = "kept_until_ms < $1 ORDER BY kept_until_ms"
        return await _KEPT_SUBMISSIONS.delete_some(
            self._database, oldest, before_ms, most=most, key="site_id, agent, id"
        )

    async def delete_charges(self, before_ms: int, *, most: int) -> int:
        """Delete some charges from before a moment; return how many."""
        oldest = "charged_ms < $1 ORDER BY charged_ms"
        return await _SUMS.delete_some(self._database, oldest, before_ms, most=most, key="site_id, decision_id")


def _charge_row(charge: Charge) -> tuple[Value, ...]:
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
