"""Clients that opened decoys: two workers, the end of the hour, bounds, and a cache that another version filled."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agentgate.decision.rates.windows import NO_WINDOW
from agentgate.decision.signals.request_class import RequestClass
from agentgate.gateway.decoys import touched as module
from agentgate.gateway.decoys.touched import MOST, MOST_OF_SITE, TOUCHED, TOUCHED_MS, Decoys
from agentgate.gateway.visitors import Visitor
from agentgate.lib.clock import SECOND_MS, FixedClock
from agentgate.storage.shared_cache.memory import MemorySharedCache

SITE, TAG = 7, 11
LED = {b"sec-fetch-site": b"same-origin", b"sec-fetch-mode": b"navigate", b"sec-fetch-dest": b"document"}


class Shared(MemorySharedCache):
    """A cache that two workers have in common."""

    is_alone = False


class Installation:
    """Two workers of one service."""

    def __init__(self) -> None:
        self.clock = FixedClock(1_794_744_000_000)
        self.cache = Shared(self.clock)
        self.one, self.two = Decoys(self.cache, self.clock), Decoys(self.cache, self.clock)
        for worker in (self.one, self.two):
            self.labels(worker)

    def touch(self, worker: Decoys, number: int = 1, *, site: int = SITE, tag: int = TAG) -> None:
        worker.note(PAGE, headers(tag), visitor(number, site), LED)

    def labels(self, worker: Decoys, number: int = 1, *, site: int = SITE, tag: int = TAG) -> tuple[str, ...]:
        return worker.labels_of(visitor(number, site), tag, self.clock.now_ms())

    def sync(self) -> None:
        for worker in (self.one, self.two, self.one):
            asyncio.run(worker.sync())


PAGE: Any = SimpleNamespace(is_foreign=False, origin="https://shop.example")


def headers(tag: int = TAG) -> Any:
    kind = SimpleNamespace(method="GET", request_class=RequestClass.PAGE)
    methods = SimpleNamespace(is_plain=True)
    return SimpleNamespace(kind=kind, methods=methods, is_agents=False, is_plain=True, program=None, tag=tag)


def visitor(number: int, site: int) -> Visitor:
    return Visitor(site, number, str(number), NO_WINDOW, address=str(number), labels=("net.private",))


@pytest.fixture
def installation() -> Installation:
    return Installation()


def test_a_client_has_the_label_at_all_workers_for_an_hour(installation: Installation) -> None:
    installation.touch(installation.one)
    assert installation.labels(installation.one) == ("net.private", TOUCHED)
    assert installation.labels(installation.two) == ("net.private",)
    installation.sync()
    assert installation.labels(installation.two) == ("net.private", TOUCHED)
    for number, site, tag in ((2, SITE, TAG), (1, SITE + 1, TAG), (1, SITE, TAG + 1)):
        for worker in (installation.one, installation.two):
            assert TOUCHED not in installation.labels(worker, number, site=site, tag=tag)

    installation.clock.advance(seconds=TOUCHED_MS // SECOND_MS)
    installation.sync()
    assert installation.labels(installation.one) == installation.labels(installation.two) == ("net.private",)
    assert len(installation.one) == len(installation.two) == 0


def test_both_workers_add_theirs_and_none_brings_back_what_ended(installation: Installation) -> None:
    installation.touch(installation.one, 1)
    installation.clock.advance(seconds=1_800)
    installation.touch(installation.two, 2)
    installation.sync()
    for worker in (installation.one, installation.two):
        assert TOUCHED in installation.labels(worker, 1)
        assert TOUCHED in installation.labels(worker, 2)
    installation.clock.advance(seconds=1_801)
    installation.touch(installation.two, 3)
    installation.sync()

    assert TOUCHED not in installation.labels(installation.one, 1)
    assert TOUCHED in installation.labels(installation.one, 2)
    assert len(installation.one) == 2


def test_a_second_decoy_begins_the_hour_again(installation: Installation) -> None:
    installation.touch(installation.one)
    installation.sync()
    installation.clock.advance(seconds=3_000)
    installation.touch(installation.two)
    installation.sync()
    installation.clock.advance(seconds=3_000)
    installation.sync()

    assert TOUCHED in installation.labels(installation.one)


def test_many_addresses_fill_only_the_part_of_their_site(installation: Installation) -> None:
    installation.touch(installation.one, 1, site=99)
    for number in range(MOST_OF_SITE + 10):
        installation.touch(installation.one, number)
    assert len(installation.one) == MOST_OF_SITE + 1
    assert TOUCHED not in installation.labels(installation.one, 9)
    assert TOUCHED in installation.labels(installation.one, 10)
    for site in range(100, 100 + MOST // MOST_OF_SITE + 1):
        for number in range(MOST_OF_SITE):
            installation.touch(installation.one, number, site=site)
    assert len(installation.one) == MOST
    assert TOUCHED in installation.labels(installation.one, 1, site=99)
    installation.sync()

    assert len(installation.two) == MOST


def test_a_worker_without_sites_with_decoys_asks_for_nothing(installation: Installation) -> None:
    idle = Decoys(installation.cache, installation.clock)
    installation.touch(installation.one)
    installation.sync()
    asyncio.run(idle.sync())

    assert len(idle) == 0


def test_a_lost_lock_delays_the_exchange_and_loses_nothing(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_WAIT_S", 0)
    asyncio.run(installation.cache.put(module._LOCK, b"1", ttl_ms=10 * SECOND_MS))
    installation.touch(installation.one)
    installation.sync()

    assert TOUCHED in installation.labels(installation.two)
