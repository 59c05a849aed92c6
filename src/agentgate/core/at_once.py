"""Running a coroutine that has nothing to wait for without a task, which takes longer to make than much takes to do."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine whose caller knows that it never waits; RuntimeError if it does."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine that was to answer at once waits for something")
