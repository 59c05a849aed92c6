"""What every Database promises, on SQLite and on PostgreSQL alike."""

import asyncio

import pytest

from agentgate.lib.database import Conflict, NewRows, StoreUnavailable

pytestmark = pytest.mark.anyio

INSERT = "INSERT INTO item (id, name) VALUES ($1, $2)"
COUNT = "SELECT count(*) FROM item"


async def test_what_a_unit_of_work_wrote_is_there_once_it_has_returned(database):
    async def work(transaction):
        await transaction.run(INSERT, 1, "a")
        return await transaction.one("SELECT name FROM item WHERE id = $1", 1)

    result = await database.transaction(work)

    assert result == ("a",)
    assert await database.all("SELECT id, name FROM item") == [(1, "a")]


async def test_an_exception_undoes_the_whole_unit_and_reaches_the_caller(database):
    async def work(transaction):
        await transaction.run(INSERT, 1, "a")
        raise LookupError("of the unit")

    with pytest.raises(LookupError, match="of the unit"):
        await database.transaction(work)

    assert await database.one(COUNT) == (0,)


async def test_only_the_failed_units_of_many_at_once_are_undone(database):
    async def insert(transaction, number):
        await transaction.run(INSERT, number, "a")
        if number % 3 == 0:
            raise LookupError(number)
        return number

    numbers = range(60)
    outcomes = await asyncio.gather(
        *(database.transaction(lambda tx, number=number: insert(tx, number)) for number in numbers),
        return_exceptions=True,
    )

    assert [outcome for outcome in outcomes if not isinstance(outcome, Exception)] == [n for n in numbers if n % 3]
    assert await database.all("SELECT id FROM item ORDER BY id") == [(n,) for n in numbers if n % 3]


async def test_a_second_row_with_the_same_key_is_a_conflict(database):
    await database.run(INSERT, 1, "a")

    with pytest.raises(Conflict):
        await database.run(INSERT, 1, "b")

    assert await database.all("SELECT id, name FROM item") == [(1, "a")]


async def test_a_row_that_points_nowhere_is_a_conflict(database):
    with pytest.raises(Conflict):
        await database.run("INSERT INTO item (id, part_of) VALUES ($1, $2)", 1, 99)


async def test_a_row_that_points_nowhere_is_a_conflict_also_when_it_is_to_be_returned(database):
    with pytest.raises(Conflict):
        await database.one("INSERT INTO item (id, part_of) VALUES ($1, $2) RETURNING id", 1, 99)

    assert await database.one(COUNT) == (0,)


async def test_a_reference_that_is_checked_at_commit_fails_only_its_own_unit(database):
    await database.run(
        "CREATE TABLE late (id BIGINT PRIMARY KEY, item BIGINT REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED)"
    )
    await database.run(INSERT, 1, "a")

    outcomes = await asyncio.gather(
        *(database.run("INSERT INTO late (id, item) VALUES ($1, $2)", n, 99 if n == 5 else 1) for n in range(10)),
        return_exceptions=True,
    )

    assert [type(outcome) for outcome in outcomes] == [Conflict if n == 5 else int for n in range(10)]
    assert await database.one("SELECT count(*) FROM late") == (9,)


async def test_a_unit_that_swallows_a_conflict_still_keeps_nothing(database):
    async def work(transaction):
        await transaction.run(INSERT, 1, "a")
        try:
            await transaction.run(INSERT, 1, "b")
        except Conflict:
            return "swallowed"

    with pytest.raises(Conflict):
        await database.transaction(work)

    assert await database.one(COUNT) == (0,)


async def test_a_transaction_cannot_be_used_after_its_end(database):
    async def work(transaction):
        return transaction

    leaked = await database.transaction(work)

    with pytest.raises(RuntimeError, match="has ended"):
        await leaked.run(INSERT, 1, "a")


async def count_then_insert(transaction, number):
    await transaction.lock("item", "limit")
    (count,) = await transaction.one(COUNT)
    if count < 10:
        await transaction.run(INSERT, number, "a")


async def test_a_lock_keeps_a_limit_against_64_units_at_once(database):
    await asyncio.gather(
        *(database.transaction(lambda tx, number=number: count_then_insert(tx, number)) for number in range(64))
    )

    assert await database.one(COUNT) == (10,)


async def test_a_lock_keeps_a_limit_between_two_database_objects(empty_backend, database):
    second = empty_backend.make()
    try:
        await asyncio.gather(
            *(
                (database, second)[number % 2].transaction(lambda tx, number=number: count_then_insert(tx, number))
                for number in range(64)
            )
        )
    finally:
        await second.close()

    assert await database.one(COUNT) == (10,)


async def test_a_large_batch_is_written_whole(database):
    await database.run_many(INSERT, [(number, f"name {number}") for number in range(5_000)])

    assert await database.one(COUNT) == (5_000,)


async def test_a_batch_with_a_conflict_in_it_leaves_nothing(database):
    with pytest.raises(Conflict):
        await database.run_many(INSERT, [(1, "a"), (2, "b"), (1, "c")])

    assert await database.one(COUNT) == (0,)


@pytest.mark.parametrize("text", ["nul \0 in it", "surrogate \ud800 in it", "\0", "\udfff"])
async def test_text_that_a_database_cannot_hold_is_a_value_error(database, text):
    for attempt in (
        database.run(INSERT, 1, text),
        database.run_many(INSERT, [(1, text)]),
        database.one("SELECT id FROM item WHERE name = $1", text),
        database.transaction(lambda transaction: transaction.run(INSERT, 1, text)),
    ):
        with pytest.raises(ValueError, match="text for the database"):
            await attempt

    assert await database.one(COUNT) == (0,)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**40])
async def test_an_integer_beyond_64_bits_is_a_value_error(database, number):
    with pytest.raises(ValueError, match="64 bits"):
        await database.run(INSERT, number, "a")


async def test_values_come_back_as_they_went_in(database):
    rows = [
        (2**63 - 1, "Grüße, 世界 🌍 $1 'quoted' ?1", bytes(range(256))),
        (-(2**63), "", b""),
        (0, None, None),
    ]

    await database.run_many("INSERT INTO item (id, name, data) VALUES ($1, $2, $3)", rows)

    assert await database.all("SELECT id, name, data FROM item ORDER BY id DESC") == [rows[0], rows[2], rows[1]]


async def test_statistics_and_averages_are_plain_numbers(database):
    await database.run_many("INSERT INTO item (id) VALUES ($1)", [(1,), (2,), (4,)])

    row = await database.one("SELECT sum(id), avg(id), count(*) FROM item WHERE id < 4")

    assert [(type(value), value) for value in row] == [(int, 3), (float, 1.5), (int, 2)]


async def test_one_returns_none_and_all_returns_nothing_when_there_is_no_row(database):
    assert await database.one("SELECT id FROM item") is None
    assert await database.all("SELECT id FROM item") == []


async def test_a_read_after_a_commit_sees_it_also_through_another_object(empty_backend, database):
    second = empty_backend.make()
    try:
        for number in range(20):
            await database.run(INSERT, number, "a")

            assert await second.one(COUNT) == (number + 1,)
    finally:
        await second.close()


async def test_a_read_that_stopped_early_does_not_hide_later_commits(database):
    await database.run_many(INSERT, [(1, "a"), (2, "b")])
    assert await database.one("SELECT name FROM item ORDER BY id") == ("a",)

    await database.run("UPDATE item SET name = $1", "c")

    assert await database.one("SELECT name FROM item ORDER BY id") == ("c",)


async def test_a_statement_that_returns_what_it_changed_works_outside_a_transaction(database):
    assert await database.one("INSERT INTO item (id, name) VALUES ($1, $2) RETURNING id", 7, "a") == (7,)
    assert await database.all("UPDATE item SET name = $1 RETURNING name", "b") == [("b",)]
    assert await database.one("SELECT name FROM item") == ("b",)


async def test_run_counts_the_rows_it_changed(database):
    counts = [
        await database.run("INSERT INTO item (id, name) VALUES ($1, $2), ($3, $4)", 1, "a", 2, "b"),
        await database.run("CREATE TABLE other (id BIGINT PRIMARY KEY)"),
        await database.run("INSERT INTO item (id) VALUES ($1) ON CONFLICT DO NOTHING", 1),
        await database.run("UPDATE item SET name = $1 WHERE id > $2", "c", 0),
        await database.run("UPDATE item SET name = $1 WHERE id > $2", "c", 10),
        await database.run("DELETE FROM item WHERE id = $1", 2),
        await database.run("INSERT INTO item (id) VALUES ($1) RETURNING id", 3),
    ]

    assert counts == [2, 0, 0, 2, 0, 1, 1]


async def test_close_finishes_what_was_accepted(empty_backend, database):
    waiting = [asyncio.ensure_future(database.run(INSERT, number, "a")) for number in range(50)]
    await asyncio.sleep(0)

    await database.close()

    assert await asyncio.gather(*waiting) == [1] * 50
    second = empty_backend.make()
    try:
        assert await second.one(COUNT) == (50,)
    finally:
        await second.close()


async def test_a_closed_database_is_unavailable(database):
    await database.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        await database.run(INSERT, 1, "a")
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.one(COUNT)


async def test_a_store_that_is_unavailable_is_unavailable_and_then_works_again(empty_backend, database):
    with empty_backend.away():
        with pytest.raises(StoreUnavailable):
            await database.run(INSERT, 1, "a")
        with pytest.raises(StoreUnavailable):
            await database.ping()

    await database.ping()
    assert await database.run(INSERT, 2, "b") == 1
    assert await database.all("SELECT id FROM item") == [(2,)]


async def test_a_database_that_no_one_opened_opens_itself(empty_backend):
    database = empty_backend.make()
    try:
        assert await database.one("SELECT 1") == (1,)
        assert await database.run("CREATE TABLE item (id BIGINT PRIMARY KEY)") == 0
    finally:
        await database.close()


async def test_a_database_can_be_made_while_its_store_is_unavailable(empty_backend, database):
    with empty_backend.away():
        second = empty_backend.make()
        with pytest.raises(StoreUnavailable):
            await second.open()

    try:
        assert await second.run(INSERT, 1, "a") == 1
    finally:
        await second.close()


async def test_a_mistake_in_a_statement_is_neither_a_conflict_nor_an_outage(database):
    with pytest.raises(Exception, match="nowhere") as caught:
        await database.run("DELETE FROM nowhere")

    assert not isinstance(caught.value, Conflict | StoreUnavailable)


async def test_a_cancelled_caller_does_not_disturb_the_others(database):
    tasks = [asyncio.ensure_future(database.run(INSERT, number, "a")) for number in range(20)]
    await asyncio.sleep(0)

    tasks[10].cancel()

    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [outcome for number, outcome in enumerate(outcomes) if number != 10] == [1] * 19
    assert isinstance(outcomes[10], asyncio.CancelledError)
    assert await database.run(INSERT, 100, "a") == 1


ITEMS = NewRows("item", key=("id",), types=(("id", "bigint"), ("name", "text"), ("data", "bytea")))


async def test_only_rows_with_a_new_key_are_inserted_and_their_keys_come_back(database):
    await database.run(INSERT, 2, "old")

    added = await database.insert_new(ITEMS, [(1, "a", None), (2, "b", b"x"), (3, None, None)])

    assert sorted(added) == [(1,), (3,)]
    assert await database.all("SELECT id, name FROM item ORDER BY id") == [(1, "a"), (2, "old"), (3, None)]
    assert await database.insert_new(ITEMS, []) == []


async def test_new_rows_of_a_unit_that_fails_are_undone(database):
    async def work(transaction):
        assert await transaction.insert_new(ITEMS, [(1, "a", None)]) == [(1,)]
        raise LookupError("of the unit")

    with pytest.raises(LookupError):
        await database.transaction(work)

    assert await database.one(COUNT) == (0,)
