"""A cache of two generations: it is bounded, and keeps entries that are in use."""

import random

from agentgate.lib.bounded_cache import BoundedCache


def test_what_was_put_is_found():
    cache = BoundedCache(2)

    assert cache.put("a", 1) == 1
    assert cache.get("a") == 1
    assert cache.get("b") is None


def test_it_never_holds_more_than_two_generations():
    cache = BoundedCache(10)
    for number in range(1_000):
        cache.put(number, number)
        assert len(cache) <= 20


def test_what_is_requested_outlives_what_is_not():
    cache = BoundedCache(10)
    cache.put("used", 1)
    cache.put("unused", 1)
    for number in range(100):
        cache.put(number, number)
        assert cache.get("used") == 1

    assert cache.get("unused") is None


def test_what_it_finds_is_what_was_put_last():
    chance, cache, last = random.Random(1), BoundedCache(8), {}
    for _ in range(5_000):
        key = chance.randrange(40)
        if chance.random() < 0.3:
            last[key] = cache.put(key, chance.random())
        else:
            assert cache.get(key) in (None, last.get(key))
