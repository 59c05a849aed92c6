"""What appeals ask of the durable store."""

from typing import Protocol

from agentgate.lib.enums import AppealState
from agentgate.protection.appeals.records import AppealCounts, StoredAppeal
from agentgate.protection.lists.ports import ListStores
from agentgate.protection.scoring.ports import ScoringStores


class AppealStore(Protocol):
    """Appeals of sites."""

    async def lock_appeals(self, site_id: str) -> None:
        """Keep other units of work from changing the site's appeals until this one is done."""
        ...

    async def add_appeal(self, appeal: StoredAppeal) -> None:
        """Keep a new appeal."""
        ...

    async def save_answer(self, appeal: StoredAppeal) -> None:
        """Keep what the owners said: state, answer, reply, entry, label."""
        ...

    async def find_appeal(self, site_id: str, appeal_id: str) -> StoredAppeal | None:
        """Return a site's appeal; None when the site has none of this ID, whoever else may."""
        ...

    async def find_by_link(self, site_id: str, link_digest: str) -> StoredAppeal | None:
        """Return the appeal of a link, or None."""
        ...

    async def has_appeal(self, site_id: str, decision: int) -> bool:
        """Say whether there is an appeal against a decision already."""
        ...

    async def list_appeals(
        self, site_id: str, state: AppealState, *, before: tuple[int, str] | None, limit: int
    ) -> list[StoredAppeal]:
        """Return a site's appeals in a state before a position (creation in ms, ID), newest first."""
        ...

    async def count_appeals(self, site_id: str) -> AppealCounts:
        """Return how many appeals of a site are in each state."""
        ...

    async def count_like(self, appeal: StoredAppeal, *, since_ms: int) -> tuple[int, int]:
        """Return how many others there are against the same rule, and by the same visitor."""
        ...

    async def count_same_message(self, site_id: str, message: str, *, since_ms: int) -> int:
        """Return how many appeals say the same, to the letter."""
        ...

    async def forget_appeals(self, before_ms: int) -> None:
        """Forget the appeals that are older."""
        ...


class AppealStores(ListStores, ScoringStores, Protocol):
    """The ports that a unit of work on appeals uses."""

    @property
    def appeals(self) -> AppealStore: ...
