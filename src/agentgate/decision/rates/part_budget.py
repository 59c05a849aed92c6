"""PartBudget: how many subresources without a file extension a visitor may still load for the pages it was allowed.

Such a target could be a page. So only an allowed navigation earns a budget, and only requests with the fingerprint of
that navigation spend it. Files (`/a.png`) are counted apart (`rates.py`).
"""

from msgspec import Struct

from agentgate.decision.rates.count_board import NOWHERE, BoardPlace
from agentgate.lib.clock import HOUR_MS, MINUTE_MS

# Subresources without a file extension that a page may have.
PER_PAGE = 30
# An open page continues to load: while it may be open, so many a minute, up to PER_PAGE.
OPEN_MS = HOUR_MS
OPEN_PER_MINUTE = 18
# Two people's pages a second.
MOST = 120 * PER_PAGE


class PartBudget(Struct, gc=False):
    """The budget of one fingerprint of an address, or of a clearance."""

    left: int
    # When `left` was last brought up to date.
    at_ms: int
    # When the last page was allowed; 0 for never.
    page_ms: int = 0
    # Of several workers: how many pages of all of them are in it.
    pages: int = 0
    # The entry in which this worker counts its pages.
    place: BoardPlace = NOWHERE

    def earn(self, now_ms: int) -> None:
        """Note that a page was allowed."""
        if now_ms - self.at_ms >= MINUTE_MS:
            self._refill(now_ms)
        self.page_ms = now_ms
        if self.left < MOST:
            self.left += PER_PAGE

    def earn_elsewhere(self, pages: int, now_ms: int) -> None:
        """Add the pages that other workers allowed."""
        for _ in range(min(pages - self.pages, MOST // PER_PAGE)):
            self.earn(now_ms)
        self.pages = pages

    def has_page(self, now_ms: int) -> bool:
        """Return whether a page may still be open."""
        return self.page_ms > 0 and now_ms - self.page_ms < OPEN_MS

    def spend(self, now_ms: int) -> bool:
        """Take a part out of the budget; return whether a page paid for it."""
        if now_ms - self.at_ms >= MINUTE_MS or self.left <= 0:
            self._refill(now_ms)
        if self.left <= 0 or not self.has_page(now_ms):
            return False
        self.left -= 1
        return True

    def _refill(self, now_ms: int) -> None:
        """Add the budget of the elapsed time; the rest of earlier pages is halved with each minute."""
        passed_ms = now_ms - self.at_ms
        if self.left > PER_PAGE:
            # Whole minutes only, so that a page's new budget is not reduced at once.
            minutes = passed_ms // MINUTE_MS
            self.left = max(PER_PAGE, self.left >> min(minutes, 62))
            self.at_ms += minutes * MINUTE_MS
            return
        more = passed_ms * OPEN_PER_MINUTE // MINUTE_MS if self.has_page(now_ms) else 0
        if more > 0:
            self.left = min(PER_PAGE, max(self.left, 0) + more)
            self.at_ms = now_ms
