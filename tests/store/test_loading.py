"""Loading many rows and adding to counters, on both databases."""

from typing import Any

import pytest

from agentgate.lib.database import Conflict, NewRows, Sums

pytestmark = pytest.mark.anyio

COUNTERS = Sums("counter", ("site", "name"), ("hits", "bytes"), ("last_ms",))
COUNTER_ROWS = NewRows(
    "counter",
    key=("site", "name"),
    types=(("site", "bigint"), ("name", "text"), ("hits", "bigint"), ("bytes", "bigint"), ("last_ms", "bigint")),
)


@pytest.fixture
async def counters(database: Any) -> Any:
    await database.run(
        """CREATE TABLE counter (site BIGINT NOT NULL, name TEXT NOT NULL, hits BIGINT NOT NULL, bytes BIGINT NOT NULL,
            last_ms BIGINT NOT NULL, PRIMARY KEY (site, name))"""
    )
    return database


async def test_rows_are_loaded_in_the_order_of_the_columns_given(database: Any) -> None:
    rows = [("first", 1, b"\0x"), (None, 2, None)]

    await database.transaction(lambda transaction: transaction.load("item", ("name", "id", "data"), rows))

    stored = await database.all("SELECT id, name, data FROM item ORDER BY id")
    assert stored == [(1, "first", b"\0x"), (2, None, None)]


async def test_loading_nothing_changes_nothing(counters: Any) -> None:
    async def load_nothing(transaction: Any) -> None:
        await transaction.load("item", ("id",), [])
        await transaction.add_up(COUNTERS, [])

    await counters.transaction(load_nothing)

    assert await counters.all("SELECT id FROM item") == []


async def test_a_row_that_exists_already_undoes_the_whole_load(database: Any) -> None:
    await database.run("INSERT INTO item (id) VALUES (2)")

    with pytest.raises(Conflict):
        await database.transaction(lambda transaction: transaction.load("item", ("id",), [(1,), (2,)]))

    assert await database.all("SELECT id FROM item") == [(2,)]


async def test_counters_are_made_added_to_and_keep_the_greatest(counters: Any) -> None:
    for rows in ([(1, "a", 1, 10, 500), (1, "b", 2, 20, 900)], [(1, "b", 3, 30, 800), (2, "a", 4, 40, 100)]):
        await counters.transaction(lambda transaction, rows=rows: transaction.add_up(COUNTERS, rows))

    stored = await counters.all("SELECT site, name, hits, bytes, last_ms FROM counter ORDER BY site, name")
    assert stored == [(1, "a", 1, 10, 500), (1, "b", 5, 50, 900), (2, "a", 4, 40, 100)]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200, 333])
async def test_any_number_of_rows_is_loaded_whole(counters: Any, count: int) -> None:
    names = ("site", "name", "hits", "bytes", "last_ms")
    rows = [(number, "a", 1, number, 0) for number in range(count)]

    await counters.transaction(lambda transaction: transaction.load("counter", names, rows))
    await counters.transaction(lambda transaction: transaction.add_up(COUNTERS, rows))

    stored = await counters.all("SELECT site, name, hits, bytes, last_ms FROM counter ORDER BY site")
    assert stored == [(number, "a", 2, 2 * number, 0) for number in range(count)]


async def test_only_rows_whose_key_is_missing_are_put_and_told(counters: Any) -> None:
    first = [(number, "a", 1, 1, 1) for number in range(0, 150, 3)]
    second = [(number, "a", 2, 2, 2) for number in range(150)]

    assert await counters.insert_new(COUNTER_ROWS, first) == [(number, "a") for number in range(0, 150, 3)]
    told = await counters.insert_new(COUNTER_ROWS, second)

    assert sorted(told) == [(number, "a") for number in range(150) if number % 3]
    stored = await counters.all("SELECT site, hits FROM counter ORDER BY site")
    assert stored == [(number, 2 if number % 3 else 1) for number in range(150)]
    assert await counters.insert_new(COUNTER_ROWS, second) == []
