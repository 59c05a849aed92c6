"""Loading many rows and adding to counters, on both databases."""

from typing import Any

import pytest

from agentgate.core.database import Conflict, Sums

pytestmark = pytest.mark.anyio

COUNTERS = Sums("counter", ("site", "name"), ("hits", "bytes"), ("last_ms",))


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


async def test_a_row_that_is_there_already_undoes_the_whole_load(database: Any) -> None:
    await database.run("INSERT INTO item (id) VALUES (2)")

    with pytest.raises(Conflict):
        await database.transaction(lambda transaction: transaction.load("item", ("id",), [(1,), (2,)]))

    assert await database.all("SELECT id FROM item") == [(2,)]


async def test_counters_are_made_added_to_and_keep_the_greatest(counters: Any) -> None:
    for rows in ([(1, "a", 1, 10, 500), (1, "b", 2, 20, 900)], [(1, "b", 3, 30, 800), (2, "a", 4, 40, 100)]):
        await counters.transaction(lambda transaction, rows=rows: transaction.add_up(COUNTERS, rows))

    stored = await counters.all("SELECT site, name, hits, bytes, last_ms FROM counter ORDER BY site, name")
    assert stored == [(1, "a", 1, 10, 500), (1, "b", 5, 50, 900), (2, "a", 4, 40, 100)]
