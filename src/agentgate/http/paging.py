"""Lists that are complete without parameters, and pages with `limit` and `cursor`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar

from msgspec import UNSET, UnsetType

from agentgate.http.replies import Reply
from agentgate.lib.cursors import Cursors, Position

B = TypeVar("B")
# Other requests run after so many items.
PAGE = 250

# Reads so many items behind a position; returns the position of the last one if more follow.
ReadPage = Callable[[Position | None, int], Awaitable[tuple[list[Any], Position | None]]]


class PageQuery(Protocol):
    """Which page to list. Default: everything."""

    @property
    def limit(self) -> int | UnsetType: ...

    @property
    def cursor(self) -> str | UnsetType: ...


async def list_pages(kind: Callable[..., B], read: ReadPage, query: PageQuery, cursors: Cursors) -> Reply[B]:
    """Return a page, or without a limit everything: a list of any length is read and sent in pages."""
    start = None if isinstance(query.cursor, UnsetType) else cursors.read(query.cursor)
    if isinstance(query.limit, UnsetType):
        items, rest = await read_all(read, start)
        return Reply(body=kind(items=items), rest=rest)
    items, last = await read(start, query.limit)
    return Reply(body=kind(items=items, next_cursor=UNSET if last is None else cursors.issue(last)))


async def read_all(read: ReadPage, start: Position | None = None) -> tuple[list[Any], AsyncIterator[list[Any]] | None]:
    """Return the first page of a complete list, and its further pages if there are any."""
    items, last = await read(start, PAGE)
    return items, None if last is None else _pages(read, last)


async def _pages(read: ReadPage, behind: Position | None) -> AsyncIterator[list[Any]]:
    while behind is not None:
        items, behind = await read(behind, PAGE)
        yield items
