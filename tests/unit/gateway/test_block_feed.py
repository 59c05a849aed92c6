"""The feed for firewalls: two workers, people who spare an address, bounds, and a cache that fails."""

import asyncio
import ipaddress
from typing import Any

import pytest

from agentgate.decision.rates.windows import NO_WINDOW
from agentgate.decision.threat_data.intel import IntelDirectory
from agentgate.gateway.block_feed import feed as module
from agentgate.gateway.block_feed.feed import (
    LEAST_OFFENSES,
    LISTED_MS,
    MOST_COUNTED,
    MOST_OF_SITE,
    SCANNER,
    SEEN_MS,
    SETTLE_MS,
    WARM_MS,
    BlockFeed,
)
from agentgate.gateway.visitors import Visitor
from agentgate.lib.clock import MINUTE_MS, SECOND_MS, FixedClock
from agentgate.storage.shared_cache.memory import MemorySharedCache

SITE = 7
ADDRESS = "81.2.69.142"
SCANNERS, PEOPLES, OTHERS = 1, 2, 3


class Shared(MemorySharedCache):
    """A cache that two workers have in common, and that can fail."""

    is_alone = False
    answers = True

    async def ping(self) -> bool:
        return self.answers


class Installation:
    """Two workers of one service that have run for a while."""

    def __init__(self, tmp_path: Any, **options: Any) -> None:
        self.clock = FixedClock(1_794_744_000_000)
        self.cache = Shared(self.clock)
        intel = IntelDirectory(tmp_path, expected=False)
        self.one, self.two = (BlockFeed(self.cache, self.clock, intel, **options) for _ in range(2))
        self.clock.advance(seconds=WARM_MS // SECOND_MS)

    def offend(self, worker: BlockFeed, address: str = ADDRESS, times: int = LEAST_OFFENSES) -> None:
        for _ in range(times):
            worker.note_offense(visitor(address), SCANNER, SCANNERS, self.clock.now_ms())

    def load_page(
        self, worker: BlockFeed, tag: int = PEOPLES, address: str = ADDRESS, *, cleared: bool = False
    ) -> None:
        worker.note_person(visitor(address), tag, self.clock.now_ms(), cleared=cleared)

    def sync(self) -> None:
        for worker in (self.one, self.two, self.one):
            asyncio.run(worker.sync())

    def settle(self) -> None:
        self.sync()
        self.clock.advance(seconds=SETTLE_MS // SECOND_MS)

    def shown(self, worker: BlockFeed) -> list[str]:
        return sorted(asyncio.run(worker.read(SITE))[0])

    def spared(self, worker: BlockFeed) -> list[str]:
        return sorted(asyncio.run(worker.read(SITE))[1])


@pytest.fixture
def installation(tmp_path: Any) -> Installation:
    return Installation(tmp_path)


def visitor(address: str) -> Visitor:
    return Visitor(SITE, hash(address), address, NO_WINDOW, address=address, labels=())


def test_an_address_appears_at_all_workers_and_ends_after_minutes(installation: Installation) -> None:
    installation.offend(installation.one, times=LEAST_OFFENSES - 1)
    installation.settle()
    assert installation.shown(installation.one) == []
    installation.offend(installation.one)
    assert installation.shown(installation.one) == []
    installation.settle()
    assert installation.shown(installation.one) == installation.shown(installation.two) == [ADDRESS]

    installation.clock.advance(seconds=(LISTED_MS - SETTLE_MS) // SECOND_MS)
    assert installation.shown(installation.one) == installation.shown(installation.two) == []
    assert asyncio.run(installation.cache.get(f"block-feed:{SITE}")) in {b"\x80", None}


def test_offenses_of_many_minutes_do_not_add_up(installation: Installation) -> None:
    for _ in range(3):
        installation.offend(installation.one, times=LEAST_OFFENSES - 1)
        installation.clock.advance(seconds=60)

    assert installation.shown(installation.one) == []


@pytest.mark.parametrize("cleared", [True, False])
@pytest.mark.parametrize("minutes", [-29, -1, 0, 1])
def test_people_at_another_worker_spare_a_shared_address(
    installation: Installation, *, cleared: bool, minutes: int
) -> None:
    if minutes < 0:
        installation.load_page(installation.two, cleared=cleared)
        installation.clock.advance(seconds=-minutes * 60)
    installation.offend(installation.one)
    if minutes >= 0:
        installation.settle()
        installation.clock.advance(seconds=minutes * 60)
        installation.load_page(installation.two, cleared=cleared)
    installation.settle()

    assert installation.shown(installation.one) == installation.shown(installation.two) == []
    assert installation.spared(installation.one) == [ADDRESS]
    installation.offend(installation.one)
    installation.settle()
    assert installation.shown(installation.one) == []


def test_a_clearance_of_the_scanner_spares_its_address_and_its_pages_do_not(installation: Installation) -> None:
    installation.load_page(installation.one, SCANNERS)
    installation.offend(installation.one)
    installation.settle()
    assert installation.shown(installation.one) == [ADDRESS]

    installation.load_page(installation.two, SCANNERS, cleared=True)
    installation.settle()
    assert installation.shown(installation.one) == []


def test_the_scanners_own_last_page_hides_no_person_before_it(installation: Installation) -> None:
    installation.load_page(installation.two, PEOPLES)
    installation.load_page(installation.two, SCANNERS)
    installation.offend(installation.one)
    installation.settle()

    assert installation.shown(installation.one) == []


@pytest.mark.parametrize(("minutes", "is_listed"), [(4, True), (5, False)])
def test_people_with_the_scanners_browser_spare_if_they_came_before_it(
    installation: Installation, minutes: int, *, is_listed: bool
) -> None:
    """An attacker in an office sends what everyone's browser there sends."""
    installation.load_page(installation.two, SCANNERS)
    installation.clock.advance(seconds=minutes * 60)
    installation.load_page(installation.two, SCANNERS)
    installation.offend(installation.one)
    installation.settle()

    assert (installation.shown(installation.one) == [ADDRESS]) is is_listed


def test_people_of_an_hour_ago_do_not_spare(installation: Installation) -> None:
    installation.load_page(installation.two)
    installation.clock.advance(seconds=SEEN_MS // SECOND_MS + 1)
    installation.offend(installation.one)
    installation.settle()

    assert installation.shown(installation.one) == [ADDRESS]


def test_a_worker_that_has_just_started_lists_nothing(tmp_path: Any) -> None:
    installation = Installation(tmp_path)
    installation.one = BlockFeed(installation.cache, installation.clock, IntelDirectory(tmp_path, expected=False))
    installation.offend(installation.one)
    installation.settle()

    assert installation.shown(installation.one) == []


def test_nothing_is_shown_while_the_workers_cannot_object(installation: Installation) -> None:
    installation.offend(installation.one)
    installation.settle()
    installation.cache.answers = False

    assert installation.shown(installation.one) == []


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "100.64.0.9", "127.0.0.1", "fe80::1", "::1", "192.0.2.1", "5.9.0.1", "2a01:4f8::5", "none"]
)
def test_proxies_private_addresses_and_text_are_never_listed(tmp_path: Any, address: str) -> None:
    installation = Installation(tmp_path, trusted_proxies=["5.9.0.0/24", "2a01:4f8::/64"])
    installation.offend(installation.one, address)
    installation.offend(installation.one)
    installation.settle()

    assert installation.shown(installation.one) == [ADDRESS]


def test_published_networks_are_never_listed(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    known = module.find_address
    crawlers = "66.249.66.1"
    monkeypatch.setattr(
        module,
        "find_address",
        lambda text, intel: known(text, intel) if text != crawlers else type("V", (), {"search": 1})(),
    )
    installation.offend(installation.one, crawlers)
    installation.offend(installation.one)
    installation.settle()

    assert installation.shown(installation.one) == [ADDRESS]


def test_a_flood_from_a_million_addresses_is_bounded(installation: Installation) -> None:
    feed, first = installation.one, int(ipaddress.ip_address("45.0.0.0"))
    addresses = [visitor(str(ipaddress.ip_address(first + number))) for number in range(50_000)]
    now_ms = installation.clock.now_ms()
    for number in range(1_000_000):
        feed.note_offense(addresses[number % 50_000], SCANNER, SCANNERS, now_ms + number // 50_000)
    asyncio.run(feed.sync())
    assert len(feed._offenses) <= MOST_COUNTED
    assert len(feed._sites[SITE]) == MOST_OF_SITE
    assert feed.results["full",] > 0
    text = asyncio.run(installation.cache.get(f"block-feed:{SITE}"))
    assert text is not None
    assert len(text) < 200_000
    # After their minutes, the place is free again.
    installation.clock.advance(seconds=(LISTED_MS + MINUTE_MS) // SECOND_MS)
    installation.sync()
    assert feed._listed == 0
    installation.offend(feed)
    installation.settle()
    assert installation.shown(feed) == [ADDRESS]
