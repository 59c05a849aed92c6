"""Records as rows of a table: columns, NULL, enumerations, truths, moments, JSON."""

import pytest
from msgspec import UNSET, UnsetType

from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import RecordTable
from agentgate.lib.enums import Mode
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record

pytestmark = pytest.mark.anyio


class Kept(Record, frozen=True, kw_only=True):
    """A record with one field of each kind."""

    id: str
    owner_id: str
    mode: Mode
    is_open: bool
    digest: bytes
    tags: list[str]
    made_at: Moment
    ended_at: Moment | UnsetType = UNSET
    note: str | None = None
    counted: int = 0


TABLE = RecordTable("kept", Kept, named={"owner_id": "account_id"}, json=("tags",), absent=("counted",))
KEPT = Kept(
    id="1", owner_id="acc", mode=Mode.ENFORCE, is_open=True, digest=b"\x00\xff", tags=["ü"], made_at=Moment(DAY_MS)
)
ROW = ("1", "acc", "enforce", 1, b"\x00\xff", '["ü"]', DAY_MS, None, None)


class Session:
    """Records its queries, and has one row."""

    def __init__(self):
        self.asked = []

    async def one(self, sql, *values):
        self.asked.append((" ".join(sql.split()), values))
        return ROW

    async def run(self, sql, *values):
        self.asked.append((" ".join(sql.split()), values))
        return 1


def test_a_record_is_written_by_its_fields_and_read_again():
    assert TABLE.columns == "id, account_id, mode, is_open, digest, tags, made_ms, ended_ms, note"
    assert TABLE.qualified.startswith("kept.id, kept.account_id, ")
    assert TABLE.values(KEPT) == ROW
    assert TABLE.read(ROW) == KEPT
    # PostgreSQL returns bytes as a memoryview.
    assert TABLE.read((*ROW[:4], memoryview(b"\x00\xff"), *ROW[5:7], DAY_MS + 1, "seen")).ended_at == Moment(DAY_MS + 1)


async def test_a_record_is_found_replaced_and_changed_by_its_key():
    session = Session()

    assert await TABLE.find(session, "id = $1", "1") == KEPT
    await TABLE.save(session, KEPT, "id")
    await TABLE.update(session, KEPT, "mode", "ended_at", key=("owner_id", "id"))

    found, saved, updated = session.asked
    assert found == (f"SELECT {TABLE.columns} FROM kept WHERE id = $1", ("1",))
    assert saved[0].startswith(
        f"INSERT INTO kept ({TABLE.columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT"
    )
    assert "id = excluded.id" not in saved[0].replace("account_id = excluded.account_id", "")
    assert updated == (
        "UPDATE kept SET mode = $3, ended_ms = $4 WHERE account_id = $1 AND id = $2",
        ("acc", "1", "enforce", None),
    )


async def test_further_columns_conditions_and_counts_are_written_out():
    session = Session()

    await TABLE.add(session, KEPT, "ON CONFLICT DO NOTHING", secret=b"s")
    await TABLE.change(session, "id = $1 AND mode = $2", "1", "monitor", note="seen", ended_ms=None)
    await TABLE.delete(session, "made_ms < $1", 5)
    await TABLE.update(session, KEPT, "mode", folded="x")

    added, changed, deleted, updated = session.asked
    assert added[0].endswith("note, secret) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING")
    assert added[1] == (*ROW, b"s")
    assert changed == (
        "UPDATE kept SET note = $3, ended_ms = $4 WHERE id = $1 AND mode = $2",
        ("1", "monitor", "seen", None),
    )
    assert deleted == ("DELETE FROM kept WHERE made_ms < $1", (5,))
    assert updated == ("UPDATE kept SET mode = $2, folded = $3 WHERE id = $1", ("1", "enforce", "x"))
