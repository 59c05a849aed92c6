"""Models over HTTP, for operators: install, compare, promote, roll back."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.decision.scoring import compare, models, promotion
from agentgate.decision.scoring.drift import DriftWatch, ModelDrift
from agentgate.decision.scoring.model_file import ModelFile, Version, check_model
from agentgate.decision.scoring.model_file import read_model as read
from agentgate.decision.scoring.records import (
    ClearedModel,
    CompareReport,
    FormerModel,
    ModelList,
    ModelSummary,
    ModelSwap,
    ModelVersion,
    ModelVersions,
    PromoteInput,
    StoredModel,
)
from agentgate.decision.scoring.repository import ScoringStores
from agentgate.decision.scoring.score import make_scorer
from agentgate.events.decision_ids import first_id
from agentgate.events.queries.replays import ScoreSamples
from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.enums import DecisionLabelValue, ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, json_decoder, to_json
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.directory import SiteDirectory

# Models that were active and can be activated again, in addition to the shipped one.
FORMER_KEPT = 5
NOT_ACKNOWLEDGED = PromoteInput()


class RollbackQuery(Query, frozen=True, kw_only=True):
    """Which model to roll back to; default: the previous one."""

    version: Version | UnsetType = UNSET


async def list_models(
    call: Call,  # noqa: ARG001 - every handler is given its call
    store: Store[ScoringStores],
) -> ModelList:
    """List the models of each kind: active, candidate, previous."""
    return ModelList(models=await models.list_roles(store.read))


async def list_model_versions(call: Call, store: Store[ScoringStores]) -> ModelVersions:
    """List the models that rollback can activate: the last five that were active, and the shipped one."""
    kind = _kind(call)
    active = _version(await models.find_model(store.read, kind, ModelRole.ACTIVE))
    former = [
        ModelVersion(
            version=each.version,
            installed_at=Moment(each.installed_ms),
            installed_by=each.installed_by,
            retired_at=Moment(each.retired_ms),
        )
        for each in await store.read.models.list_former(kind)
    ]
    shipped = models.shipped_model(kind)
    if shipped is not None:
        former = [each for each in former if each.version != _version(shipped)]
        former.append(
            ModelVersion(
                version=models.summarize(shipped).version,
                installed_at=Moment(shipped.installed_ms),
                installed_by=shipped.installed_by,
            )
        )
    return ModelVersions(versions=[each for each in former if each.version != active])


async def read_model(call: Call, store: Store[ScoringStores]) -> Reply[ModelFile]:
    """Read a model file. `ETag` is its digest."""
    kind, role = _kind(call), _role(call)
    model = await models.find_model(store.read, kind, role)
    if model is None:
        raise Refused("not_found", f"There is no {role} model of kind {kind}.")
    file: ModelFile = json_decoder(ModelFile).decode(model.file)
    return Reply(body=file, headers=(("etag", model.digest),))


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
    return models.summarize(model)


async def clear_model(call: Call, stores: ScoringStores) -> ClearedModel:
    """Clear the candidate: shadow scoring stops."""
    kind = _candidate_of(call)
    await stores.models.lock_models(kind)
    candidate = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    if candidate is None:
        raise Refused("not_found", f"There is no candidate of kind {kind}.")
    version = models.summarize(candidate).version
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


async def read_model_drift(call: Call, watch: DriftWatch) -> ModelDrift:
    """Read whether the active model's scores of the last hour are spread as in the 7 days before, by site.

    Of each day and of the last hour, up to 20,000 requests are compared. The version with the most requests in the last
    hour is compared with itself.
    """
    return await watch.drift(_kind(call))


async def promote_model(
    call: Call,
    store: Store[ScoringStores],
    samples: ScoreSamples,
    sites: SiteDirectory,
    body: PromoteInput = NOT_ACKNOWLEDGED,
) -> ModelSwap:
    """Promote the candidate: it becomes the active model, and the active model the previous one.

    First, the requests of the last 7 days are decided again with the candidate and the current rules. If it would newly
    challenge or block too many, the response is 409 `confirmation_required`, unless the body has `acknowledge: true`.
    `If-Match` with the candidate's `digest` promotes that file and no other; otherwise it is 409 `revision_conflict`.
    """
    kind = _kind(call)
    candidate = await _candidate(store.read, call, kind)
    figures = None
    if not body.acknowledge:
        figures = await _guard(call, store, samples, sites, candidate)

    async def work(stores: ScoringStores) -> ModelSwap:
        await stores.models.lock_models(kind)
        # Only the file that was judged is promoted: another one may have been installed since.
        if (await _candidate(stores, call, kind)).digest != candidate.digest:
            raise Refused(
                "revision_conflict", "Another candidate was installed during the call. Compare it, then promote."
            )
        await stores.models.delete_model(kind, ModelRole.CANDIDATE)
        extra = {"digest": candidate.digest.strip('"'), "acknowledged": body.acknowledge}
        if figures is not None:
            extra |= {name: figures[name] for name in ("evaluated", "newlyRefused")}
        return await _swap(stores, call, Action.MODEL_PROMOTE, candidate, extra)

    return await store.change(work)


async def _candidate(stores: ScoringStores, call: Call, kind: ModelKind) -> StoredModel:
    candidate = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    if candidate is None:
        raise Refused("invalid_request", f"There is no candidate of kind {kind} to promote. Install one first.")
    expected = call.request.header("if-match")
    if expected is not None and expected != candidate.digest:
        raise Refused(
            "revision_conflict", "The candidate is not the file that If-Match names. Compare it, then promote."
        )
    return candidate


async def _guard(
    call: Call, store: Store[ScoringStores], samples: ScoreSamples, sites: SiteDirectory, candidate: StoredModel
) -> dict[str, Any] | None:
    kind = candidate.kind
    active = await models.find_model(store.read, kind, ModelRole.ACTIVE)
    try:
        found = await samples.recent(
            kind,
            models.summarize(candidate).version,
            since_id=first_id(Moment(call.now - promotion.DAYS * DAY_MS)),
            limit=promotion.MOST_SAMPLES,
        )
    except StoreUnavailable:
        raise Refused(
            "confirmation_required",
            "Stored requests are unavailable, so the model was not judged by them. To promote it anyway, send"
            " acknowledge: true.",
        ) from None
    scorers = None if active is None else make_scorer(read(active.file)), make_scorer(read(candidate.file))
    replayed = await asyncio.to_thread(promotion.replay, found, sites, kind, scorers)
    until = compare.trained_until(candidate)
    labels = await store.read.decision_labels.list_newest_labels(compare.MOST_LABELS)
    outside = {
        label.decision: label.label == DecisionLabelValue.HUMAN
        for label in labels
        if until is None or label.evidence.time > until
    }
    return await promotion.guard(replayed, outside, requests=len(found))


async def roll_back_model(call: Call, query: RollbackQuery, stores: ScoringStores) -> ModelSwap:
    """Roll back to the previous model. The models swap places, so a second rollback undoes the first.

    `version` names one of the last five active models or the shipped one instead.
    """
    kind = _kind(call)
    await stores.models.lock_models(kind)
    if isinstance(query.version, UnsetType):
        previous = await stores.models.find_model(kind, ModelRole.PREVIOUS)
        if previous is None:
            raise Refused("invalid_request", f"There is no previous model of kind {kind}. No model was promoted yet.")
        return await _swap(stores, call, Action.MODEL_ROLLBACK, previous)
    return await _swap(stores, call, Action.MODEL_ROLLBACK, await _former(stores, call, kind, query.version))


async def _former(stores: ScoringStores, call: Call, kind: ModelKind, version: str) -> StoredModel:
    if _version(await models.find_model(stores, kind, ModelRole.ACTIVE)) == version:
        raise Refused("invalid_request", f"{version[:100]} is the active model already.")
    shipped = models.shipped_model(kind)
    if shipped is not None and _version(shipped) == version:
        return replace(shipped, installed_ms=call.now, installed_by=call.actor.name)
    for each in await stores.models.list_former(kind):
        if each.version == version:
            return StoredModel(
                kind=kind, role=ModelRole.ACTIVE, file=each.file, installed_ms=call.now, installed_by=call.actor.name
            )
    raise Refused("not_found", f"There is no former model of kind {kind} with this version.")


async def _swap(
    stores: ScoringStores, call: Call, action: Action, next_model: StoredModel, extra: Mapping[str, Any] | None = None
) -> ModelSwap:
    kind = next_model.kind
    former = await models.find_model(stores, kind, ModelRole.ACTIVE)
    active = replace(next_model, role=ModelRole.ACTIVE)
    await stores.models.save_model(active)
    previous = None if former is None else replace(former, role=ModelRole.PREVIOUS)
    if former is not None and previous is not None:
        await stores.models.save_model(previous)
        if former != models.shipped_model(kind):
            await stores.models.retire(
                FormerModel(
                    kind=kind,
                    version=models.summarize(former).version,
                    file=former.file,
                    installed_ms=former.installed_ms,
                    installed_by=former.installed_by,
                    retired_ms=call.now,
                ),
                keep=FORMER_KEPT,
            )
    await _record(stores, call, action, kind, versions=(_version(previous), _version(active)), extra=extra)
    return ModelSwap(
        kind=kind,
        active=models.summarize(active),
        previous=None if previous is None else models.summarize(previous),
        time=call.now,
        actor=call.actor.name,
    )


def _version(model: StoredModel | None) -> str | None:
    return None if model is None else models.summarize(model).version


async def _record(
    stores: ScoringStores,
    call: Call,
    action: Action,
    kind: ModelKind,
    *,
    versions: tuple[str | None, str | None],
    extra: Mapping[str, Any] | None = None,
) -> None:
    field = "candidate" if action == Action.MODEL_CANDIDATE else "active"
    detail = {"kind": kind.value, field: {"from": versions[0], "to": versions[1]}, **(extra or {})}
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
