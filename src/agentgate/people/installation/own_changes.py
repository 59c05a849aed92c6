"""OwnChanges: which changes of the configuration by this worker its views do not show yet."""

import asyncio

import structlog

from agentgate.lib.database import StoreUnavailable
from agentgate.lib.tasks.turns import OneByOne

# How long a change by this worker itself may take to be read back.
REFRESH_S = 2.0


class OwnChanges:
    """Counts this worker's changes, and lets clients wait until its views show them."""

    def __init__(self) -> None:
        # How often this worker has changed the configuration, and how many of these changes are in the views.
        self.changes = 0
        self._changes_seen = 0
        # Whether all of them are: nearly always.
        self.is_fresh = True
        # Set, and replaced, each time changes have been read back.
        self._shown = asyncio.Event()
        self._responses = OneByOne()

    def expect_change(self) -> None:
        """Note that this worker has just changed the configuration: the views are stale until reloaded."""
        self.changes += 1
        self.is_fresh = False

    def show_changes(self, changes: int) -> None:
        """Note that the views show so many changes, and wake who waits for them."""
        self._changes_seen = changes
        self.is_fresh = changes == self.changes
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

    async def until_active(self) -> None:
        """Wait before the response to a change of this worker.

        Changes that were committed together become active together. One caller continues in each iteration of the event
        loop, so checks are decided between their responses.
        """
        await self.await_refresh_if_possible()
        await self._responses.wait()

    async def await_refresh_if_possible(self) -> None:
        """Likewise, but continue with the last good views if they cannot be reloaded."""
        if self.is_fresh:
            return
        try:
            await self.await_refresh()
        except StoreUnavailable:
            structlog.get_logger().warning("a change could not be read back: the last valid configuration stays active")
