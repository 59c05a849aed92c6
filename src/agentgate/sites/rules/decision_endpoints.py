"""One decision over HTTP: its labels by source, the rule that matched, and whether that rule still applies."""

import msgspec
from msgspec import UNSET, UnsetType

from agentgate.events.decision_ids import read_id
from agentgate.events.queries.ports import SiteNumber, TrafficStore
from agentgate.events.queries.queries import TrafficSiteQuery, TrafficTerms
from agentgate.events.queries.records import Decision
from agentgate.http.call import SiteCall
from agentgate.lib.database import Store
from agentgate.lib.enums import ActorKind, Mode
from agentgate.lib.errors import Refused
from agentgate.lib.records import Record
from agentgate.sites.rules.effective import effective_of
from agentgate.sites.rules.explanations import Explanation, explain
from agentgate.sites.rules.records import Rule, RuleSet
from agentgate.sites.rules.repository import RuleStores


class DecisionDetail(Record, frozen=True, kw_only=True):
    """A decision with its explanation. `ruleCurrent`: the site still has the rule set that decided."""

    decision: Decision
    labels_by_source: dict[str, list[str]]
    rule_current: bool
    monitored: bool
    explanation: Explanation
    rule: Rule | UnsetType = UNSET
    trace_url: str | UnsetType = UNSET


async def read_detail(stores: RuleStores, site_id: str, decision: Decision, *, trace_template: str) -> DecisionDetail:
    """Put a decision's detail together; without a template there is no link to its trace."""
    current = effective_of(await stores.rules.find_rules(site_id))
    rule = await _find_rule(stores, site_id, decision, current)
    return DecisionDetail(
        decision=decision,
        labels_by_source=labels_by_source(decision.labels),
        rule_current=decision.rule_set_version == current.version,
        monitored=decision.mode == Mode.MONITOR and not isinstance(decision.would_decision, UnsetType),
        explanation=explain(decision, rule),
        rule=rule,
        trace_url=_trace_url(decision, trace_template),
    )


def labels_by_source(labels: list[str]) -> dict[str, list[str]]:
    """Group labels by their first part."""
    found: dict[str, list[str]] = {}
    for label in labels:
        found.setdefault(label.partition(".")[0], []).append(label)
    return found


async def _find_rule(stores: RuleStores, site_id: str, decision: Decision, current: RuleSet) -> Rule | UnsetType:
    """Return the rule as it was when it decided; absent when that set is no longer known."""
    if isinstance(decision.matched_rule, UnsetType) or isinstance(decision.rule_set_version, UnsetType):
        return UNSET
    deciding: RuleSet | None = current
    if decision.rule_set_version != current.version:
        deciding = await _find_set(stores, site_id, decision.rule_set_version)
    if deciding is None:
        return UNSET
    item = next((item for item in deciding.rules if item["name"] == decision.matched_rule), None)
    return UNSET if item is None else msgspec.convert(item, Rule)


async def _find_set(stores: RuleStores, site_id: str, version: str) -> RuleSet | None:
    # The server's set decides for a site without its own rules. The site may have had none when this decision was made.
    candidates = [None, await stores.rules.find_revision(site_id, version)]
    # The server's set changes with the release, so the stored version alone proves nothing.
    sets = (effective_of(stored) for stored in candidates)
    return next((each for each in sets if each.version == version), None)


def _trace_url(decision: Decision, template: str) -> str | UnsetType:
    if not template or isinstance(decision.trace_id, UnsetType):
        return UNSET
    return template.replace("{traceId}", decision.trace_id)


async def read_decision(
    call: SiteCall,
    query: TrafficSiteQuery,  # noqa: ARG001 - names the site, which the scope has found
    store: Store[RuleStores],
    traffic: TrafficStore,
    terms: TrafficTerms,
) -> DecisionDetail:
    """Read one decision with its labels by source and the rule that matched."""
    decision_id = read_id(call.params["decisionId"])
    site = SiteNumber(call.site_id, await store.read.sites.find_number(call.site_id))
    decision = None if decision_id is None else await traffic.decisions.find_decision(site, decision_id)
    if decision is None:
        raise Refused("not_found", "The site has no decision with this ID, or its retention has ended.")
    template = terms.trace_url_template if call.actor.kind is ActorKind.OPERATOR else ""
    return await read_detail(store.read, call.site_id, decision, trace_template=template)
