"""What feedback asks of the durable store."""

from typing import Protocol

from agentgate.people.feedback.records import PageCounts


class FeedbackStore(Protocol):
    """Counts per page and UTC day; who answered is not kept."""

    async def add_answer(self, page: str, day: int, *, helpful: bool) -> None:
        """Count one answer. A page that is one too many is ignored, so that nobody can fill the store."""
        ...

    async def list_counts(self, from_day: int) -> list[PageCounts]:
        """Return the counts of each page from a day on, most answered first."""
        ...


class FeedbackStores(Protocol):
    """The port that feedback uses."""

    @property
    def feedback(self) -> FeedbackStore: ...
