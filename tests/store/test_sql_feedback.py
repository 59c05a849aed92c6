"""Feedback in SQL: counted per page and day, with a bound on how many pages there can be."""

import asyncio

import pytest

from agentgate.people.feedback.repository import MOST_PAGES, DocsFeedback
from agentgate.server.stores.unit_of_work import SqlStore

pytestmark = pytest.mark.anyio

TODAY = 20_000


async def answer(store: SqlStore, page: str, *, helpful: bool = True, day: int = TODAY) -> None:
    await store.change(lambda stores: stores.feedback.add_answer(page, day, helpful=helpful))


async def counts(store: SqlStore, from_day: int = 0) -> dict[str, tuple[int, int]]:
    listed = await store.read.feedback.list_counts(from_day)
    return {count.page: (count.helpful, count.not_helpful) for count in listed}


async def test_responses_are_counted_by_kind(store: SqlStore) -> None:
    for helpful in (True, False, True):
        await answer(store, "/docs/a", helpful=helpful)

    assert await store.read.feedback.list_counts(TODAY) == [
        DocsFeedback(page="/docs/a", helpful=2, not_helpful=1, total=3)
    ]


async def test_the_most_handled_page_comes_first_over_all_days_asked_for(store: SqlStore) -> None:
    await answer(store, "/docs/old", day=TODAY - 10)
    await answer(store, "/docs/b")
    await answer(store, "/docs/c")
    for day in (TODAY, TODAY - 1):
        await answer(store, "/docs/a", helpful=False, day=day)

    assert list(await counts(store, TODAY - 1)) == ["/docs/a", "/docs/b", "/docs/c"]
    assert list(await counts(store, TODAY - 10)) == ["/docs/a", "/docs/b", "/docs/c", "/docs/old"]
    assert (await counts(store, TODAY))["/docs/a"] == (0, 1)


async def test_responses_that_come_together_are_all_counted(store: SqlStore) -> None:
    await asyncio.gather(*(answer(store, "/docs/a", helpful=number % 3 > 0) for number in range(30)))

    assert await counts(store) == {"/docs/a": (20, 10)}


async def test_a_page_too_many_is_ignored_and_known_ones_still_count(store: SqlStore) -> None:
    async def fill(stores):
        for number in range(MOST_PAGES):
            await stores.feedback.add_answer(f"/docs/{number}", TODAY, helpful=True)

    await store.change(fill)
    await answer(store, "/docs/one-more")
    await answer(store, "/docs/7", day=TODAY + 1)

    found = await counts(store)
    assert len(found) == MOST_PAGES
    assert "/docs/one-more" not in found
    assert found["/docs/7"] == (2, 0)
