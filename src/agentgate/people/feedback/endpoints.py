"""Feedback on the documentation over HTTP: readers send it, operators read the counts."""

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.limiter import Limiter, Window
from agentgate.people.feedback.repository import (
    DocsFeedbackReport,
    FeedbackInput,
    FeedbackQuery,
    FeedbackReceived,
    FeedbackStores,
)

PER_SOURCE = Window("docs-feedback", 20, HOUR_MS)


async def add_feedback(
    call: Call, body: FeedbackInput, store: Store[FeedbackStores], limiter: Limiter
) -> FeedbackReceived:
    """Rate a page of the documentation as helpful or not."""
    await limiter.require(PER_SOURCE, source_of(call.request.address))
    day = call.now // DAY_MS
    await store.change(lambda stores: stores.feedback.add_answer(body.page, day, helpful=body.helpful))
    return FeedbackReceived()


async def read_report(call: Call, query: FeedbackQuery, store: Store[FeedbackStores]) -> DocsFeedbackReport:
    """Count the feedback per page over the last days, most feedback first."""
    items = await store.read.feedback.list_counts(call.now // DAY_MS - query.days + 1)
    return DocsFeedbackReport(days=query.days, items=items)
