"""Detection of busy sites: begin, end, hysteresis, an unknown usual rate, a changed clock, and bounded counting."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import UNSET

from agentgate.events.decision_ids import first_id
from agentgate.events.page_counts import MOST_ADDRESSES, MOST_OF_ADDRESS, PageCounts
from agentgate.gateway.site_load import HOLD_MS, INTERVAL_MS, SiteLoads, state_of, usual_rate
from agentgate.lib.clock import HOUR_MS, MINUTE_MS, SECOND_MS, FixedClock
from agentgate.lib.enums import LoadState
from agentgate.sites.records import SiteLoad

NOON_MS = 1_794_744_000_000
HOUR = NOON_MS // HOUR_MS
USUAL = 60
SITE = 7


class Installation:
    """A site with a week of traffic, and the process that compares its load."""

    def __init__(self, usual: int = USUAL) -> None:
        self.clock = FixedClock(NOON_MS)
        self.pages = {(SITE, HOUR - hour): usual * 60 for hour in range(200)}
        self.view = SimpleNamespace(number=SITE, id="st_7", site_key="site_seven", disabled=False, load=None)
        self.seen: list[LoadState] = []
        self.new_process()

    def new_process(self) -> None:
        self.loads = SiteLoads(self, self, self, self.clock)  # type: ignore[arg-type]

    def run(self, pages_per_minute: int, minutes: float) -> list[LoadState]:
        """Let pages come in evenly; return the states that began meanwhile."""
        self.seen = []
        asyncio.run(self._run(pages_per_minute, minutes))
        return self.seen

    async def _run(self, pages_per_minute: int, minutes: float) -> None:
        for _ in range(round(minutes * MINUTE_MS / INTERVAL_MS)):
            self.clock.advance(seconds=INTERVAL_MS // SECOND_MS)
            key = (SITE, self.clock.now_ms() // HOUR_MS)
            self.pages[key] = self.pages.get(key, 0) + pages_per_minute * INTERVAL_MS // MINUTE_MS
            await self.loads.compare()

    # The counts, the directory and the store.

    async def list_pages(self, first_hour: int) -> Any:
        return {key: pages for key, pages in self.pages.items() if key[1] >= first_hour}

    async def list_page_hours(self, site: int, first_hour: int, end_hour: int) -> Any:
        return {hour: pages for (_, hour), pages in self.pages.items() if first_hour <= hour < end_hour}

    def list_loaded(self) -> list[Any]:
        load = self.view.load
        return [] if load is None or load.state is LoadState.NORMAL else [self.view]

    def find_by_number(self, number: int) -> Any:
        return self.view if number == SITE else None

    async def change(self, work: Any) -> None:
        await work(SimpleNamespace(sites=self, configuration=self))

    async def save_load(self, site_id: str, load: SiteLoad) -> None:
        self.view.load = load
        self.seen.append(load.state)

    async def bump_site(self, site_id: str) -> None:
        assert site_id == self.view.id


def test_a_flood_begins_within_a_minute_and_ends_two_minutes_after_it() -> None:
    site = Installation()

    assert site.run(USUAL, 10) == []
    assert site.run(20 * USUAL, 1) == [LoadState.BUSY, LoadState.FLOOD]
    began_ms = site.view.load.since
    assert NOON_MS < began_ms <= site.clock.now_ms()
    assert site.run(20 * USUAL, 30) == []
    # The rate is of the last minute, so it takes up to a minute to fall.
    assert site.run(USUAL, HOLD_MS / MINUTE_MS - 0.5) == []
    assert site.run(USUAL, 2) == [LoadState.NORMAL]
    load = site.view.load
    assert load.until is not UNSET
    assert (load.since, load.usual_per_minute, load.pages_per_minute) == (began_ms, USUAL, 20 * USUAL)


def test_three_times_the_usual_begins_nothing_and_ends_nothing() -> None:
    site = Installation()

    assert site.run(3 * USUAL, 10) == []
    assert site.run(5 * USUAL, 2) == [LoadState.BUSY]
    assert site.run(3 * USUAL, 20) == []
    for _ in range(6):
        # Pauses that are shorter than the hold time do not end it.
        assert site.run(0, 1.5) == []
        assert site.run(5 * USUAL, 1) == []


def test_another_process_continues_with_the_saved_state() -> None:
    site = Installation()
    site.run(20 * USUAL, 2)
    site.new_process()

    assert site.run(20 * USUAL, 5) == []
    assert site.run(USUAL, 4) == [LoadState.NORMAL]


def test_a_small_site_is_not_busy_with_few_pages_and_a_new_one_never() -> None:
    assert Installation(usual=1).run(140, 5) == []
    assert Installation(usual=1).run(200, 5) == [LoadState.BUSY]
    new = Installation()
    new.pages = {}
    assert new.run(5_000, 5) == []


def test_a_changed_clock_begins_nothing() -> None:
    site = Installation()
    site.run(USUAL, 5)
    for seconds in (3_600, -7_200, 10 * 86_400):
        site.clock.advance(seconds=seconds)
        assert site.run(USUAL, 3) == []


def test_the_usual_rate_is_the_median_of_the_same_hours_so_one_flood_does_not_raise_it() -> None:
    hours = {HOUR - hour: 600 for hour in range(1, 169)} | {HOUR - 24: 60_000, HOUR - 25: 60_000}

    assert usual_rate(hours, HOUR) == 10
    assert usual_rate({HOUR - hour: 600 for hour in range(1, 20)}, HOUR) is None
    assert usual_rate({}, HOUR) is None


@pytest.mark.parametrize(
    ("rate", "usual", "expected"),
    [
        (10_000, None, LoadState.NORMAL),
        (149, 0, LoadState.NORMAL),
        (150, 0, LoadState.BUSY),
        (300, 0, LoadState.FLOOD),
        (399, 100, LoadState.NORMAL),
        (400, 100, LoadState.BUSY),
        (1_000, 100, LoadState.FLOOD),
    ],
)
def test_the_state_depends_on_the_rate_and_its_multiple(rate: float, usual: float, expected: LoadState) -> None:
    assert state_of(rate, usual) is expected


def event(visitor: int, at_ms: int = NOON_MS, *, is_open_page: bool = True) -> Any:
    return SimpleNamespace(id=first_id(at_ms), visitor=visitor, site=SITE, is_open_page=is_open_page)


def test_an_address_counts_a_few_pages_a_minute() -> None:
    counts = PageCounts()

    assert counts.count([event(1)] * 1_000) == {SITE: MOST_OF_ADDRESS}
    assert counts.count([event(1)] * 1_000) == {}
    assert counts.count([event(visitor) for visitor in range(2, 12)]) == {SITE: 10}
    assert counts.count([event(1, NOON_MS + MINUTE_MS)] * 9) == {SITE: MOST_OF_ADDRESS}
    assert counts.count([event(99, is_open_page=False)]) == {}


def test_the_memory_of_addresses_is_bounded_and_a_larger_flood_still_counts() -> None:
    counts = PageCounts()
    crowd = [event(visitor) for visitor in range(MOST_ADDRESSES + 5_000)]

    assert counts.count(crowd) == {SITE: len(crowd)}
    assert len(counts._seen) == MOST_ADDRESSES
