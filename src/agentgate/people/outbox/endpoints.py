"""The outbox over HTTP, for operators."""

from typing import Annotated

from msgspec import Meta

from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.database import Store
from agentgate.lib.records import Query, to_wire
from agentgate.people.outbox.messages import Messenger
from agentgate.people.outbox.records import OutboxList, OutboxMessage
from agentgate.people.outbox.repository import OutboxStores


class OutboxQuery(Query, frozen=True, kw_only=True):
    """How many messages to show."""

    limit: Annotated[int, Meta(ge=limits.OUTBOX_LIMIT.least, le=limits.OUTBOX_LIMIT.most)] = limits.OUTBOX_LIMIT.default


async def list_messages(call: Call, query: OutboxQuery, store: Store[OutboxStores], messenger: Messenger) -> OutboxList:
    """List sent and queued messages, newest first.

    Bodies contain one-time links, with which a reader can act as the recipient. After a link is used, replaced or
    expired, the body is empty.
    """
    items = [
        to_wire(message, OutboxMessage, to=message.recipient, body=messenger.read_text(message))
        for message in await store.read.outbox.list_messages(query.limit)
    ]
    # Reading other people's links leaves a trace with the reader's name.
    call.log["links_read"] = sum(item.body != "" for item in items)
    return OutboxList(items=items)
