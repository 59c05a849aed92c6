"""Compares each site's page loads with its usual ones, and saves when a site becomes busy and when that ends.

Every worker counts page loads without a clearance (`events/page_counts.py`); one process reads the totals. All workers
and nodes learn of a change as of any change of the site.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from statistics import median

import structlog
from msgspec import UNSET, Struct
from msgspec.structs import replace

from agentgate.lib.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Clock
from agentgate.lib.database import EventsUnavailable, Store, within_events_wait
from agentgate.lib.enums import LoadState
from agentgate.lib.moment import Moment
from agentgate.lib.tasks.job import Job
from agentgate.sites.directory import SiteDirectory, SiteView
from agentgate.sites.records import SiteLoad
from agentgate.sites.repository import PageCounts, SiteHealthStore, SiteStores

INTERVAL_MS = 10 * SECOND_MS
# Pages a minute, and multiples of the usual rate, from which on a state begins, and below which all end.
LEAST = {LoadState.BUSY: (150, 4), LoadState.FLOOD: (300, 10)}
CALM_PAGES, CALM_FACTOR = 75, 2
# A state ends when the rate was calm for so long.
HOLD_MS = 2 * MINUTE_MS
# A rate covers the last minute, and at least this time.
LEAST_SPAN_MS = 15 * SECOND_MS
# The usual rate: of this hour of the day, the one before and the one after, in the last days. Not known before that.
USUAL_DAYS, LEAST_HOURS = 7, 24


class _PageReading(Struct, frozen=True):
    """The totals of all sites at a moment: pages by site and hour."""

    now_ms: int
    pages: PageCounts


class SiteLoads:
    """Finds the sites that become busy or calm."""

    def __init__(
        self, store: Store[SiteStores], counts: SiteHealthStore, directory: SiteDirectory, clock: Clock
    ) -> None:
        self._store = store
        self._counts = counts
        self._directory = directory
        self._clock = clock
        self._readings: deque[_PageReading] = deque(maxlen=MINUTE_MS // INTERVAL_MS + 1)
        # Of sites that are not in the normal state: since when the rate is calm, and the highest rate.
        self._calm_ms: dict[int, int] = {}
        self._peaks: dict[int, float] = {}
        # By site and hour; of the present hour only.
        self._usual: dict[tuple[int, int], float | None] = {}

    async def compare(self) -> None:
        """Read the counts, and save the states that change."""
        now_ms = self._clock.now_ms()
        try:
            # The oldest reading is not older than that.
            pages = await within_events_wait(self._counts.list_pages((now_ms - 2 * MINUTE_MS) // HOUR_MS))
        except EventsUnavailable:
            return
        readings = self._readings
        if readings and not 0 < now_ms - readings[-1].now_ms <= MINUTE_MS:
            # The clock was changed, or another process did this in the meantime.
            readings.clear()
        readings.append(_PageReading(now_ms, pages))
        span_ms = now_ms - readings[0].now_ms
        if span_ms < LEAST_SPAN_MS:
            return
        rates = {
            site: pages * MINUTE_MS / span_ms
            for site, pages in _increase(readings[0].pages, readings[-1].pages).items()
        }
        loaded = {view.number for view in self._directory.list_loaded()}
        least = LEAST[LoadState.BUSY][0]
        for number in loaded.union(number for number, rate in rates.items() if rate >= least):
            view = self._directory.find_by_number(number)
            if view is not None and not view.disabled:
                await self._compare_site(view, rates.get(number, 0.0), now_ms)

    async def _compare_site(self, view: SiteView, rate: float, now_ms: int) -> None:
        number, before = view.number, view.load
        state = LoadState.NORMAL if before is None else before.state
        if state is not LoadState.NORMAL and before is not None:
            peak = self._peaks[number] = max(rate, self._peaks.get(number, before.pages_per_minute))
            usual: float | None = before.usual_per_minute
            if rate >= max(CALM_PAGES, CALM_FACTOR * (usual or 0)):
                self._calm_ms.pop(number, None)
            elif now_ms - self._calm_ms.setdefault(number, now_ms) >= HOLD_MS:
                ended = replace(before, state=LoadState.NORMAL, until=Moment(now_ms), pages_per_minute=round(peak))
                await self._save(view, ended)
                del self._calm_ms[number], self._peaks[number]
                return
        else:
            usual = await self._read_usual(number, now_ms // HOUR_MS)
        found = state_of(rate, usual)
        if found is LoadState.FLOOD and state is LoadState.BUSY and before is not None:
            await self._save(view, replace(before, state=found, pages_per_minute=round(self._peaks[number])))
        elif found is not LoadState.NORMAL and state is LoadState.NORMAL:
            began = SiteLoad(
                state=found,
                since=Moment(now_ms),
                until=UNSET,
                pages_per_minute=round(rate),
                usual_per_minute=round(usual or 0),
            )
            await self._save(view, began)

    async def _read_usual(self, number: int, hour: int) -> float | None:
        key = (number, hour)
        if key not in self._usual:
            if any(known != hour for _, known in self._usual):
                self._usual.clear()
            hours = await self._counts.list_page_hours(number, hour - 24 * USUAL_DAYS - 1, hour)
            self._usual[key] = usual_rate(hours, hour)
        return self._usual[key]

    async def _save(self, view: SiteView, load: SiteLoad) -> None:
        async def work(stores: SiteStores) -> None:
            await stores.sites.save_load(view.id, load)
            await stores.configuration.bump_site(view.id)

        await self._store.change(work)
        structlog.get_logger().info(
            "a site's load changed",
            site=view.site_key,
            state=load.state.value,
            pages_per_minute=load.pages_per_minute,
            usual_per_minute=load.usual_per_minute,
        )


def state_of(rate: float, usual: float | None) -> LoadState:
    """Return the state of a site in the normal state; without a known usual rate, normal."""
    if usual is None:
        return LoadState.NORMAL
    reached = [state for state, (pages, factor) in LEAST.items() if rate >= max(pages, factor * usual)]
    return reached[-1] if reached else LoadState.NORMAL


def usual_rate(hours: Mapping[int, int], hour: int) -> float | None:
    """Return the usual pages a minute of an hour: the median of the same hours before; None on a site's first day."""
    first = min(hours, default=hour)
    if hour - first < LEAST_HOURS:
        return None
    same = [hour - 24 * day + near for day in range(1, USUAL_DAYS + 1) for near in (-1, 0, 1)]
    return median(hours.get(each, 0) for each in same if each >= first) / 60


def _increase(before: PageCounts, after: PageCounts) -> dict[int, int]:
    """Return how many pages were added, by site. Totals of an hour before `before` was read are in neither."""
    added: dict[int, int] = {}
    for (site, hour), pages in after.items():
        more = pages - before.get((site, hour), 0)
        if more > 0:
            added[site] = added.get(site, 0) + more
    return added


def load_jobs(loads: SiteLoads) -> Sequence[Job]:
    return (Job(name="compare-load", interval_ms=INTERVAL_MS, work=loads.compare, guarded=False),)
