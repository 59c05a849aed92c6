"""ModelDirectory: the models in memory, swapped whole when the stored ones change."""

import asyncio
from collections.abc import Mapping

import msgspec
import structlog

from agentgate.lib.database import Store
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.protection.scoring.model_file import ModelFile, read_model
from agentgate.protection.scoring.records import StoredModel
from agentgate.protection.scoring.repositories import ScoringStores
from agentgate.protection.scoring.roles import shipped_model
from agentgate.protection.scoring.score import ModelView

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
