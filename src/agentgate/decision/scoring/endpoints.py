"""Labels and feature capture over HTTP, for operators."""

from typing import Annotated, NoReturn

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from agentgate.decision.scoring.records import (
    FeatureCapture,
    FeatureCaptureInput,
    LabelInput,
    LabelPage,
    LabelRequest,
    StoredCapture,
)
from agentgate.decision.scoring.repository import KeptEvents, ScoringStores
from agentgate.events.decision_ids import LARGEST_ID, first_id, id_time_ms, read_id
from agentgate.events.label_records import DecisionLabel, LabelEvidence, StoredLabel
from agentgate.events.ports import EventStore
from agentgate.events.records import Event
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.enums import LabelSource
from agentgate.lib.errors import Refused
from agentgate.lib.ids import write_visitor
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import LABELS_LIMIT
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, SiteKey, optional, shown
from agentgate.lib.tasks.job import Job
from agentgate.people.audit.actions import Action
from agentgate.people.audit.diff import diff
from agentgate.people.audit.trail import Subject, record


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
    store: Store[ScoringStores],
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
    stores: ScoringStores,
) -> None:
    """Remove a decision's label and its evidence."""
    decision = parse_decision(call.params["decisionId"])
    await stores.decision_labels.lock_label(call.site_id, decision)
    if not await stores.decision_labels.delete_label(call.site_id, decision):
        raise Refused("not_found", "The decision has no label.")


async def list_labels(call: SiteCall, query: LabelsQuery, store: Store[ScoringStores], keyring: Keyring) -> LabelPage:
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
    store: Store[ScoringStores],
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


async def read_feature_capture(call: SiteCall, store: Store[ScoringStores], events: KeptEvents) -> FeatureCapture:
    """Read the feature capture of a site: state, retention and number of feature vectors."""
    return shown(
        await store.read.captures.find_capture(call.site_id) or NEVER_SET,
        FeatureCapture,
        site_id=call.site_id,
        site_key=call.site_key,
        stored=await events.count_features(await store.read.sites.find_number(call.site_id)),
    )


async def change_feature_capture(
    call: SiteCall,
    body: FeatureCaptureInput,
    store: Store[ScoringStores],
    events: KeptEvents,
    event_store: EventStore,
) -> FeatureCapture:
    """Turn feature capture on or off. Turning it off deletes the stored vectors."""
    capture = await store.change(lambda stores: _save_capture(stores, call, body))
    if not capture.enabled:
        # The job deletes vectors that other workers still capture until they refresh.
        await event_store.forget_features(await store.read.sites.find_number(call.site_id), before_id=LARGEST_ID)
    return await read_feature_capture(call, store, events)


async def _save_capture(stores: ScoringStores, call: SiteCall, body: FeatureCaptureInput) -> StoredCapture:
    await stores.captures.lock_capture(call.site_id)
    stored = await stores.captures.find_capture(call.site_id)
    before = stored or NEVER_SET
    days = before.retention_days if isinstance(body.retention_days, UnsetType) else body.retention_days
    after = StoredCapture(enabled=body.enabled, retention_days=days, updated_ms=call.now, updated_by=call.actor.name)
    changes = diff(before, after, ("enabled", "retention_days"))
    if stored is not None and not changes:
        return stored
    await stores.captures.save_capture(call.site_id, after)
    wire = {"enabled": "enabled", "retention_days": "retentionDays"}
    detail = {wire[field]: change for field, change in changes.items()}
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
    await record(stores, call, Action.FEATURE_CAPTURE_UPDATE, subject, detail)
    await stores.configuration.bump_site(call.site_id)
    return after


def parse_decision(text: str) -> int:
    """Return the number of a decision ID; refuse an invalid one like an unknown one."""
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
    """Return the evidence of a label: of the existing label, else of the event; refuse without either."""
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
    """Return the evidence of an event."""
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


NEVER_SET = StoredCapture()


def scoring_jobs(store: Store[ScoringStores], events: EventStore, clock: Clock) -> tuple[Job, ...]:
    """Return the timed job: delete feature vectors after the days they are kept."""
    return (Job(name="expire-features", interval_ms=HOUR_MS, work=lambda: expire_features(store, events, clock)),)


async def expire_features(store: Store[ScoringStores], events: EventStore, clock: Clock) -> None:
    """Remove feature vectors that are older than their site keeps them, and all of sites that capture no more."""
    now_ms = clock.now_ms()
    for site in await store.read.captures.list_captures():
        before_id = first_id(now_ms - site.retention_days * DAY_MS) if site.enabled else LARGEST_ID
        await events.forget_features(site.number, before_id=before_id)
