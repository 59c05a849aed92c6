"""RateWindows: how much a visitor and its network did within the last minute, over all workers: pages, forms, calls.

Subresources are paid from a budget (`part_budget.py`); files are counted separately and change no other count. Counting
is local; `RateSharing` returns the counts of the other workers.
"""

from msgspec import Struct

from agentgate.decision.rates.count_board import CountBoard
from agentgate.decision.rates.exchange import RateExchange
from agentgate.decision.rates.part_budget import PER_PAGE, PartBudget
from agentgate.decision.rates.sharing import Key, RateSharing, SharedCount
from agentgate.decision.signals.facts import (
    NETWORK_EXTREME,
    NETWORK_HIGH,
    VISITOR_EXTREME,
    VISITOR_HIGH,
    PartState,
    Rates,
)
from agentgate.http.address import subnet_of
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE

# Both windows together.
MOST_KEYS = 200_000
# Lowest count that is worth a call. A smaller count, times the workers, is still below every mark.
SHARED_FROM = 3
# Bounds of one sync: keys in all, those with most to tell first, and at once.
MOST_SHARED = 2_000
SHARED_AT_ONCE = 500
# How many syncs after the start of a minute still complete the one before.
LATE_SYNCS = 2

# Files of an address or clearance a minute: without an allowed page, and with one.
FREE_FILES_PER_MINUTE, FILES_PER_MINUTE = 1_200, 18_000
# Fetches and parts without a file extension ("loose": the target may be a page) count as pages of an address without a
# clearance. So its navigations are challenged earlier, by half of the loose requests and at most by so many, and the
# pages that were allowed still load.
MOST_RESERVED = 40
# Calls a minute of all clearances of an address: fetches and parts beyond the budget of their page.
CALLS_PER_MINUTE = 600
# All clearances of an address share a limit for so many browsers. Each further browser raises it, up to the most.
BROWSERS_OF_A_LIMIT, MOST_BROWSERS = 50, 400
# Clearances that an address gets in an hour without the visible check (`browser_check/budgets`).
SILENT_CLEARANCES = 120
# Below so many pages within two minutes no browsers are counted.
CROWD_FROM = 60
# Loose requests a minute for targets that the address has loaded within the last minute. They open no new page.
REPEATS_PER_MINUTE = 600
# Limit on such targets of all addresses in the young generation. The previous generation holds as many.
REPEATABLE = 100_000
# Parts without a file extension a minute of a visitor without an open page: pictures that another site shows.
FREE_PARTS_PER_MINUTE = 12
# Requests a minute that all clients of an unproven program's name share on a site.
NAME_PER_MINUTE = 20
# A page is known to the other workers for so long at least, and twice that at most.
PAGES_SLOT_MS = 10 * MINUTE_MS
# Limit on the budgets of the young generation. The previous generation holds as many.
BUDGETS = 50_000

# The counts at which a label or the gateway's limit begins.
VISITOR_MARKS = (VISITOR_HIGH, VISITOR_EXTREME, GATEWAY_REQUESTS_PER_MINUTE + 1)
NETWORK_MARKS = (NETWORK_HIGH, NETWORK_EXTREME)
# A visitor's number in its key.
_NUMBER = 0xFFFF_FFFF_FFFF_FFFF


class _Window(SharedCount, gc=False):
    """The present window of one visitor or network, in one place: every check at the gateway counts in two of them."""

    # Files, loose requests and their repetitions, and navigations over the limit, of this worker alone.
    files: int = 0
    loose: int = 0
    repeats: int = 0
    refused: int = 0
    # Parts without a file extension that no page had.
    orphans: int = 0
    # The same of the minute before.
    loose_before: int = 0
    refused_before: int = 0
    # Of the clearances of an address: which ones came, by User-Agent, how many of them count as a browser, and the
    # browsers of this minute or the one before that raise the limit.
    clearances: dict[int, set[int]] | None = None
    browsers: int = 0
    crowd: int = BROWSERS_OF_A_LIMIT

    def rate(self, rest_ms: int) -> int:
        """Return the sum, at least 1; in a crowd, what it is for the browsers of a limit."""
        return self.sum(rest_ms) * BROWSERS_OF_A_LIMIT // self.crowd or 1

    def allowance(self, most: int) -> int:
        """Return a ceiling for the browsers that came."""
        return most * self.crowd // BROWSERS_OF_A_LIMIT

    def add_browser(self, user_agent: int, clearance: int, silent: int) -> None:
        """Count a browser with a clearance.

        One browser may have collected clearances, and the browsers of an office are alike. So of one User-Agent,
        clearances count within one limit, and again beyond the `silent` ones, which an address gets without the visible
        check while the first of them is valid.
        """
        if self.own + self.before < CROWD_FROM or self.browsers == MOST_BROWSERS:
            return
        if self.clearances is None:
            self.clearances = {}
        same = self.clearances.setdefault(user_agent, set())
        if clearance in same:
            return
        same.add(clearance)
        if len(same) <= BROWSERS_OF_A_LIMIT or len(same) > silent:
            self.browsers += 1
            self.crowd = max(self.crowd, self.browsers)


# The window of a visitor that has not been counted yet. Nothing is counted in it.
NO_WINDOW = _Window()


class Counted(Struct, eq=False, gc=False):
    """A visitor of a site who is counted again and again, with its windows of the present minute.

    It refers to nothing that refers back to it, so the garbage collection need not look at all of them.
    """

    site: int
    number: int
    # The address whose network includes this visitor's requests in its count.
    network_address: str
    window: _Window
    # The number of the minute that the windows belong to, not the minute itself: idle visitors would keep it alive.
    turn: int = -1
    network: _Window | None = None
    # The part budget of the last fingerprint, and that fingerprint.
    budget: PartBudget | None = None
    tag: int = -1
    # Whether it counts the clearances of an address; hashes of the one that a check gave, and of its User-Agent.
    is_cleared: bool = False
    clearance: int = 0
    clearance_id: str = ""
    user_agent: int = 0

    # The keys are computed on demand. They are rarely needed, and the keys of 200,000 visitors would use much of a
    # worker's memory.

    @property
    def key(self) -> int:
        """The key under which the visitor is counted."""
        return self.site << 64 | self.number & _NUMBER

    @property
    def network_key(self) -> Key:
        return network_key(self.site, self.network_address)


class RateWindows:
    """Two one-minute windows per key. The last minute is the present window and the rest of the one before."""

    __slots__ = (
        "_before", "_budgets", "_calls", "_end_ms", "_files", "_late_syncs", "_loaded", "_minute", "_minute_before",
        "_most_keys", "_pages", "_present", "_sharing", "_silent", "_turns",
    )  # fmt: skip

    def __init__(
        self,
        most_keys: int = MOST_KEYS,
        *,
        sharing: RateSharing | None = None,
        pages: CountBoard | None = None,
        clearance_s: int = 0,
    ) -> None:
        self._most_keys = most_keys // 2
        # Clearances that one browser can have at the same time: the silent ones of each hour that they are valid.
        self._silent = SILENT_CLEARANCES * max(1, -(-clearance_s * SECOND_MS // HOUR_MS))
        # None where no other process counts.
        self._sharing = sharing
        self._pages = pages
        self._late_syncs = 0
        self._minute = self._minute_before = 0
        # Until when the present window counts.
        self._end_ms = MINUTE_MS
        self._turns = 0
        self._present: dict[Key, _Window] = {}
        self._before: dict[Key, _Window] = {}
        self._budgets: BoundedCache[Key, PartBudget] = BoundedCache(BUDGETS)
        # The share of each worker in ceilings that are counted locally.
        workers = 1 if sharing is None else sharing.workers
        self._files = FILES_PER_MINUTE // workers
        self._calls = CALLS_PER_MINUTE // workers
        # By visitor and target, when it was last loaded.
        self._loaded: BoundedCache[int, int] = BoundedCache(REPEATABLE)

    def count(self, site: int, visitor: int, address: str, now_ms: int) -> Rates:
        """Count a request and return the rates, this one included."""
        return Rates(*self.count_again(Counted(site, visitor, address, NO_WINDOW), now_ms))

    def count_again(self, counted: Counted, now_ms: int) -> tuple[int, int]:
        """Count a request of a cached visitor; return the rates of visitor and network, this request included."""
        if now_ms >= self._end_ms:
            self._turn(now_ms // MINUTE_MS)
        if counted.turn != self._turns:
            self._find(counted)
        window, network = counted.window, counted.network
        window.own += 1
        if window.own >= window.ask_at:
            self._ask(window, VISITOR_MARKS, now_ms)
        if network is not None:
            network.own += 1
            if network.own >= network.ask_at:
                self._ask(network, NETWORK_MARKS, now_ms)
        return self._rates(counted, now_ms)

    def count_file(self, counted: Counted, tag: int, now_ms: int) -> tuple[int, int, PartState]:
        """Count a file; return the rates as they are, and whether an allowed page may have it."""
        window = self._current(counted, now_ms)
        window.files += 1
        budget = self._budget_of(counted, tag, now_ms)
        has_page = budget.has_page(now_ms) or self._has_page_elsewhere(counted.key ^ tag, budget, now_ms)
        state = PartState.PAID if has_page else PartState.ORPHAN
        if window.files > (window.allowance(self._files) if has_page else FREE_FILES_PER_MINUTE):
            state = PartState.OVER
        return *self._rates(counted, now_ms), state

    def count_page(self, counted: Counted, rate: int, now_ms: int) -> int:
        """Return the rate of a navigation that was counted, with what the pages before it may still load."""
        if counted.is_cleared:
            return rate
        window, rest_ms = counted.window, MINUTE_MS - now_ms % MINUTE_MS
        loose = window.loose + window.loose_before * rest_ms // MINUTE_MS
        rate += min(loose // 2, MOST_RESERVED)
        window.refused += rate >= VISITOR_HIGH
        return rate

    def count_part(self, counted: Counted, tag: int, target: int | None, now_ms: int) -> tuple[int, int, PartState]:
        """Take a part without a file extension out of its page's budget; past that, count it as a page or a call.

        `target` is the hash of what it asks for; None where headers may name something else.
        """
        window, budget = self._current(counted, now_ms), self._budget_of(counted, tag, now_ms)
        if self._spend(counted.key ^ tag, budget, now_ms):
            if counted.is_cleared:
                return *self._rates(counted, now_ms), PartState.PAID
            return self._count_loose(counted, target, PartState.PAID, now_ms)
        if counted.is_cleared:
            return self._count_call(counted, now_ms)
        window.orphans += not budget.has_page(now_ms)
        # Without the counts of pages at other machines, the page may have been opened at one of them.
        is_over = window.orphans > FREE_PARTS_PER_MINUTE and (self._sharing is None or self._pages is not None)
        return self._count_loose(counted, target, PartState.OVER if is_over else PartState.COUNTED, now_ms)

    def count_fetch(self, counted: Counted, tag: int, target: int | None, now_ms: int) -> tuple[int, int, PartState]:
        """Count a script's call. With a clearance a page pays for it, as for any target without a file extension."""
        if counted.is_cleared:
            return self.count_part(counted, tag, target, now_ms)
        self._current(counted, now_ms)
        return self._count_loose(counted, target, PartState.COUNTED, now_ms)

    def _count_call(self, counted: Counted, now_ms: int) -> tuple[int, int, PartState]:
        """Count a call with a clearance. Calls have a separate ceiling: they must not use up the pages."""
        window = counted.window
        window.loose += 1
        state = PartState.COUNTED if window.loose <= window.allowance(self._calls) else PartState.OVER
        if counted.network is not None:
            counted.network.own += 1
            if counted.network.own >= counted.network.ask_at:
                self._ask(counted.network, NETWORK_MARKS, now_ms)
        return *self._rates(counted, now_ms), state

    def _count_loose(
        self, counted: Counted, target: int | None, state: PartState, now_ms: int
    ) -> tuple[int, int, PartState]:
        """Count as a page, unless the visitor was allowed the same target just before."""
        window, rest_ms = counted.window, MINUTE_MS - now_ms % MINUTE_MS
        key = hash((counted.key, target))
        at_ms = None if target is None else self._loaded.get(key)
        visitor, network = self._rates(counted, now_ms)
        if at_ms is not None and now_ms - at_ms < MINUTE_MS and window.repeats < REPEATS_PER_MINUTE:
            # The limits allowed this target before: it is nothing new.
            window.repeats += 1
            return min(visitor, VISITOR_HIGH - 1), min(network, NETWORK_HIGH - 1), state
        # Navigations over the limit were challenged.
        refused = window.refused + window.refused_before * rest_ms // MINUTE_MS
        if visitor - refused >= VISITOR_HIGH - 1:
            # The rules block it. Counted too, it would only make others wait longer.
            return max(visitor, VISITOR_HIGH), network, state
        window.loose += 1
        visitor, network = self.count_again(counted, now_ms)
        if state is not PartState.OVER and network < NETWORK_HIGH and target is not None:
            self._loaded.put(key, now_ms)
        return visitor - refused, network, state

    def has_room(self, site: int, name: str, most: int, now_ms: int) -> bool:
        """Count a request against a budget that several clients of a site share; return whether it had room."""
        if now_ms >= self._end_ms:
            self._turn(now_ms // MINUTE_MS)
        key, marks = f"{site}={name}", (most,)
        window = self._present.get(key)
        if window is None:
            window = self._open(key)
            if self._sharing is not None:
                window.ask_at = self._sharing.first_ask(marks, window.before)
        if window.own + 1 >= window.ask_at:
            self._ask(window, marks, now_ms)
        if window.sum(MINUTE_MS - now_ms % MINUTE_MS) >= most:
            return False
        window.own += 1
        return True

    def earn(self, counted: Counted, tag: int, now_ms: int) -> None:
        """Note that a page was allowed: requests with its fingerprint may load its parts."""
        budget = self._budget_of(counted, tag, now_ms)
        budget.earn(now_ms)
        if self._pages is not None:
            slot = now_ms // PAGES_SLOT_MS
            if budget.place.slot != slot:
                budget.place = self._pages.find(counted.key ^ tag, slot)
            self._pages.add(budget.place)
            budget.pages += 1

    def _spend(self, key: int, budget: PartBudget, now_ms: int) -> bool:
        """Take a part out of a budget, after looking whether another worker allowed its page."""
        if not budget.has_page(now_ms):
            self._has_page_elsewhere(key, budget, now_ms)
        if budget.spend(now_ms):
            return True
        return self._has_page_elsewhere(key, budget, now_ms) and budget.spend(now_ms)

    def _has_page_elsewhere(self, key: int, budget: PartBudget, now_ms: int) -> bool:
        if self._pages is not None:
            pages = sum(self._pages.sums(self._pages.find(key, now_ms // PAGES_SLOT_MS)))
            budget.earn_elsewhere(pages, now_ms)
        return budget.has_page(now_ms)

    def _current(self, counted: Counted, now_ms: int) -> _Window:
        if now_ms >= self._end_ms:
            self._turn(now_ms // MINUTE_MS)
        if counted.turn != self._turns:
            self._find(counted)
        return counted.window

    def _find(self, counted: Counted) -> None:
        counted.turn = self._turns
        key, network_key = counted.key, counted.network_key
        counted.window = self._present.get(key) or self._open(key)
        counted.network = self._present.get(network_key) or self._open(network_key)
        if counted.clearance:
            counted.window.add_browser(counted.user_agent, counted.clearance, self._silent)

    def _budget_of(self, counted: Counted, tag: int, now_ms: int) -> PartBudget:
        """Return the budget of a visitor's fingerprint."""
        if counted.budget is not None and counted.tag == tag:
            return counted.budget
        key = counted.key ^ tag
        budget = self._budgets.get(key)
        if budget is None:
            budget = PartBudget(0, now_ms)
            if counted.is_cleared:
                # The page on which the check was passed is open, and it was loaded under the address.
                budget = PartBudget(PER_PAGE, now_ms, page_ms=now_ms)
            self._budgets.put(key, budget)
        counted.budget, counted.tag = budget, tag
        return budget

    def _rates(self, counted: Counted, now_ms: int) -> tuple[int, int]:
        rest_ms = MINUTE_MS - now_ms % MINUTE_MS
        rate = counted.window.rate(rest_ms)
        # Without a network, use the visitor's own rate. A different rate would require a new decision on its requests.
        return rate, rate if counted.network is None else counted.network.rate(rest_ms)

    def read(self, site: int, visitor: int, address: str, now_ms: int) -> Rates:
        """Return the rates without counting: the request belongs to one that was counted."""
        if now_ms // MINUTE_MS > self._minute:
            self._turn(now_ms // MINUTE_MS)
        rest_ms = MINUTE_MS - now_ms % MINUTE_MS
        return Rates(self._sum(visitor_key(site, visitor), rest_ms), self._sum(network_key(site, address), rest_ms))

    async def sync(self, exchange: RateExchange) -> None:
        """Exchange the counts since the last time with the other workers."""
        try:
            await self._sync_before(exchange)
            await self._tell(exchange, self._minute, self._present, unchanged=False)
        except StoreUnavailable:
            # Counts that were not sent are sent the next time; until then this worker's own counts apply.
            return

    async def _sync_before(self, exchange: RateExchange) -> None:
        """Complete the minute that has just ended: all workers have to agree on what is left of it."""
        if not self._late_syncs:
            return
        self._late_syncs -= 1
        before, present = self._before, self._present
        for each in await self._tell(exchange, self._minute - 1, before, unchanged=True):
            if (window := present.get(each.key)) is not None:
                window.before = each.own + each.others

    async def _tell(
        self, exchange: RateExchange, minute: int, windows: dict[Key, _Window], *, unchanged: bool
    ) -> list[_Window]:
        """Exchange the windows that have grown, or all; return them."""
        shared = [each for each in windows.values() if each.own >= SHARED_FROM and (unchanged or each.own > each.told)]
        shared.sort(key=lambda each: each.told - each.own)
        del shared[MOST_SHARED:]
        for start in range(0, len(shared), SHARED_AT_ONCE):
            await exchange.tell(minute, shared[start : start + SHARED_AT_ONCE])
        return shared

    def __len__(self) -> int:
        return len(self._present) + len(self._before)

    def _open(self, key: Key) -> _Window:
        window = self._present[key] = _Window(key=key)
        before = self._before.get(key)
        if before is not None:
            window.before = before.own + before.others
            window.loose_before, window.refused_before = before.loose, before.refused
            window.crowd = max(before.browsers, BROWSERS_OF_A_LIMIT)
        if self._sharing is not None:
            if before is not None:
                self._sharing.finish(self._minute_before, before)
            marks = VISITOR_MARKS if isinstance(key, int) else NETWORK_MARKS
            window.ask_at = self._sharing.first_ask(marks, window.before)
        if len(self._present) >= self._most_keys:
            # There is no more room in it.
            self._end_ms = 0
        return window

    def _count_before(self, key: Key) -> int:
        before = self._before.get(key)
        return 0 if before is None else before.own + before.others

    def _sum(self, key: Key, rest_ms: int) -> int:
        window = self._present.get(key)
        if window is not None:
            return window.rate(rest_ms)
        # At least the request that this belongs to.
        return max(1, self._count_before(key) * rest_ms // MINUTE_MS)

    def _turn(self, minute: int) -> None:
        """Start a window. Drop the window before the last, and also the last one if it ended over a minute ago."""
        self._before = {} if minute > self._minute + 1 else self._present
        self._late_syncs = LATE_SYNCS if minute > self._minute else 0
        self._minute_before = self._minute
        self._present = {}
        self._turns += 1
        # A clock that was set back must not start a window for each request.
        self._minute = max(minute, self._minute)
        self._end_ms = (self._minute + 1) * MINUTE_MS

    def _ask(self, window: _Window, marks: tuple[int, ...], now_ms: int) -> None:
        if self._sharing is not None:
            self._sharing.ask(self._minute, window, rest_ms=MINUTE_MS - now_ms % MINUTE_MS, marks=marks)


def visitor_key(site: int, visitor: int) -> int:
    return site << 64 | visitor & _NUMBER


def network_key(site: int, address: str) -> Key:
    return f"{site}:{subnet_of(address)}"
