"""Models: the roles that they have (active, candidate, previous), and the directory of those in memory.

A candidate is installed or cleared, promoted to active, and the model before it can be brought back. The directory is
swapped whole when the stored models change.
"""

import asyncio
from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec
import structlog
from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.lib.actor import SYSTEM
from agentgate.lib.database import Store
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import json_decoder, shown, to_json
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.protection.scoring.model_file import ModelFile, check_model, read_model
from agentgate.protection.scoring.records import ModelRoles, ModelSummary, ModelSwap, StoredModel
from agentgate.protection.scoring.repository import ScoringStores
from agentgate.protection.scoring.score import ModelView


@cache
def shipped_model(kind: ModelKind) -> StoredModel:
    """Return the model of a kind that comes with the package. It was installed when it was made."""
    text = resources.files("agentgate.protection.scoring").joinpath("shipped", f"{kind}.json").read_text("utf-8")
    made = Moment.parse(read_model(text).metadata["madeAt"])
    return StoredModel(kind=kind, role=ModelRole.ACTIVE, file=text, installed_ms=made, installed_by=SYSTEM.name)


def summarise(model: StoredModel) -> ModelSummary:
    """Return a model in short."""
    # Not checked again: a model whose features this release does not know any more can still be shown.
    file: ModelFile = json_decoder(ModelFile).decode(model.file)
    return shown(
        model,
        ModelSummary,
        version=file.version,
        type=file.type,
        features=len(file.features),
        metadata=file.metadata,
    )


async def list_roles(stores: ScoringStores) -> dict[ModelKind, ModelRoles]:
    """Return what there is of each kind."""
    stored = {(model.kind, model.role): model for model in await stores.models.list_models()}
    found = {}
    for kind in ModelKind:
        models = {role: stored.get((kind, role)) for role in ModelRole}
        models[ModelRole.ACTIVE] = models[ModelRole.ACTIVE] or shipped_model(kind)
        summaries = {role.value: summarise(model) if model else None for role, model in models.items()}
        found[kind] = ModelRoles(**summaries)
    return found


async def find_model(stores: ScoringStores, kind: ModelKind, role: ModelRole) -> StoredModel | None:
    """Return the model in a role. There always is an active one: the one that is shipped, if no other."""
    found = await stores.models.find_model(kind, role)
    return shipped_model(kind) if found is None and role == ModelRole.ACTIVE else found


async def install_candidate(stores: ScoringStores, call: Call, kind: ModelKind, file: ModelFile) -> ModelSummary:
    """Let a model score in shadow from now on."""
    check_model(file)
    if file.kind != kind:
        raise Refused("invalid_request", f"kind is {file.kind}, but the path says {kind}; they must be the same.")
    await stores.models.lock_models(kind)
    if (await _active_summary(stores, kind)).version == file.version:
        message = f"version {file.version} is that of the active model; give the candidate another."
        raise Refused("invalid_request", message)
    before = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    model = StoredModel(
        kind=kind,
        role=ModelRole.CANDIDATE,
        file=to_json(file).decode(),
        installed_ms=call.now,
        installed_by=call.actor.name,
    )
    await stores.models.save_model(model)
    after = summarise(model)
    await _changed(stores, call, Action.MODEL_CANDIDATE, kind, versions=(_version(before), after.version))
    return after


async def clear_candidate(stores: ScoringStores, call: Call, kind: ModelKind) -> str:
    """End the shadow scoring; return the version that is no more."""
    await stores.models.lock_models(kind)
    candidate = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    if candidate is None:
        raise Refused("not_found", f"There is no candidate of kind {kind}.")
    version = summarise(candidate).version
    await stores.models.delete_model(kind, ModelRole.CANDIDATE)
    await _changed(stores, call, Action.MODEL_CANDIDATE, kind, versions=(version, None))
    return version


async def promote(stores: ScoringStores, call: Call, kind: ModelKind) -> ModelSwap:
    """Let the candidate decide; what decided until now becomes the previous one."""
    await stores.models.lock_models(kind)
    candidate = await stores.models.find_model(kind, ModelRole.CANDIDATE)
    if candidate is None:
        raise Refused("invalid_request", f"There is no candidate of kind {kind} to promote; install one first.")
    await stores.models.delete_model(kind, ModelRole.CANDIDATE)
    return await _swap(stores, call, Action.MODEL_PROMOTE, candidate)


async def roll_back(stores: ScoringStores, call: Call, kind: ModelKind) -> ModelSwap:
    """Let the previous model decide again; what decided until now takes its place, so that this can be undone."""
    await stores.models.lock_models(kind)
    previous = await stores.models.find_model(kind, ModelRole.PREVIOUS)
    if previous is None:
        raise Refused("invalid_request", f"There is no previous model of kind {kind}; nothing was promoted yet.")
    return await _swap(stores, call, Action.MODEL_ROLLBACK, previous)


async def _swap(stores: ScoringStores, call: Call, action: Action, next_model: StoredModel) -> ModelSwap:
    kind = next_model.kind
    former = await stores.models.find_model(kind, ModelRole.ACTIVE) or shipped_model(kind)
    active = replace(next_model, role=ModelRole.ACTIVE)
    previous = replace(former, role=ModelRole.PREVIOUS)
    await stores.models.save_model(active)
    await stores.models.save_model(previous)
    swap = ModelSwap(
        kind=kind, active=summarise(active), previous=summarise(previous), time=call.now, actor=call.actor.name
    )
    versions = (None if swap.previous is None else swap.previous.version, swap.active.version)
    await _changed(stores, call, action, kind, versions=versions)
    return swap


async def _active_summary(stores: ScoringStores, kind: ModelKind) -> ModelSummary:
    return summarise(await stores.models.find_model(kind, ModelRole.ACTIVE) or shipped_model(kind))


def _version(model: StoredModel | None) -> str | None:
    return None if model is None else summarise(model).version


async def _changed(
    stores: ScoringStores, call: Call, action: Action, kind: ModelKind, *, versions: tuple[str | None, str | None]
) -> None:
    field = "candidate" if action == Action.MODEL_CANDIDATE else "active"
    detail = {"kind": kind.value, field: {"from": versions[0], "to": versions[1]}}
    # Models belong to no site and no account: the entry stands in the trail of the service itself.
    await record(stores, call, action, Subject(target=f"model/{kind}"), detail)
    await stores.configuration.bump()


# What each (kind, role) holds, as text: the same text needs no new view.
_Files = Mapping[tuple[ModelKind, ModelRole], str]


class ModelDirectory:
    """Holds the view that decisions score with. It starts with the shipped models."""

    def __init__(self) -> None:
        self._files: _Files = {}
        self._view = _make_view({})

    @property
    def view(self) -> ModelView:
        """The models as they are now."""
        return self._view

    async def refresh(self, store: Store[ScoringStores]) -> None:
        """Take over what is stored. A stored file that cannot be used leaves everything as it was."""
        files = _files(await store.read.models.list_models())
        if files == self._files:
            return
        try:
            # Compiling a large model takes longer than requests should wait.
            view = await asyncio.to_thread(_make_view, files)
        except (Refused, msgspec.MsgspecError) as problem:
            reason = problem.message if isinstance(problem, Refused) else str(problem)
            structlog.get_logger().error("stored model cannot be used, the last good ones go on", reason=reason)
            return
        self._files, self._view = files, view


def _files(models: list[StoredModel]) -> _Files:
    # The previous one scores nothing.
    return {(model.kind, model.role): model.file for model in models if model.role != ModelRole.PREVIOUS}


def _make_view(files: _Files) -> ModelView:
    active: dict[ModelKind, ModelFile] = {}
    candidates: dict[ModelKind, ModelFile] = {}
    for kind in ModelKind:
        stored = files.get((kind, ModelRole.ACTIVE))
        active[kind] = read_model(shipped_model(kind).file if stored is None else stored)
        if (kind, ModelRole.CANDIDATE) in files:
            candidates[kind] = read_model(files[kind, ModelRole.CANDIDATE])
    return ModelView(active, candidates)
