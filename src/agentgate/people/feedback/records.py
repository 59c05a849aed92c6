"""Replies to "was this page helpful?", as readers send them and as operators read their counts."""

from typing import Annotated, Literal

from msgspec import Meta

from agentgate.lib import limits
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
