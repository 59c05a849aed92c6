"""The store of events, as the recorder and the jobs use it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from agentgate.events.records import Count, Recorded


class Batching(NamedTuple):
    """How events are put together for one write: after how long, at how many at once, and how many at most."""

    # A crash loses no event that is older than 200 ms.
    flush_s: float = 0.15
    enough: int = 4_000
    # When more waits than is enough, it is written together: a large commit costs less for each event.
    most: int = 8_000
    # How often what leaves no event is added up in the store. At a low rate, commits are most of what events cost.
    counts_s: float = 1.0


USUAL_BATCHING = Batching()


class EventStore(Protocol):
    """Keeps events by day, with the counters that belong to them."""

    async def write(self, events: Sequence[Recorded], *, again: bool = False) -> None:
        """Store events of one UTC day with all their counters, in one commit: all of them or none.

        `again` means that an earlier attempt may have been committed: then nothing is written twice. Raises
        StoreUnavailable if the events could not be stored.
        """

    async def add_counts(self, counts: Sequence[Count]) -> None:
        """Add to the hourly counters."""

    async def list_days(self) -> list[int]:
        """Return the UTC days (since 1970) that have events, oldest first."""

    async def close_days(self, *, now_ms: int) -> list[int]:
        """Roll up every day that has ended and is not rolled up as it is now; return which. May be repeated."""

    async def forget(self, *, events_before_day: int, metrics_before_day: int) -> None:
        """Remove events before `events_before_day` and aggregates before `metrics_before_day`."""

    async def forget_features(self, site: int, *, before_id: int) -> None:
        """Remove the feature vectors of a site's decisions before an ID."""

    async def forget_site(self, site: int) -> None:
        """Remove everything that was recorded about a site."""
