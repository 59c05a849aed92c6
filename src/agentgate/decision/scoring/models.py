"""Models: those that are shipped, those in a role (active, candidate, previous), and the directory of them in memory.

The directory is swapped whole when the stored models change.
"""

import asyncio
from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec
import structlog

from agentgate.decision.scoring.model_file import ModelFile, read_model
from agentgate.decision.scoring.records import ModelRoles, ModelSummary, StoredModel
from agentgate.decision.scoring.repository import ScoringStores
from agentgate.decision.scoring.score import ModelView
from agentgate.http.call import SYSTEM
from agentgate.lib.database import Store
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import json_decoder, to_wire

# There is none of kind `agent`: a name and a signature already show agents that say who they are, and nothing that
# signals see separates a browser that an AI agent drives from one that any other program drives.
SHIPPED_KINDS = (ModelKind.BOT, ModelKind.CONTENT)


@cache
def shipped_model(kind: ModelKind) -> StoredModel | None:
    """Return the model of a kind that comes with the package, or None. It was installed when it was made."""
    if kind not in SHIPPED_KINDS:
        return None
    text = resources.files("agentgate.decision.scoring").joinpath("shipped", f"{kind}.json").read_text("utf-8")
    made = Moment.parse(read_model(text).metadata["madeAt"])
    return StoredModel(kind=kind, role=ModelRole.ACTIVE, file=text, installed_ms=made, installed_by=SYSTEM.name)


def summarize(model: StoredModel) -> ModelSummary:
    # Not checked again: a model whose features this release does not know any more can still be shown.
    file: ModelFile = json_decoder(ModelFile).decode(model.file)
    return to_wire(
        model,
        ModelSummary,
        version=file.version,
        type=file.type,
        features=len(file.features),
        digest=model.digest,
        metadata=file.metadata,
    )


async def list_roles(stores: ScoringStores) -> dict[ModelKind, ModelRoles]:
    stored = {(model.kind, model.role): model for model in await stores.models.list_models()}
    found = {}
    for kind in ModelKind:
        models = {role: stored.get((kind, role)) for role in ModelRole}
        models[ModelRole.ACTIVE] = models[ModelRole.ACTIVE] or shipped_model(kind)
        summaries = {role.value: summarize(model) if model else None for role, model in models.items()}
        found[kind] = ModelRoles(**summaries)
    return found


async def find_model(stores: ScoringStores, kind: ModelKind, role: ModelRole) -> StoredModel | None:
    """Return the model in a role. Without another, the active one is the one that is shipped, if there is one."""
    found = await stores.models.find_model(kind, role)
    return shipped_model(kind) if found is None and role == ModelRole.ACTIVE else found


async def find_version(stores: ScoringStores, kind: ModelKind, version: str) -> str | None:
    """Return the file of a version that is kept: in a role, active before, or shipped."""
    shipped = shipped_model(kind)
    stored = [each for each in await stores.models.list_models() if each.kind == kind]
    for each in [*stored, *([] if shipped is None else [shipped])]:
        if summarize(each).version == version:
            return each.file
    former = await stores.models.list_former(kind)
    return next((each.file for each in former if each.version == version), None)


# The model files by (kind, role), as text: unchanged text needs no new view.
_Files = Mapping[tuple[ModelKind, ModelRole], str]


class ModelDirectory:
    """Holds the view that decisions score with. It starts with the shipped models."""

    def __init__(self) -> None:
        self._files: _Files = {}
        self._view = _shipped_view()

    @property
    def view(self) -> ModelView:
        return self._view

    async def refresh(self, store: Store[ScoringStores]) -> None:
        """Load the stored models. An unusable file does not replace the present models."""
        files = _files(await store.read.models.list_models())
        if files == self._files:
            return
        try:
            # Compiling a large model takes too long for the event loop.
            view = await asyncio.to_thread(_make_view, files)
        except (Refused, msgspec.MsgspecError) as problem:
            reason = problem.message if isinstance(problem, Refused) else str(problem)
            structlog.get_logger().error("stored model is invalid: the last valid models stay active", reason=reason)
            return
        self._files, self._view = files, view


def _files(models: list[StoredModel]) -> _Files:
    # The previous one scores nothing.
    return {(model.kind, model.role): model.file for model in models if model.role != ModelRole.PREVIOUS}


@cache
def _shipped_view() -> ModelView:
    return _make_view({})


def _make_view(files: _Files) -> ModelView:
    active: dict[ModelKind, ModelFile] = {}
    candidates: dict[ModelKind, ModelFile] = {}
    for kind in ModelKind:
        shipped = shipped_model(kind)
        stored = files.get((kind, ModelRole.ACTIVE), None if shipped is None else shipped.file)
        if stored is not None:
            active[kind] = read_model(stored)
        if (kind, ModelRole.CANDIDATE) in files:
            candidates[kind] = read_model(files[kind, ModelRole.CANDIDATE])
    return ModelView(active, candidates)
