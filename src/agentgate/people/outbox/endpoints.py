"""The outbox over HTTP, for operators."""

from typing import Annotated

from msgspec import Meta

from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.database import Store
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, optional, optional_moment
from agentgate.people.outbox.messages import Messenger
from agentgate.people.outbox.records import OutboxList, OutboxMessage, StoredMessage
from agentgate.people.outbox.repository import OutboxStores


class OutboxQuery(Query, frozen=True, kw_only=True):
    """How many messages to show."""

    limit: Annotated[int, Meta(ge=limits.OUTBOX_LIMIT.least, le=limits.OUTBOX_LIMIT.most)] = limits.OUTBOX_LIMIT.default


async def list_messages(call: Call, query: OutboxQuery, store: Store[OutboxStores], messenger: Messenger) -> OutboxList:
    """List messages that were sent or are to be sent, newest first.

    Bodies hold one-time links: whoever reads this can act as the recipient. Once a link is used, replaced or expired
    the body is empty.
    """
    items = [_record(message, messenger) for message in await store.read.outbox.list_messages(query.limit)]
    # Reading other people's links leaves a trace with the reader's name.
    call.log["links_read"] = sum(item.body != "" for item in items)
    return OutboxList(items=items)


def _record(message: StoredMessage, messenger: Messenger) -> OutboxMessage:
    return OutboxMessage(
        id=message.id,
        to=message.recipient,
        kind=message.kind,
        subject=message.subject,
        body=messenger.read_text(message),
        status=message.status,
        attempts=message.attempts,
        created_at=Moment(message.created_ms),
        sent_at=optional_moment(message.sent_ms),
        last_error=optional(message.last_error),
    )
