"""Asking for an account. Deciding is for operators."""

import asyncio

from msgspec import UnsetType

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.people.accounts.access_requests import ask, new_request
from agentgate.people.accounts.repositories.access_requests import AccessRequestStores
from agentgate.people.accounts.sign_in_records import AccessRequestInput, Received
from agentgate.people.identity.browser_check import REQUEST_ACCESS, BrowserCheck

PER_SOURCE = Window("access-source", 10, HOUR_MS)
OVER_ALL = Window("access-all", 300, HOUR_MS)
# Keeping a request takes a little longer than finding one that is pending. All answers wait for the same moment.
ANSWER_S = 0.1


async def request_access(
    call: Call,
    body: AccessRequestInput,
    store: Store[AccessRequestStores],
    browser_check: BrowserCheck,
    limiter: Limiter,
) -> Received:
    """Ask for an account. The answer is the same for every address."""
    loop = asyncio.get_running_loop()
    answer_s = loop.time() + ANSWER_S
    request = new_request(call, body)
    await limiter.require(PER_SOURCE, source_of(call.request.address))
    token = None if isinstance(body.token, UnsetType) else body.token
    if not await browser_check.passes(token, call, action=REQUEST_ACCESS):
        raise Refused("browser_check_failed")
    # Counted behind the check: programs that do not pass it must not use up what is there for people.
    await limiter.require(OVER_ALL, "")
    await store.change(lambda stores: ask(stores, request))
    await asyncio.sleep(answer_s - loop.time())
    return Received()
