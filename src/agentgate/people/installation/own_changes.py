"""OwnChanges: which changes of the configuration by this worker its views do not show yet."""

import asyncio
from collections.abc import Iterable
from typing import Protocol

import structlog

from agentgate.lib.database import StoreUnavailable

# How long a change by this worker itself may take to be read back.
REFRESH_S = 2.0
# Instead of an ID: a change that concerns every site.
EVERY_SITE = ""


class ChangeableSite(Protocol):
    """The IDs by which changes name a site."""

    @property
    def id(self) -> str: ...

    @property
    def account_id(self) -> str: ...


class OwnChanges:
    """Counts this worker's changes, and lets clients wait until its views show them."""

    def __init__(self) -> None:
        # How often this worker has changed the configuration, and how many of these changes are in the views.
        self.changes = 0
        self._changes_seen = 0
        # Whether all of them are: nearly always.
        self.is_fresh = True
        # The last change of each site or account, by ID, until the views show it.
        self._expected: dict[str, int] = {}
        # Set, and replaced, each time changes have been read back.
        self._shown = asyncio.Event()

    def expect_change(self, ids: Iterable[str] = (EVERY_SITE,)) -> None:
        """Note that this worker has just changed sites or accounts: their views are stale until reloaded."""
        self.changes += 1
        self.is_fresh = False
        self._expected.update(dict.fromkeys(ids, self.changes))

    def is_stale(self, site: ChangeableSite | None) -> bool:
        """Return whether the views lack a change of this site; of any site if it is not known."""
        expected = self._expected
        return not self.is_fresh and (
            site is None or site.id in expected or site.account_id in expected or EVERY_SITE in expected
        )

    def show_changes(self, changes: int) -> None:
        """Note that the views show so many changes, and wake who waits for them."""
        self._changes_seen = changes
        self.is_fresh = changes == self.changes
        self._expected = {name: change for name, change in self._expected.items() if change > changes}
        shown, self._shown = self._shown, asyncio.Event()
        shown.set()

    async def await_refresh(self) -> None:
        """Wait until the views contain this worker's own changes: a revoked secret must fail right after the
        response.

        Almost always that is at once. The next poll of the version brings changes of other workers. Changes that are
        made in the meantime do not delay the return.
        """
        wanted = self.changes
        try:
            async with asyncio.timeout(REFRESH_S):
                while self._changes_seen < wanted:
                    await self._shown.wait()
        except TimeoutError as error:
            raise StoreUnavailable("the configuration could not be reloaded") from error

    async def await_refresh_if_possible(self) -> None:
        """Likewise, but continue with the last good views if they cannot be reloaded."""
        if self.is_fresh:
            return
        try:
            await self.await_refresh()
        except StoreUnavailable:
            structlog.get_logger().warning("a change could not be read back: the last valid configuration stays active")
