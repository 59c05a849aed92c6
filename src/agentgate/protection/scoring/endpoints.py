"""Labels, feature capture and models over HTTP, for operators."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from agentgate.events.label_records import DecisionLabel
from agentgate.events.ports import EventStore
from agentgate.http.call import Call, SiteCall
from agentgate.lib.database import Store
from agentgate.lib.enums import LabelSource, ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import LABELS_LIMIT
from agentgate.lib.records import Query, SiteKey, json_decoder
from agentgate.protection.scoring import compare, feature_capture, labels, models
from agentgate.protection.scoring.model_file import ModelFile
from agentgate.protection.scoring.records import (
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
)
from agentgate.protection.scoring.repository import KeptEvents, ScoreSamples, ScoringStores
from agentgate.protection.sites.directory import SiteDirectory


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

    The decision's evidence is copied with the first label, so that labels outlive the events.
    """
    decision = labels.parse_decision(call.params["decisionId"])
    given = LabelRequest(label=body.label, source=LabelSource.OPERATOR, note=body.note)
    return await labels.put_label(store, events, call, decision, given)


async def list_labels(call: SiteCall, query: LabelsQuery, store: Store[ScoringStores], keyring: Keyring) -> LabelPage:
    """List a site's labels with their evidence, oldest update first."""
    return await labels.list_labels(store.read, keyring, call, cursor=query.cursor, limit=query.limit)


async def create_label(
    call: SiteCall,
    query: SiteQuery,  # noqa: ARG001 - the scope reads it
    body: LabelRequest,
    store: Store[ScoringStores],
    events: KeptEvents,
) -> DecisionLabel:
    """Label a decision by its ID or its request's, and say where the label comes from."""
    decision = await labels.find_decision(store, events, call, body)
    return await labels.put_label(store, events, call, decision, body)


async def read_feature_capture(call: SiteCall, store: Store[ScoringStores], events: KeptEvents) -> FeatureCapture:
    """Say whether a site's feature vectors are stored, for how long, and how many there are."""
    return await feature_capture.read_capture(store, events, call)


async def change_feature_capture(
    call: SiteCall,
    body: FeatureCaptureInput,
    store: Store[ScoringStores],
    events: KeptEvents,
    event_store: EventStore,
) -> FeatureCapture:
    """Turn feature capture on or off. Turning it off deletes the vectors that were stored."""
    await feature_capture.change_capture(store, event_store, call, body)
    return await feature_capture.read_capture(store, events, call)


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


async def install_model(call: Call, body: ModelFile, store: Store[ScoringStores]) -> ModelSummary:
    """Install a candidate: it scores traffic in shadow and decides nothing.

    Only `candidate` can be installed; a model becomes active by being promoted.
    """
    kind = _candidate_of(call)
    return await store.change(lambda stores: models.install_candidate(stores, call, kind, body))


async def clear_model(call: Call, store: Store[ScoringStores]) -> ClearedModel:
    """Clear the candidate: shadow scoring stops."""
    kind = _candidate_of(call)
    return ClearedModel(cleared=await store.change(lambda stores: models.clear_candidate(stores, call, kind)))


async def compare_models(
    call: Call, store: Store[ScoringStores], samples: ScoreSamples, sites: SiteDirectory
) -> CompareReport:
    """Compare the candidate with the active model on the traffic of the last 7 days.

    `wouldChange` counts decisions that today's rules would make otherwise with the candidate's score. `perLabel` has
    the share of labelled decisions that each model scores at 0.5 or above.
    """
    return await compare.compare(store, samples, sites, _kind(call), call.now)


async def promote_model(call: Call, store: Store[ScoringStores]) -> ModelSwap:
    """Promote the candidate: it decides from now on, and what decided before becomes the previous model."""
    kind = _kind(call)
    return await store.change(lambda stores: models.promote(stores, call, kind))


async def roll_back_model(call: Call, store: Store[ScoringStores]) -> ModelSwap:
    """Let the previous model decide again. The two change places, so a second rollback undoes the first."""
    kind = _kind(call)
    return await store.change(lambda stores: models.roll_back(stores, call, kind))


def _kind(call: Call) -> ModelKind:
    try:
        return ModelKind(call.params["kind"])
    except ValueError:
        raise Refused("not_found", f"There is no such kind of model; there are {', '.join(ModelKind)}.") from None


def _role(call: Call) -> ModelRole:
    try:
        return ModelRole(call.params["role"])
    except ValueError:
        raise Refused("not_found", f"There is no such role; there are {', '.join(ModelRole)}.") from None


def _candidate_of(call: Call) -> ModelKind:
    kind, role = _kind(call), _role(call)
    if role != ModelRole.CANDIDATE:
        message = f"Only the candidate can be set or cleared; {role} changes by promote and rollback."
        raise Refused("invalid_request", message)
    return kind
