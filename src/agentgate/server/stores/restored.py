"""A store that was put back from a copy: noticed at a start, whoever put it there, and made safe to go on with.

What was spent since the copy was made is not in it. So nothing that was issued until now can be spent any more, and
what lives for minutes and works once (challenges, requests for a person's approval) is not taken over at all.
"""

from agentgate.server.stores.clock_mark import ClockMark
from agentgate.server.stores.open import HOT, Stores


async def check_restored(stores: Stores, mark: ClockMark, now_ms: int) -> None:
    """Look whether this store is the one that was used here last; if it lacks spends, accept nothing older."""
    # Embedded databases lie in the data folder, so whatever used them left its mark there. What PostgreSQL lacks shows
    # by the marks that are there: a machine without any may be a new one.
    is_embedded = stores.databases[HOT].dialect == "sqlite"
    is_unmarked = is_embedded and mark.read() is None and bool(await stores.store.read.keys.list_keys())
    lost_before = stores.redemptions.lost_ms
    await stores.redemptions.check_marks(now_ms, is_unmarked=is_unmarked)
    if stores.redemptions.lost_ms == now_ms != lost_before:
        await forget_unfinished(stores)


async def raise_floor(stores: Stores, now_ms: int) -> None:
    """Make a store that was restored just now safe to go on with."""
    await stores.redemptions.raise_floor(now_ms)
    await forget_unfinished(stores)


async def forget_unfinished(stores: Stores) -> None:
    """Forget what may have been used since: each could give a second token."""
    hot = stores.databases[HOT]
    await hot.run("DELETE FROM challenge")
    await hot.run("DELETE FROM handoff")
