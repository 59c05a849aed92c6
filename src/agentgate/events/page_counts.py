"""PageCounts: page loads without a clearance, of each address at most some in a minute.

Counted when a batch of events is taken to be written, so that a check does not pay for it. The limit keeps a few
addresses from making a site look busy.
"""

from collections import Counter
from collections.abc import Iterable

from agentgate.events.decision_ids import id_time_ms
from agentgate.events.records import Recorded
from agentgate.lib.clock import MINUTE_MS

MOST_OF_ADDRESS = 5
# Memory is bounded. Further addresses of a minute count with all their pages.
MOST_ADDRESSES = 50_000


class PageCounts:
    """The addresses of the present minute, as one process sees them."""

    def __init__(self) -> None:
        self._minute = 0
        # By visitor, a number that is different at each site.
        self._seen: dict[int, int] = {}

    def count(self, batch: Iterable[Recorded]) -> Counter[int]:
        """Return how many pages of a batch count, by site."""
        pages: Counter[int] = Counter()
        seen = self._seen
        for event in batch:
            if not event.is_open_page or event.visitor is None:
                continue
            minute = id_time_ms(event.id) // MINUTE_MS
            if minute > self._minute:
                self._minute = minute
                seen.clear()
            before = seen.get(event.visitor, 0)
            if before >= MOST_OF_ADDRESS:
                continue
            if before or len(seen) < MOST_ADDRESSES:
                seen[event.visitor] = before + 1
            pages[event.site] += 1
        return pages
