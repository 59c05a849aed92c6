"""Labels of decisions over HTTP, for operators."""

from typing import Annotated, NoReturn

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from agentgate.events.decision_ids import id_time_ms, read_id
from agentgate.events.labels.records import (
    DecisionLabel,
    LabelEvidence,
    LabelInput,
    LabelPage,
    LabelRequest,
    StoredLabel,
)
from agentgate.events.labels.repository import KeptEvents, LabelStores
from agentgate.events.records import Event
from agentgate.http.call import SiteCall
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.enums import LabelSource
from agentgate.lib.errors import Refused
from agentgate.lib.ids import write_visitor
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import LABELS_LIMIT
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, SiteKey, optional


class SiteQuery(Query, frozen=True, kw_only=True):
    """Which site."""

    site_key: SiteKey


class LabelsQuery(SiteQuery, frozen=True, kw_only=True):
    """Which labels to show."""

    limit: Annotated[int, Meta(ge=LABELS_LIMIT.least, le=LABELS_LIMIT.most)] = LABELS_LIMIT.default
    cursor: str | UnsetType = UNSET


async def label_decision(
    call: SiteCall,
    query: SiteQuery,  # noqa: ARG001 - the scope reads it
    body: LabelInput,
    store: Store[LabelStores],
    events: KeptEvents,
) -> DecisionLabel:
    """Label a decision, or replace its label.

    The first label copies the decision's evidence, so labels outlive the events.
    """
    decision = parse_decision(call.params["decisionId"])
    given = LabelRequest(label=body.label, source=LabelSource.OPERATOR, note=body.note)
    return await put_label(store, events, call, decision, given)


async def end_decision_label(
    call: SiteCall,
    query: SiteQuery,  # noqa: ARG001 - the scope reads it
    stores: LabelStores,
) -> None:
    """Remove a decision's label and its evidence."""
    decision = parse_decision(call.params["decisionId"])
    await stores.decision_labels.lock_label(call.site_id, decision)
    if not await stores.decision_labels.delete_label(call.site_id, decision):
        raise Refused("not_found", "The decision has no label.")


async def list_labels(call: SiteCall, query: LabelsQuery, store: Store[LabelStores], keyring: Keyring) -> LabelPage:
    """List a site's labels with their evidence, oldest update first."""
    cursors, limit = Cursors(keyring, call.route, call.site_id), query.limit
    after = None
    if not isinstance(query.cursor, UnsetType):
        updated_ms, decision = cursors.read(query.cursor)
        after = (int(updated_ms), int(decision))
    # One more than requested, to see whether there is a next page.
    found = await store.read.decision_labels.list_labels(call.site_id, after=after, limit=limit + 1)
    last = found[limit - 1] if len(found) > limit else None
    return LabelPage(
        items=[label.wire() for label in found[:limit]],
        next_cursor=UNSET if last is None else cursors.issue((last.updated_ms, last.decision)),
    )


async def create_label(
    call: SiteCall,
    query: SiteQuery,  # noqa: ARG001 - the scope reads it
    body: LabelRequest,
    store: Store[LabelStores],
    events: KeptEvents,
) -> DecisionLabel:
    """Label a decision by its ID or request ID, with the label's source."""
    decision_id, request_id = body.decision_id, body.request_id
    if isinstance(decision_id, UnsetType) == isinstance(request_id, UnsetType):
        raise Refused("invalid_request", "Send exactly one of decisionId and requestId.")
    if isinstance(request_id, UnsetType):
        decision = parse_decision(str(decision_id))
    else:
        number = await store.read.sites.find_number(call.site_id)
        decision = await events.find_by_request(number, request_id) or _unknown_request()
    return await put_label(store, events, call, decision, body)


def _unknown_request() -> NoReturn:
    raise Refused("not_found", "The site has no decision with this request ID, or its retention has ended.")


def parse_decision(text: str) -> int:
    """Return the number of a decision ID. Reject an invalid ID like an unknown one."""
    decision = read_id(text)
    if decision is None:
        raise _unknown()
    return decision


async def put_label(
    store: Store[LabelStores], events: KeptEvents, call: SiteCall, decision: int, given: LabelRequest
) -> DecisionLabel:
    """Label a decision, or replace its label. A replaced label keeps its evidence and its first time."""
    evidence = await find_evidence(store, events, call, decision)

    async def work(stores: LabelStores) -> StoredLabel:
        await stores.decision_labels.lock_label(call.site_id, decision)
        return await save_label(stores, call, decision, given, evidence)

    return (await store.change(work)).wire()


async def find_evidence(store: Store[LabelStores], events: KeptEvents, call: SiteCall, decision: int) -> LabelEvidence:
    """Return the evidence of the existing label, or else of the event. Raise `not_found` if there is neither."""
    known = await store.read.decision_labels.find_label(call.site_id, decision)
    if known is not None:
        return known.evidence
    event = await events.find_event(await store.read.sites.find_number(call.site_id), decision)
    if event is None:
        raise _unknown()
    return evidence_of(event)


async def save_label(
    stores: LabelStores, call: SiteCall, decision: int, given: LabelRequest, evidence: LabelEvidence
) -> StoredLabel:
    """Save a label, in a unit of work that has locked it."""
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
    return Refused("not_found", "The site has no decision with this ID, or its retention has ended.")
