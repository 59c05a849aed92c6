"""Lists over HTTP: read, add, remove, try out. Operators and customers differ in guard only."""

from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store
from agentgate.lib.limits import TRAFFIC_RANGE_MOST_DAYS
from agentgate.lib.time_ranges import read_range
from agentgate.protection.lists import editing
from agentgate.protection.lists.backtest import ListBacktests
from agentgate.protection.lists.records import (
    ListBacktestInput,
    ListBacktestReport,
    ListEntries,
    ListEntry,
    ListEntryInput,
)
from agentgate.protection.lists.repository import ListStores

BACKTEST_DAYS = 7


async def list_list_entries(call: SiteCall, store: Store[ListStores]) -> ListEntries:
    """List whom a site lets in or keeps out by name, newest first.

    Entries whose term is over are among them; they decide nothing.
    """
    found = await store.read.lists.list_entries(call.site_id)
    return ListEntries(items=[editing.show(entry, call.now) for entry in found])


async def create_list_entry(call: SiteCall, body: ListEntryInput, store: Store[ListStores]) -> ListEntry:
    """Let somebody in, or keep somebody out, before any rule.

    An address, network, agent or visitor that is let in needs no token or clearance either. A User-Agent proves
    nothing: a program that is let in passes the rules, not the check that a route asks for.
    """
    return await store.change(lambda stores: editing.add_entry(stores, call, body))


async def end_list_entry(call: SiteCall, store: Store[ListStores]) -> None:
    """Remove an entry."""
    await store.change(lambda stores: editing.remove_entry(stores, call, call.params["entryId"]))


async def backtest_list_entry(call: SiteCall, body: ListBacktestInput, backtests: ListBacktests) -> ListBacktestReport:
    """Say what an entry would have changed about stored decisions, and whom else it concerns.

    Where stored events do not tell whom the entry means, `told` is false and `why` says why.
    """
    entry = editing.new_entry(call, body)
    span = read_range(
        body.from_,
        body.to,
        now_ms=call.now,
        default_ms=BACKTEST_DAYS * DAY_MS,
        longest_ms=TRAFFIC_RANGE_MOST_DAYS * DAY_MS,
    )
    return await backtests.run(call.site_key, entry, span)
