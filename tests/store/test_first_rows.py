"""Concurrent inserts share commits: how many go together, and that each caller gets a correct result."""

import asyncio
from collections.abc import Sequence

import pytest

from agentgate.lib.database import NewRows, Row, Value
from agentgate.storage.first_rows import SMALLEST_HALF, FirstRows
from agentgate.storage.sqlite.database import SqliteDatabase

pytestmark = pytest.mark.anyio

TABLE = NewRows("thing", key=("name",), types=(("name", "text"), ("size", "bigint")))


class Recorded:
    """A database, and how many rows it was given at a time."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self.sizes: list[int] = []

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        self.sizes.append(len(rows))
        return await self.database.insert_new(new, rows)


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def recorded(tmp_path):
    database = SqliteDatabase(tmp_path / "things.db")
    await database.run("CREATE TABLE thing (name TEXT PRIMARY KEY, size INTEGER NOT NULL)")
    yield Recorded(database)
    await database.close()


async def put_all(rows: FirstRows, *names: str) -> list[bool]:
    return await asyncio.gather(*(rows.put((name, 1)) for name in names))


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


async def test_who_comes_alone_goes_alone_and_who_comes_together_goes_together(recorded):
    rows = FirstRows(recorded, TABLE)

    assert await put_all(rows, "a") == [True]
    assert await put_all(rows, "b", "c", "a", "c") == [True, True, False, False]
    assert recorded.sizes == [1, 3]


async def test_many_who_come_again_together_are_sent_in_halves_that_take_turns(recorded):
    rows, many = FirstRows(recorded, TABLE), 4 * SMALLEST_HALF

    assert all(await put_all(rows, *names("first", many)))
    assert all(await put_all(rows, *names("second", many)))

    # All callers of the first round had their results before any of the second came: nothing was committed while the
    # results were sent.
    assert recorded.sizes == [many, many // 2, many // 2]


async def test_halves_stay_when_each_comes_again_as_soon_as_it_is_reported(recorded):
    rows, many, rounds = FirstRows(recorded, TABLE), 4 * SMALLEST_HALF, 10
    assert all(await put_all(rows, *names("first", many)))

    async def come_again(who: str) -> list[bool]:
        return [await rows.put((f"{who}-{number}", 1)) for number in range(rounds)]

    told = await asyncio.gather(*map(come_again, names("next", many)))

    assert told == [[True] * rounds] * many
    assert recorded.sizes == [many] + [many // 2] * (2 * rounds)


async def test_few_who_come_again_together_are_not_parted(recorded):
    rows, few = FirstRows(recorded, TABLE), 2 * SMALLEST_HALF - 1

    for number in range(3):
        assert all(await put_all(rows, *names(f"round{number}-", few)))

    assert recorded.sizes == [few, few, few]
