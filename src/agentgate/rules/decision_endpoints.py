"""One decision over HTTP, with the rule that made it."""

from agentgate.core.database import Store
from agentgate.core.decision_ids import read_id
from agentgate.core.enums import ActorKind
from agentgate.errors import Refused
from agentgate.rules.decision_detail import read_detail
from agentgate.rules.decision_records import DecisionDetail
from agentgate.rules.ports import DecisionStores
from agentgate.traffic.ports import SiteNumber, TrafficStore
from agentgate.traffic.queries import SiteQuery
from agentgate.traffic.terms import TrafficTerms
from agentgate.web.call import SiteCall


async def read_decision(
    call: SiteCall,
    query: SiteQuery,  # noqa: ARG001 - names the site, which the scope has found
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
