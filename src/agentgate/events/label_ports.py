"""What labels of decisions ask of the durable store."""

from collections.abc import Sequence
from typing import Protocol

from agentgate.events.label_records import StoredLabel


class LabelStore(Protocol):
    """Labels of decisions."""

    async def lock_label(self, site_id: str, decision: int) -> None:
        """Keep other units of work from labelling the same decision until this one is done."""
        ...

    async def find_label(self, site_id: str, decision: int) -> StoredLabel | None:
        """Return a decision's label, or None."""
        ...

    async def find_labels(self, site_id: str, decisions: Sequence[int]) -> list[StoredLabel]:
        """Return the labels of those decisions that have one, for a page that shows decisions."""
        ...

    async def save_label(self, label: StoredLabel) -> None:
        """Keep a label, in place of the decision's earlier one."""
        ...

    async def list_labels(self, site_id: str, *, after: tuple[int, int] | None, limit: int) -> list[StoredLabel]:
        """Return labels of a site behind a position (update in ms, decision), oldest update first."""
        ...

    async def list_newest_labels(self, limit: int) -> list[StoredLabel]:
        """Return the labels of all sites that can be trained on, newest update first: never `unsure`."""
        ...
