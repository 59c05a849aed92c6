"""A store that was restored from a copy, by any tool: detected at a start and made safe to use.

Tokens spent since the copy are not in it. So no token that was issued until now can be spent any more, and single-use
records that live for minutes (challenges, requests for a person's approval) are deleted.
"""

from agentgate.server.stores.clock_mark import ClockMark
from agentgate.server.stores.open import HOT, Stores


async def check_restored(stores: Stores, mark: ClockMark, now_ms: int) -> None:
    """Check whether this store is the one that was used here last; if it lacks spends, accept no older token."""
    # Embedded databases are in the data directory, where every service that used them left its mark. For PostgreSQL
    # only existing marks are compared: a machine without any may be a new one.
    is_embedded = stores.databases[HOT].dialect == "sqlite"
    is_unmarked = is_embedded and mark.read() is None and bool(await stores.store.read.keys.list_keys())
    lost_before = stores.redemptions.lost_ms
    await stores.redemptions.check_marks(now_ms, is_unmarked=is_unmarked)
    if stores.redemptions.lost_ms == now_ms != lost_before:
        await forget_unfinished(stores)


async def raise_floor(stores: Stores, now_ms: int) -> None:
    """Make a store that was restored just now safe to use."""
    await stores.redemptions.raise_floor(now_ms)
    await forget_unfinished(stores)


async def forget_unfinished(stores: Stores) -> None:
    """Delete challenges and handoffs, which may have been used since the copy: each could give a second token."""
    hot = stores.databases[HOT]
    await hot.run("DELETE FROM challenge")
    await hot.run("DELETE FROM handoff")
