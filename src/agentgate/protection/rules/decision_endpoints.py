"""One decision over HTTP, with the rule that made it."""

from agentgate.events.queries.ports import SiteNumber, TrafficStore
from agentgate.events.queries.queries import TrafficSiteQuery
from agentgate.events.queries.terms import TrafficTerms
from agentgate.http.call import SiteCall
from agentgate.lib.database import Store
from agentgate.lib.decision_ids import read_id
from agentgate.lib.enums import ActorKind
from agentgate.lib.errors import Refused
from agentgate.protection.rules.decision_detail import read_detail
from agentgate.protection.rules.decision_records import DecisionDetail
from agentgate.protection.rules.repositories import DecisionStores


async def read_decision(
    call: SiteCall,
    query: TrafficSiteQuery,  # noqa: ARG001 - names the site, which the scope has found
    store: Store[DecisionStores],
    traffic: TrafficStore,
    terms: TrafficTerms,
) -> DecisionDetail:
    """Read one decision with its labels by source and the rule that matched."""
    decision_id = read_id(call.params["decisionId"])
    site = SiteNumber(call.site_id, await store.read.sites.find_number(call.site_id))
    decision = None if decision_id is None else await traffic.decisions.find_decision(site, decision_id)
    if decision is None:
        raise Refused("not_found", "No decision of this site has this ID, or it is past its retention.")
    template = terms.trace_url_template if call.actor.kind is ActorKind.OPERATOR else ""
    return await read_detail(store.read, call.site_id, decision, trace_template=template)
