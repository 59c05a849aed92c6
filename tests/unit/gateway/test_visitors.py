"""A visitor at the gateway: what is evicted is freed at once."""

import gc
import weakref

from agentgate.decision.rates.windows import NO_WINDOW, RateWindows
from agentgate.gateway.visitors import Visitor


class Held:
    """Stands for what a visitor refers to, and can be seen to be freed."""


def test_a_visitor_that_was_evicted_is_freed_without_the_garbage_collection() -> None:
    windows, freed = RateWindows(), []
    gc.disable()
    try:
        for number in range(100):
            held = Held()
            freed.append(weakref.ref(held))
            visitor = Visitor(1, number, "203.0.113.9", NO_WINDOW, address="203.0.113.9", labels=(), traits=held)
            windows.count_again(visitor, 1_000)
            windows.earn(visitor, 7, 1_000)
        del visitor, held
    finally:
        gc.enable()

    assert [each() for each in freed] == [None] * 100


def test_the_garbage_collection_does_not_look_at_visitors() -> None:
    visitor = Visitor(1, 1, "203.0.113.9", NO_WINDOW, address="203.0.113.9", labels=())

    assert not gc.is_tracked(visitor)
