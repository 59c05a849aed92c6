"""Requests for an account, as operators read and decide them."""

from typing import Annotated, Literal

from msgspec import Meta

from agentgate.http.call import Call
from agentgate.lib.database import Store
from agentgate.lib.enums import AccessRequestStatus
from agentgate.lib.limits import ACCESS_REQUESTS_LIMIT
from agentgate.lib.records import Query
from agentgate.people.accounts import access_requests
from agentgate.people.accounts.records import AccessRequest, AccessRequestList
from agentgate.protection.customers.invitations import Invitations
from agentgate.protection.customers.records import InviteResult
from agentgate.protection.customers.repository import CustomerStores


class AccessRequestsQuery(Query, frozen=True, kw_only=True):
    """Which requests to show."""

    status: Literal["pending", "approved", "declined", "all"] = "all"
    limit: Annotated[int, Meta(ge=ACCESS_REQUESTS_LIMIT.least, le=ACCESS_REQUESTS_LIMIT.most)] = (
        ACCESS_REQUESTS_LIMIT.default
    )


async def list_access_requests(
    call: Call,  # noqa: ARG001 - every handler is given its call
    query: AccessRequestsQuery,
    store: Store[CustomerStores],
) -> AccessRequestList:
    """List requests for an account, newest first."""
    status = None if query.status == "all" else AccessRequestStatus(query.status)
    requests = await store.read.access_requests.list_requests(status, query.limit)
    return AccessRequestList(items=[request.record() for request in requests])


async def approve_access_request(call: Call, store: Store[CustomerStores], invitations: Invitations) -> InviteResult:
    """Approve a request: create a customer and invite its owner.

    The customer is named by the request's company, else by its name. The link is good for 7 days and also goes out
    by e-mail. Somebody who has a password already cannot be invited anew: the request stays pending.
    """

    async def work(stores: CustomerStores) -> InviteResult:
        return await invitations.send(stores, call, await access_requests.approve(stores, call, call.params["id"]))

    return await store.change(work)


async def decline_access_request(call: Call, store: Store[CustomerStores]) -> AccessRequest:
    """Decline a request. No message goes out."""
    declined = await store.change(lambda stores: access_requests.decline(stores, call, call.params["id"]))
    return declined.record()
