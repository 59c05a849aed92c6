"""Lists over HTTP: read, add, remove, try out. Operators and customers differ in guard only.

A change is checked, limited, recorded in the audit trail, and announced to every worker.
"""

import re
from typing import Any

from msgspec import UnsetType, structs

from agentgate.events.time_ranges import read_range
from agentgate.http.address import canonical_address
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import ListKind
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_list_entry_id, read_visitor
from agentgate.lib.limits import LIST_ENTRIES_PER_SITE, LIST_PROGRAMS_PER_SITE, TRAFFIC_RANGE_MOST_DAYS
from agentgate.lib.moment import Moment
from agentgate.lib.records import to_wire
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.lists.backtest import ListBacktests
from agentgate.sites.lists.records import (
    ListBacktestInput,
    ListBacktestReport,
    ListEntries,
    ListEntry,
    ListEntryChange,
    ListEntryInput,
    StoredEntry,
)
from agentgate.sites.lists.repository import ListStores
from agentgate.sites.rules.patterns.glob import split_glob
from agentgate.sites.rules.patterns.networks import read_strict_network
from agentgate.sites.rules.request_conditions import glob_problem, network_problem

# Larger networks are whole countries; rules can name them where that is meant.
LEAST_PREFIX = {4: 8, 6: 16}
# Shorter texts occur in too many User-Agents.
LEAST_PROGRAM_CHARACTERS = 3
MOST_TERM_DAYS = 3_650
BACKTEST_DAYS = 7
_AGENT = re.compile(r"[!-~](?:[ -~]{0,254}[!-~])?\Z")


async def list_list_entries(call: SiteCall, store: Store[ListStores]) -> ListEntries:
    """List the entries of a site's allowlist and blocklist, newest first.

    The list includes expired entries, which have no effect.
    """
    found = await store.read.lists.list_entries(call.site_id)
    return ListEntries(items=[_show(entry, call.now) for entry in found])


async def create_list_entry(call: SiteCall, body: ListEntryInput, stores: ListStores) -> ListEntry:
    """Add an allowlist or blocklist entry, which applies before the rules.

    An allowed address, network, agent or visitor needs no token or clearance cookie either. A User-Agent can be
    spoofed, so an allowed User-Agent skips the rules but not a browser check that a route requires.
    """
    made = new_entry(call, body)
    await stores.lists.lock_lists(call.site_id)
    for before in await stores.lists.list_entries(call.site_id):
        if (before.kind, before.value) == (made.kind, made.value):
            if not before.is_over(call.now):
                raise Refused("invalid_state", f"{made.value} already has an entry ({before.id}). Delete it first.")
            # An expired entry is replaced by the new one.
            await stores.lists.delete_entry(call.site_id, before.id)
    await _make_room(stores, call, made)
    await stores.lists.add_entry(made)
    await stores.configuration.bump_site(call.site_id)
    await _record(stores, call, Action.LIST_ADD, _settings(made))
    return _show(made, call.now)


async def replace_list_entry(call: SiteCall, body: ListEntryChange, stores: ListStores) -> ListEntry:
    """Change the effect, note and expiry of an entry. To match another client, add a new entry."""
    await stores.lists.lock_lists(call.site_id)
    before = await _find(stores, call, call.params["entryId"])
    if before.is_over(call.now):
        raise Refused("invalid_state", "This entry has expired. Add a new entry.")
    after = structs.replace(
        before, outcome=body.outcome, note=_note(body.note), expires_ms=_end(body.expires_at, call.now)
    )
    if after != before:
        await stores.lists.change_entry(after)
        await stores.configuration.bump_site(call.site_id)
        changes = {
            name: {"from": old.get(name), "to": new.get(name)}
            for old, new in [(_settings(before), _settings(after))]
            for name in ("outcome", "note", "expiresAt")
            if old.get(name) != new.get(name)
        }
        await _record(stores, call, Action.LIST_UPDATE, {"id": after.id, "value": after.value, **changes})
    return _show(after, call.now)


async def end_list_entry(call: SiteCall, stores: ListStores) -> None:
    """Remove an entry."""
    await remove_entry(stores, call, call.params["entryId"])


async def backtest_list_entry(call: SiteCall, body: ListBacktestInput, backtests: ListBacktests) -> ListBacktestReport:
    """Show the effect of an entry on stored decisions.

    If stored events cannot be matched with the entry, `told` is false and `why` has the reason.
    """
    entry = new_entry(call, body)
    span = read_range(
        body.from_,
        body.to,
        now_ms=call.now,
        default_ms=BACKTEST_DAYS * DAY_MS,
        longest_ms=TRAFFIC_RANGE_MOST_DAYS * DAY_MS,
    )
    return await backtests.run(call.site_key, entry, span, call.account_id)


async def remove_entry(stores: ListStores, call: SiteCall, entry_id: str) -> None:
    """Delete an entry of the site; raise `Refused` if it has none with this ID."""
    await stores.lists.lock_lists(call.site_id)
    found = await _find(stores, call, entry_id)
    await stores.lists.delete_entry(call.site_id, entry_id)
    await stores.configuration.bump_site(call.site_id)
    await _record(stores, call, Action.LIST_REMOVE, _settings(found))


def new_entry(call: SiteCall, body: ListEntryInput | ListBacktestInput) -> StoredEntry:
    """Return the new entry, its value in canonical form; reject an invalid one."""
    note, expires_ms = "", None
    if isinstance(body, ListEntryInput):
        note, expires_ms = _note(body.note), _end(body.expires_at, call.now)
    return StoredEntry(
        id=new_list_entry_id(),
        site_id=call.site_id,
        kind=body.kind,
        value=canonical_value(body.kind, body.value),
        outcome=body.outcome,
        note=note,
        created_ms=int(call.now),
        created_by=call.actor.name,
        expires_ms=expires_ms,
    )


def canonical_value(kind: ListKind, text: str) -> str:
    """Return a value in canonical form; reject one that is invalid for its kind."""
    return {
        ListKind.ADDRESS: _address,
        ListKind.NETWORK: _network,
        ListKind.PROGRAM: _program,
        ListKind.AGENT: _agent,
        ListKind.VISITOR: _visitor,
    }[kind](text)


def _show(entry: StoredEntry, now_ms: int) -> ListEntry:
    return to_wire(entry, ListEntry, expired=entry.is_over(now_ms))


async def _find(stores: ListStores, call: SiteCall, entry_id: str) -> StoredEntry:
    found = await stores.lists.find_entry(call.site_id, entry_id)
    if found is None:
        raise Refused("not_found", "The site's lists have no entry with this ID.")
    return found


def _note(text: str) -> str:
    return " ".join(text.split())


def _end(expires_at: Moment | UnsetType, now_ms: int) -> int | None:
    if not isinstance(expires_at, Moment):
        return None
    if not now_ms < expires_at <= now_ms + MOST_TERM_DAYS * DAY_MS:
        raise _bad("expiresAt must be in the future, within ten years. Omit it for an entry that never expires.")
    return int(expires_at)


def _address(text: str) -> str:
    address = canonical_address(text.strip())
    if address is None:
        raise _bad("value must be an IPv4 or IPv6 address, such as 203.0.113.7. For a network, use the kind network.")
    return address


def _network(text: str) -> str:
    problem = network_problem(text.strip())
    if problem is not None:
        raise _bad(problem)
    network = read_strict_network(text.strip())
    if network.prefixlen < LEAST_PREFIX[network.version]:
        raise _bad(
            f"{network} is too large for a list: at least /{LEAST_PREFIX[4]} of IPv4 or /{LEAST_PREFIX[6]} of IPv6."
            " To match a larger network, write a rule."
        )
    return network.with_prefixlen


def _program(text: str) -> str:
    problem = glob_problem(text, example="curl/*")
    if problem is not None:
        raise _bad(problem)
    if max(map(len, split_glob(text))) < LEAST_PROGRAM_CHARACTERS:
        raise _bad(
            f"value needs at least {LEAST_PROGRAM_CHARACTERS} consecutive characters other than stars, such as curl/*."
        )
    return text


def _agent(text: str) -> str:
    if _AGENT.match(text) is None:
        raise _bad("value must be an agent as shown in decisions: printable ASCII characters.")
    return text


def _visitor(text: str) -> str:
    if read_visitor(text) is None:
        raise _bad("value must be a visitor ID as shown in decisions: 16 lower-case hex digits.")
    return text


def _bad(message: str) -> Refused:
    return Refused("invalid_request", message)


async def _make_room(stores: ListStores, call: SiteCall, made: StoredEntry) -> None:
    """At the site's limit, delete expired entries; raise `Refused` if there are none."""
    found = await stores.lists.list_entries(call.site_id)
    alive = [each for each in found if not each.is_over(call.now)]
    programs = sum(each.kind is ListKind.PROGRAM for each in alive)
    if made.kind is ListKind.PROGRAM and programs >= LIST_PROGRAMS_PER_SITE:
        raise Refused(
            "invalid_state", f"The site has reached its limit of {programs} User-Agent entries. Delete one first."
        )
    if len(alive) >= LIST_ENTRIES_PER_SITE:
        raise Refused("invalid_state", f"The site has reached its limit of {len(alive)} entries. Delete one first.")
    if len(found) >= LIST_ENTRIES_PER_SITE:
        for each in found:
            if each.is_over(call.now):
                await stores.lists.delete_entry(call.site_id, each.id)


def _settings(entry: StoredEntry) -> dict[str, Any]:
    detail = {"id": entry.id, "kind": entry.kind.value, "value": entry.value, "outcome": entry.outcome.value}
    if entry.note:
        detail["note"] = entry.note
    if entry.expires_ms is not None:
        detail["expiresAt"] = Moment(entry.expires_ms).text()
    return detail


async def _record(stores: ListStores, call: SiteCall, action: Action, detail: dict[str, Any]) -> None:
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
    await record(stores, call, action, subject, detail)
