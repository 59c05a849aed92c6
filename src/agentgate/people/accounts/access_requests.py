"""Requests for an account: anyone can send one, and an operator decides it once.

A decision does not change an account, so it is kept in the request (`decidedBy`, `decidedAt`) and not in the audit
trail. Accounts and members that an approval creates have the usual entries.
"""

from msgspec import UNSET

from agentgate.http.call import Call
from agentgate.lib.enums import AccessRequestStatus
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_access_request_id
from agentgate.lib.names import check_name
from agentgate.people.accounts.lifecycle import Invited, found_account
from agentgate.people.accounts.records import AccessRequest, AccessRequestInput
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.users import canonical_email


def new_request(call: Call, body: AccessRequestInput) -> AccessRequest:
    """Return the request that an input describes, or reject a malformed one."""
    return AccessRequest(
        id=new_access_request_id(),
        email=canonical_email(body.email),
        name=check_name(body.name),
        company=check_name(body.company, what="company") if body.company is not UNSET else UNSET,
        message=(body.message.strip() or UNSET) if body.message is not UNSET else UNSET,
        status=AccessRequestStatus.PENDING,
        created_at=call.now,
    )


async def approve(stores: AccountStores, call: Call, request_id: str) -> Invited:
    """Approve a request: create an account named by company, else by name, with the person as its owner.

    Reject the approval and leave the request pending if the address now belongs to a user who has a password. An invite
    link would not help this user, who can create another account without it.
    """
    request = await _decide(stores, call, request_id, AccessRequestStatus.APPROVED)
    return await found_account(stores, call, request.company or request.name, email=request.email, name=request.name)


async def decline(stores: AccountStores, call: Call, request_id: str) -> AccessRequest:
    """Decline a request, without sending a message."""
    return await _decide(stores, call, request_id, AccessRequestStatus.DECLINED)


async def _decide(stores: AccountStores, call: Call, request_id: str, status: AccessRequestStatus) -> AccessRequest:
    # One conditional statement: of two operators who decide at once, one does.
    is_decided = await stores.access_requests.decide(request_id, status, call.actor.name, call.now)
    request = await stores.access_requests.find_request(request_id)
    if request is None:
        raise Refused("not_found", "There is no access request with this ID.")
    if not is_decided:
        raise Refused(
            "invalid_state", f"The request is already {request.status}. Only a pending request can be decided."
        )
    return request
