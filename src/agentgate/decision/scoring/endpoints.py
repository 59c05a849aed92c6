"""Labels, feature capture and models over HTTP, for operators."""

from typing import Annotated, NoReturn

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from agentgate.decision.scoring import compare, models
from agentgate.decision.scoring.model_file import ModelFile, check_model
from agentgate.decision.scoring.records import (
    ClearedModel,
    CompareReport,
    FeatureCapture,
    FeatureCaptureInput,
    LabelInput,
    LabelPage,
    LabelRequest,
    ModelList,
    ModelSummary,
    ModelSwap,
    StoredCapture,
    StoredModel,
)
from agentgate.decision.scoring.repository import KeptEvents, ScoreSamples, ScoringStores
from agentgate.events.decision_ids import LARGEST_ID, first_id, id_time_ms, read_id
from agentgate.events.label_records import DecisionLabel, LabelEvidence, StoredLabel
from agentgate.events.ports import EventStore
from agentgate.events.records import Event
from agentgate.http.call import Call, SiteCall
from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.enums import LabelSource, ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.lib.ids import write_visitor
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import LABELS_LIMIT
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, SiteKey, json_decoder, optional, shown, to_json
from agentgate.lib.tasks.job import Job
from agentgate.people.audit.actions import Action
from agentgate.people.audit.diff import diff
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.directory import SiteDirectory


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


async def list_models(
    call: Call,  # noqa: ARG001 - every handler is given its call
    store: Store[ScoringStores],
) -> ModelList:
    """List the models of each kind: active, candidate, previous."""
    return ModelList(models=await models.list_roles(store.read))


async def read_model(call: Call, store: Store[ScoringStores]) -> ModelFile:
    """Read a model file."""
    kind, role = _kind(call), _role(call)
    model = await models.find_model(store.read, kind, role)
    if model is None:
        raise Refused("not_found", f"There is no {role} model of kind {kind}.")
    file: ModelFile = json_decoder(ModelFile).decode(model.file)
    return file


async def install_model(call: Call, body: ModelFile, stores: ScoringStores) -> ModelSummary:
    """Install a candidate, which scores traffic in shadow without affecting decisions.

    Only `candidate` can be installed; a model becomes active by being promoted.
    """
    kind = _candidate_of(call)
    check_model(body)
    if body.kind != kind:
        raise Refused("invalid_request", f"kind is {body.kind}, but the path has {kind}. They must be the same.")
    await stores.models.lock_models(kind)
    if _version(await models.find_model(stores, kind, ModelRole.ACTIVE)) == body.version:
        message = f"version {body.version} is used by the active model. Give the candidate another version."
        raise Refused("invalid_request", message)
    before = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    model = StoredModel(
        kind=kind,
        role=ModelRole.CANDIDATE,
        file=to_json(body).decode(),
        installed_ms=call.now,
        installed_by=call.actor.name,
    )
    await stores.models.save_model(model)
    await _record(stores, call, Action.MODEL_CANDIDATE, kind, versions=(_version(before), body.version))
    return models.summarise(model)


async def clear_model(call: Call, stores: ScoringStores) -> ClearedModel:
    """Clear the candidate: shadow scoring stops."""
    kind = _candidate_of(call)
    await stores.models.lock_models(kind)
    candidate = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    if candidate is None:
        raise Refused("not_found", f"There is no candidate of kind {kind}.")
    version = models.summarise(candidate).version
    await stores.models.delete_model(kind, ModelRole.CANDIDATE)
    await _record(stores, call, Action.MODEL_CANDIDATE, kind, versions=(version, None))
    return ClearedModel(cleared=version)


async def compare_models(
    call: Call, store: Store[ScoringStores], samples: ScoreSamples, sites: SiteDirectory
) -> CompareReport:
    """Compare the candidate with the active model on the traffic of the last 7 days.

    `wouldChange` counts decisions that the current rules would change with the candidate's score. `perLabel` has the
    share of labeled decisions that each model scores at 0.5 or above.
    """
    return await compare.compare(store, samples, sites, _kind(call), call.now)


async def promote_model(call: Call, stores: ScoringStores) -> ModelSwap:
    """Promote the candidate: it becomes the active model, and the active model the previous one."""
    kind = _kind(call)
    await stores.models.lock_models(kind)
    candidate = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    if candidate is None:
        raise Refused("invalid_request", f"There is no candidate of kind {kind} to promote. Install one first.")
    await stores.models.delete_model(kind, ModelRole.CANDIDATE)
    return await _swap(stores, call, Action.MODEL_PROMOTE, candidate)


async def roll_back_model(call: Call, stores: ScoringStores) -> ModelSwap:
    """Roll back to the previous model. The models swap places, so a second rollback undoes the first."""
    kind = _kind(call)
    await stores.models.lock_models(kind)
    previous = await stores.models.find_model(kind, ModelRole.PREVIOUS)
    if previous is None:
        raise Refused("invalid_request", f"There is no previous model of kind {kind}. No model was promoted yet.")
    return await _swap(stores, call, Action.MODEL_ROLLBACK, previous)


async def _swap(stores: ScoringStores, call: Call, action: Action, next_model: StoredModel) -> ModelSwap:
    kind = next_model.kind
    former = await models.find_model(stores, kind, ModelRole.ACTIVE)
    assert former is not None, "there always is an active model"
    active, previous = replace(next_model, role=ModelRole.ACTIVE), replace(former, role=ModelRole.PREVIOUS)
    await stores.models.save_model(active)
    await stores.models.save_model(previous)
    await _record(stores, call, action, kind, versions=(_version(previous), _version(active)))
    return ModelSwap(
        kind=kind,
        active=models.summarise(active),
        previous=models.summarise(previous),
        time=call.now,
        actor=call.actor.name,
    )


def _version(model: StoredModel | None) -> str | None:
    return None if model is None else models.summarise(model).version


async def _record(
    stores: ScoringStores, call: Call, action: Action, kind: ModelKind, *, versions: tuple[str | None, str | None]
) -> None:
    field = "candidate" if action == Action.MODEL_CANDIDATE else "active"
    detail = {"kind": kind.value, field: {"from": versions[0], "to": versions[1]}}
    # Models belong to no site and no account: the entry is in the trail of the service itself.
    await record(stores, call, action, Subject(target=f"model/{kind}"), detail)
    await stores.configuration.bump_models()


def _kind(call: Call) -> ModelKind:
    try:
        return ModelKind(call.params["kind"])
    except ValueError:
        raise Refused("not_found", f"Unknown kind of model. Use one of {', '.join(ModelKind)}.") from None


def _role(call: Call) -> ModelRole:
    try:
        return ModelRole(call.params["role"])
    except ValueError:
        raise Refused("not_found", f"Unknown role. Use one of {', '.join(ModelRole)}.") from None


def _candidate_of(call: Call) -> ModelKind:
    kind, role = _kind(call), _role(call)
    if role != ModelRole.CANDIDATE:
        message = f"Only the candidate can be set or cleared; {role} changes by promote and rollback."
        raise Refused("invalid_request", message)
    return kind


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
