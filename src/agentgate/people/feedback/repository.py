"""Feedback on the documentation: as readers send it, as operators read its counts, and in SQL."""

from typing import Annotated, Literal, Protocol

from msgspec import Meta

from agentgate.lib import limits
from agentgate.lib.database import LockingRepository
from agentgate.lib.records import Input, Query, Record


class FeedbackInput(Input, frozen=True, kw_only=True):
    """Feedback about one page of the documentation."""

    page: Annotated[str, Meta(pattern=r"^/docs/[a-z0-9/_-]{0,200}\Z")]
    helpful: bool


class FeedbackReceived(Record, frozen=True, kw_only=True):
    """The feedback was stored."""

    status: Literal["received"] = "received"


class FeedbackQuery(Query, frozen=True, kw_only=True):
    """How many days back to count, today included."""

    days: Annotated[int, Meta(ge=limits.DOCS_FEEDBACK_DAYS.least, le=limits.DOCS_FEEDBACK_DAYS.most)] = (
        limits.DOCS_FEEDBACK_DAYS.default
    )


class DocsFeedback(Record, frozen=True, kw_only=True):
    """The feedback about one page."""

    page: str
    helpful: int
    not_helpful: int
    total: int


class DocsFeedbackReport(Record, frozen=True, kw_only=True):
    """The feedback per page, most feedback first."""

    days: int
    items: list[DocsFeedback]


MOST_PAGES = 1_000


class FeedbackStore(LockingRepository):
    """Counts per page and UTC day, without the identity of readers."""

    async def add_answer(self, page: str, day: int, *, helpful: bool) -> None:
        """Count one reply. Ignore pages beyond the limit, so that attackers cannot fill the store."""
        counted = (page, day, int(helpful), int(not helpful))
        updated = await self._session.run(
            """UPDATE docs_feedback SET helpful = helpful + $3, not_helpful = not_helpful + $4
                WHERE page = $1 AND day = $2""",
            *counted,
        )
        if updated:
            return
        # The lock keeps other requests from adding a page between counting pages and adding this one.
        await self._session.lock("docs_feedback")
        if await self._has_room_for(page):
            await self._session.run(
                """INSERT INTO docs_feedback (page, day, helpful, not_helpful) VALUES ($1, $2, $3, $4)
                    ON CONFLICT (page, day) DO UPDATE SET helpful = docs_feedback.helpful + excluded.helpful,
                        not_helpful = docs_feedback.not_helpful + excluded.not_helpful""",
                *counted,
            )

    async def list_counts(self, from_day: int) -> list[DocsFeedback]:
        """Return the counts of each page from a day on, pages with most replies first."""
        rows = await self._session.all(
            """SELECT page, sum(helpful), sum(not_helpful) FROM docs_feedback WHERE day >= $1
                GROUP BY page ORDER BY sum(helpful) + sum(not_helpful) DESC, page""",
            from_day,
        )
        return [
            DocsFeedback(page=page, helpful=int(yes), not_helpful=int(no), total=int(yes + no))
            for page, yes, no in rows
        ]

    async def _has_room_for(self, page: str) -> bool:
        row = await self._session.one(
            """SELECT (SELECT count(*) FROM docs_feedback WHERE page = $1),
                    (SELECT count(*) FROM (SELECT DISTINCT page FROM docs_feedback) AS pages)""",
            page,
        )
        assert row is not None  # a SELECT of counts alone has one row
        answers, pages = row
        return bool(answers > 0 or pages < MOST_PAGES)


class FeedbackStores(Protocol):
    """The repository that feedback uses."""

    feedback: FeedbackStore
