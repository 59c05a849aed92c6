"""PartBudget: how many parts of pages an address may still load, for the pages that it was allowed.

A request for a subresource is not challenged, since it could not answer. So claiming to be one must not give access to
pages: the budget is small without an allowed page, and grows with each page. Only parts that could be
a page are counted: a path that names a file (`/a.png`) is none.
"""

from enum import IntEnum

from msgspec import Struct

from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.protection.signals.count_board import NOWHERE, BoardPlace


class PartState(IntEnum):
    """How a request was counted. From `PAID` on it is a part of a page."""

    # Counts as a page, form or call.
    COUNTED = 0
    # As a script's call, out of the budget of its page.
    FETCHED = 1
    # A part of allowed pages, of no page, or beyond the budget.
    PAID = 2
    ORPHAN = 3
    OVER = 4


# Pages of most sites have fewer parts that do not name a file.
PER_PAGE = 150
# Of an address that opened no page: pictures that another site shows, or a page that came over another address. The
# second where a page may have been opened at another worker, and that cannot be learnt.
FREE, FREE_UNKNOWN = 12, 400
# An open page goes on loading: as long as it may be open, so many a minute, up to PER_PAGE.
OPEN_MS = HOUR_MS
OPEN_PER_MINUTE, FREE_PER_MINUTE = 90, 6
# Files, of an address that opened no page.
FREE_FILES_PER_MINUTE = 1_200
# Two people's pages a second.
MOST = 120 * PER_PAGE


class PartBudget(Struct, gc=False):
    """The budget of one address, or of one clearance."""

    # The budget without a page.
    free: int
    left: int
    # When `left` was last brought up to date.
    at_ms: int
    # When the last page was allowed; 0 for never.
    page_ms: int = 0
    # Of several workers: how many pages of all of them are in it.
    pages: int = 0
    # Where those of this worker are counted.
    place: BoardPlace = NOWHERE

    def earn(self, now_ms: int) -> None:
        """Note that a page was allowed."""
        if now_ms - self.at_ms >= MINUTE_MS:
            self._refill(now_ms)
        self.page_ms = now_ms
        if self.left < MOST:
            self.left += PER_PAGE

    def earn_elsewhere(self, pages: int, now_ms: int) -> None:
        """Take over how many pages all workers allowed."""
        for _ in range(min(pages - self.pages, MOST // PER_PAGE)):
            self.earn(now_ms)
        self.pages = pages

    def has_page(self, now_ms: int) -> bool:
        """Return whether a page may still be open."""
        return self.page_ms > 0 and now_ms - self.page_ms < OPEN_MS

    def spend(self, now_ms: int) -> PartState:
        """Take a part out of the budget."""
        if now_ms - self.at_ms >= MINUTE_MS or self.left <= 0:
            self._refill(now_ms)
        if self.left <= 0:
            return PartState.OVER
        self.left -= 1
        return PartState.PAID if self.has_page(now_ms) else PartState.ORPHAN

    def _refill(self, now_ms: int) -> None:
        """Add the budget of the elapsed time; the rest of earlier pages is halved with each minute."""
        has_page = self.has_page(now_ms)
        room, rate = (PER_PAGE, OPEN_PER_MINUTE) if has_page else (self.free, self._free_per_minute())
        passed_ms = now_ms - self.at_ms
        if self.left > room:
            # Whole minutes only, so that a page's new budget is not reduced at once.
            minutes = passed_ms // MINUTE_MS
            self.left = max(room, self.left >> min(minutes, 62))
            self.at_ms += minutes * MINUTE_MS
            return
        more = passed_ms * rate // MINUTE_MS
        if more > 0:
            self.left = min(room, max(self.left, 0) + more)
            self.at_ms = now_ms

    def _free_per_minute(self) -> int:
        """Return a worker's share, in proportion to its share of the first budget."""
        return max(1, FREE_PER_MINUTE * min(self.free, FREE) // FREE)
