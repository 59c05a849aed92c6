"""A visitor at the gateway: what is evicted is freed at once."""

import gc

from agentgate.protection.gateway.visitors import Visitor


def test_a_visitor_that_was_evicted_leaves_nothing_to_the_garbage_collection() -> None:
    gc.collect()
    gc.disable()
    try:
        for number in range(100):
            Visitor(1, number, "203.0.113.9", ())
        left = sum(isinstance(each, Visitor) for each in gc.get_objects())
    finally:
        gc.enable()

    assert left == 0
