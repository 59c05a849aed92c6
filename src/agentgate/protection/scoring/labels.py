"""Labelling decisions. The evidence is copied with the first label, so that the label outlives the event."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.events.label_records import DecisionLabel, LabelEvidence, StoredLabel
from agentgate.events.records import Event
from agentgate.http.call import SiteCall
from agentgate.lib.database import Store
from agentgate.lib.decision_ids import id_time_ms, read_id
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional
from agentgate.lib.visitor_ids import write_visitor
from agentgate.protection.scoring.records import LabelRequest
from agentgate.protection.scoring.repository import KeptEvents, ScoringStores


def parse_decision(text: str) -> int:
    """Return the number of a decision ID; text that is none answers like an unknown one."""
    decision = read_id(text)
    if decision is None:
        raise _unknown()
    return decision


async def put_label(
    store: Store[ScoringStores], events: KeptEvents, call: SiteCall, decision: int, given: LabelRequest
) -> DecisionLabel:
    """Label a decision, or replace its label: evidence and time of the first one stay."""
    evidence = await find_evidence(store, events, call, decision)

    async def work(stores: ScoringStores) -> StoredLabel:
        await stores.decision_labels.lock_label(call.site_id, decision)
        return await save_label(stores, call, decision, given, evidence)

    return (await store.change(work)).wire()


async def find_evidence(
    store: Store[ScoringStores], events: KeptEvents, call: SiteCall, decision: int
) -> LabelEvidence:
    """Return what is kept with a label: that of the first one, else that of the event, else refuse."""
    known = await store.read.decision_labels.find_label(call.site_id, decision)
    if known is not None:
        return known.evidence
    event = await events.find_event(await store.read.sites.find_number(call.site_id), decision)
    if event is None:
        raise _unknown()
    return evidence_of(event)


async def save_label(
    stores: ScoringStores, call: SiteCall, decision: int, given: LabelRequest, evidence: LabelEvidence
) -> StoredLabel:
    """Keep a label, in a unit of work that has locked it."""
    before = await stores.decision_labels.find_label(call.site_id, decision)
    label = StoredLabel(
        site_id=call.site_id,
        decision=decision,
        label=given.label,
        source=given.source,
        note=None if isinstance(given.note, UnsetType) else given.note,
        actor=call.actor.name,
        created_ms=call.now,
        updated_ms=call.now,
        evidence=evidence,
    )
    if before is not None:
        label = replace(label, created_ms=before.created_ms, evidence=before.evidence)
    await stores.decision_labels.save_label(label)
    return label


def evidence_of(event: Event) -> LabelEvidence:
    """Return what is kept of an event with its label."""
    return LabelEvidence(
        time=Moment(id_time_ms(event.id)),
        kind=event.kind,
        route=event.route,
        method=event.method,
        action=optional(event.action),
        outcome=event.outcome,
        would_decision=optional(event.would),
        reasons=list(event.reasons),
        labels=list(event.labels),
        scores=dict(event.scores),
        model_versions=dict(event.model_versions),
        rule_set_version=optional(event.rule_set_version),
        visitor_id=UNSET if event.visitor is None else write_visitor(event.visitor),
        features=UNSET if event.features is None else dict(event.features),
    )


def _unknown() -> Refused:
    return Refused("not_found", "There is no such decision in this site, or it is not kept any more.")
