"""Handoffs over HTTP: the agent's poll, the person's page, and the site owner's list of grants."""

from agentgate.http.call import Call, SiteCall
from agentgate.http.replies import Reply, Text
from agentgate.http.static_files import StaticFiles, read_file
from agentgate.lib.database import Store
from agentgate.lib.enums import HandoffStatus
from agentgate.lib.errors import Refused
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.protection.agents.handoff.approval import Approvals, Sight
from agentgate.protection.agents.handoff.grants import AgentGrants
from agentgate.protection.agents.handoff.page import HEADERS, handoff_page, message_page
from agentgate.protection.agents.handoff.poll import HandoffPolling
from agentgate.protection.agents.handoff.records import AgentGrantList, ChoiceInput, HandoffAnswer
from agentgate.protection.agents.handoff.words import choose_language
from agentgate.protection.sites.repositories import SiteStores

HTML = "text/html; charset=utf-8"


async def poll_handoff(call: Call, polling: HandoffPolling) -> Reply[HandoffAnswer]:
    """Ask what became of a handoff.

    Signed by the agent that received it, with a fresh signature each time; for everybody else there is no such handoff.
    The receipt of an approved one stays the same until it is redeemed.
    """
    answer = await polling.answer(call, call.params["id"])
    wait = (("retry-after", str(answer.interval)),) if answer.status is HandoffStatus.PENDING else ()
    return Reply(body=answer, headers=wait)


async def read_handoff_page(call: Call, approvals: Approvals) -> Reply[Text]:
    """Read the page at which a person decides about an agent's request."""
    return _page(call, await approvals.show(call, call.params["id"]))


async def decide_handoff(call: Call, body: ChoiceInput, approvals: Approvals) -> Reply[Text]:
    """Approve or decline an agent's request.

    Sent by the page's own form, with the token of the check that a person passed there.
    """
    return _page(call, await approvals.decide(call, call.params["id"], body))


async def read_handoff_style(call: Call, static: StaticFiles) -> Reply[Text | None]:
    """Read the style sheet of the page."""
    return await read_file(call, static)


async def list_agent_grants(call: SiteCall, store: Store[SiteStores], grants: AgentGrants) -> AgentGrantList:
    """List what people allowed agents beforehand at this site, the newest first."""
    number = await store.read.sites.find_number(call.site_id)
    return AgentGrantList(items=await grants.list_of(number))


async def revoke_agent_grant(call: SiteCall, store: Store[SiteStores], grants: AgentGrants) -> None:
    """End a grant now.

    The agent's next request is challenged again. Ending it twice does nothing more.
    """
    number = await store.read.sites.find_number(call.site_id)
    grant_id = call.params["grantId"]
    revoked = await grants.revoke(number, grant_id, now_ms=call.now)
    if revoked is None:
        raise Refused("not_found", "The site has no such grant. List its grants for their IDs.")
    if revoked:
        subject = Subject(account_id=call.account_id, site_id=call.site_id, target=grant_id)
        await store.change(lambda stores: record(stores, call, Action.AGENT_GRANT_REVOKE, subject))


def write_refusal(_code: str, message: str) -> Text:
    """Return a refusal as a page for people."""
    return Text(message_page(message).encode(), HTML)


def _page(call: Call, sight: Sight) -> Reply[Text]:
    language = choose_language(call.request.header("accept-language"))
    headers = (*HEADERS, ("content-language", language))
    return Reply(body=Text(handoff_page(sight, language).encode(), HTML), status=sight.phase.status, headers=headers)
