"""Work on many items in a thread, on few items at once."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

# Handing work to a thread costs about as much as work on so many items.
FEW_ITEMS = 100


async def off_loop(items: int, act: Callable[[], T]) -> T:
    """Return what an act on so many items returns; many items do not hold up the event loop.

    A unit of work on SQLite is not in the event loop, and acts where it is.
    """
    if items <= FEW_ITEMS or not _is_in_loop():
        return act()
    return await asyncio.to_thread(act)


def consumed(items: list[T]) -> Iterator[T]:
    """Yield the items of a list, which is empty afterwards.

    A thread that reads a long list frees it item by item; otherwise the event loop would free all of it at once.
    """
    items.reverse()
    while items:
        yield items.pop()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
