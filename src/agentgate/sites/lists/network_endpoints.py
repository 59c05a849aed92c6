"""Network lists over HTTP: list, save, delete, page and change the networks. Operators and customers differ in guard
only.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.http.call import SiteCall
from agentgate.http.outbound.client import Outbound, OutboundFailed
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.enums import NetworkSource
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring, Sealer
from agentgate.lib.limits import NETWORK_LISTS_PER_SITE, NETWORKS_PER_SITE
from agentgate.lib.records import to_wire
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.lists.network_records import (
    NetworkChange,
    NetworkList,
    NetworkListInput,
    NetworkLists,
    NetworkPage,
    NetworksQuery,
    StoredNetworkList,
)
from agentgate.sites.lists.network_repository import NetworkListStores
from agentgate.sites.lists.networks import Network, changed, merge, pack, page_of, read_plain, unpack
from agentgate.sites.rules.compile import matches_of
from agentgate.sites.rules.effective import effective_of
from agentgate.sites.rules.records import StoredRules
from agentgate.sites.rules.request_conditions import LIST_NAME, NOT, network_problem

EMPTY = pack([])
# A list that others change at the same time is read again.
MOST_TRIES = 5


async def list_network_lists(call: SiteCall, store: Store[NetworkListStores]) -> NetworkLists:
    """List a site's network lists by name."""
    found = await store.read.network_lists.find_all(call.site_id)
    used = _uses(await store.read.rules.find_rules(call.site_id))
    items = [_show(each, used) for each in found]
    return NetworkLists(items=items, networks=sum(each.count for each in found), most_networks=NETWORKS_PER_SITE)


async def save_network_list(
    call: SiteCall, body: NetworkListInput, stores: NetworkListStores, sealer: Sealer, outbound: Outbound
) -> NetworkList:
    """Create or change a network list. Its source cannot be changed.

    A list with a URL is read within seconds, and then every `refreshMinutes`.
    """
    name = call.params["listName"]
    if LIST_NAME.match(name) is None:
        raise _bad("The name must be 1 to 64 lower-case letters, digits, dots, hyphens and underscores.")
    await stores.network_lists.lock_networks(call.site_id)
    found = {each.name: each for each in await stores.network_lists.find_all(call.site_id)}
    before = found.get(name)
    if before is None and len(found) >= NETWORK_LISTS_PER_SITE:
        raise Refused("invalid_state", f"The site has {len(found)} network lists of {NETWORK_LISTS_PER_SITE}.")
    after = _saved(call, body, before, _url(body, outbound), sealer)
    await stores.network_lists.save(after)
    await stores.configuration.bump_site(call.site_id)
    detail = {"source": after.source.value} | ({"url": after.url} if after.url else {})
    await _record(stores, call, Action.NETWORK_LIST_SAVE, name, detail)
    return _show(after, _uses(await stores.rules.find_rules(call.site_id)))


async def delete_network_list(call: SiteCall, stores: NetworkListStores) -> None:
    """Delete a network list that no rule names."""
    await stores.network_lists.lock_networks(call.site_id)
    found = await _find(stores, call)
    rules = _uses(await stores.rules.find_rules(call.site_id)).get(found.name)
    if rules:
        raise Refused("invalid_state", f"The rule {rules[0]} names this list. Change the rule first.")
    await stores.network_lists.delete(call.site_id, found.name)
    await stores.configuration.bump_site(call.site_id)
    await _record(stores, call, Action.NETWORK_LIST_DELETE, found.name, {"networks": found.count})


async def list_networks(
    call: SiteCall, query: NetworksQuery, store: Store[NetworkListStores], keyring: Keyring
) -> NetworkPage:
    """List the networks of a list in pages. `q` is an address or network that they share addresses with."""
    found = await _find(store.read, call)
    cursors = Cursors(keyring, call.route, call.site_id, found.name, query.q)
    after = None if isinstance(query.cursor, UnsetType) else str(cursors.read(query.cursor)[0])
    within = _read(query.q) if query.q else None

    def read() -> tuple[list[Network], bool]:
        behind = None if after is None else _read(after)
        return page_of(unpack(found.networks), after=behind, within=within, most=query.limit)

    page, has_more = await asyncio.to_thread(read)
    texts = [each.text() for each in page]
    return NetworkPage(items=texts, next_cursor=cursors.issue((texts[-1],)) if has_more else UNSET)


async def change_networks(call: SiteCall, body: NetworkChange, store: Store[NetworkListStores]) -> NetworkList:
    """Add networks to an own list, and remove networks with everything inside them."""
    added, removed = await asyncio.to_thread(lambda: (_read_all("add", body.add), _read_all("remove", body.remove)))
    for _ in range(MOST_TRIES):
        before = await _find(store.read, call)
        if before.source is not NetworkSource.OWN:
            raise Refused("invalid_state", "The networks of this list come from its source.")
        after = await asyncio.to_thread(_changed, before, added, removed, call, empty=body.replace)
        saved = await store.change(partial(_save_change, call, before, after))
        if saved is not None:
            return saved
    raise Refused("invalid_state", "The list was changed at the same time. Send the change again.")


async def refresh_network_list(call: SiteCall, stores: NetworkListStores) -> NetworkList:
    """Read the source of a list within seconds."""
    await stores.network_lists.lock_networks(call.site_id)
    found = await _find(stores, call)
    if found.source is NetworkSource.OWN:
        raise Refused("invalid_state", "This list has no source.")
    after = replace(found, due_ms=int(call.now))
    await stores.network_lists.save(after)
    await _record(stores, call, Action.NETWORK_LIST_CHANGE, found.name, {"refresh": True})
    return _show(after, _uses(await stores.rules.find_rules(call.site_id)))


def sealing_context(site_id: str, name: str) -> str:
    """Return the context that binds the sealed key of CrowdSec to its list."""
    return f"network-list:{site_id}:{name}"


def _saved(
    call: SiteCall, body: NetworkListInput, before: StoredNetworkList | None, url: str, sealer: Sealer
) -> StoredNetworkList:
    name = call.params["listName"]
    if before is not None and before.source is not body.source:
        raise Refused("invalid_state", f"{name} is a list of the source {before.source.value}. Delete it first.")
    is_new_url = before is None or before.url != url
    key = None if before is None or is_new_url else before.key
    if isinstance(body.key, str):
        if body.source is not NetworkSource.CROWDSEC:
            raise _bad("key is for lists of the source crowdsec only.")
        key = sealer.seal(body.key.encode(), sealing_context(call.site_id, name))
    if body.source is NetworkSource.CROWDSEC and key is None:
        # Otherwise a stored key could be sent to any server.
        raise _bad("key is required for a new list or a new url of the source crowdsec.")
    made = before or StoredNetworkList(
        site_id=call.site_id,
        name=name,
        source=body.source,
        url=url,
        refresh_minutes=body.refresh_minutes,
        note=body.note,
        networks=EMPTY,
        count=0,
        revision=0,
        created_ms=int(call.now),
        created_by=call.actor.name,
        changed_ms=int(call.now),
    )
    return replace(
        made,
        url=url,
        key=key,
        refresh_minutes=body.refresh_minutes,
        note=body.note,
        etag="" if is_new_url else made.etag,
        revision=made.revision + 1,
        due_ms=None if body.source is NetworkSource.OWN else int(call.now),
    )


def _url(body: NetworkListInput, outbound: Outbound) -> str:
    if body.source is NetworkSource.OWN:
        if isinstance(body.url, str):
            raise _bad("url is for lists of the sources url and crowdsec only.")
        return ""
    if not isinstance(body.url, str):
        raise _bad(f"url is required for a list of the source {body.source.value}.")
    try:
        outbound.check(body.url)
    except OutboundFailed as failed:
        raise _bad(f"url {failed.reason}.") from None
    return body.url


def _changed(
    before: StoredNetworkList, added: list[Network], removed: list[Network], call: SiteCall, *, empty: bool
) -> StoredNetworkList:
    networks = changed([] if empty else unpack(before.networks), added, removed)
    return replace(
        before, networks=pack(networks), count=len(networks), revision=before.revision + 1, changed_ms=int(call.now)
    )


async def _save_change(
    call: SiteCall, before: StoredNetworkList, after: StoredNetworkList, stores: NetworkListStores
) -> NetworkList | None:
    await stores.network_lists.lock_networks(call.site_id)
    others = await stores.network_lists.find_all(call.site_id)
    total = after.count + sum(each.count for each in others if each.name != after.name)
    if total > NETWORKS_PER_SITE and after.count > before.count:
        raise Refused("invalid_state", f"The site's network lists would have {total} networks of {NETWORKS_PER_SITE}.")
    if not await stores.network_lists.save_if(after, before.revision):
        return None
    if after.networks != before.networks:
        await stores.configuration.bump_site(call.site_id)
    detail = {"networks": {"from": before.count, "to": after.count}}
    await _record(stores, call, Action.NETWORK_LIST_CHANGE, after.name, detail)
    return _show(after, _uses(await stores.rules.find_rules(call.site_id)))


def _read_all(field: str, texts: Iterable[str]) -> list[Network]:
    found = []
    for index, text in enumerate(texts):
        try:
            found.append(read_plain(text.strip(), strict=True))
        except ValueError:
            raise _bad(f"{field}[{index}]: {network_problem(text.strip())}") from None
    return merge(found)


def _read(text: str) -> Network:
    try:
        return read_plain(text.strip(), strict=True)
    except ValueError:
        raise _bad("q must be an address or a network, such as 203.0.113.7.") from None


async def _find(stores: NetworkListStores, call: SiteCall) -> StoredNetworkList:
    found = await stores.network_lists.find(call.site_id, call.params["listName"])
    if found is None:
        raise Refused("not_found", "The site has no network list with this name.")
    return found


def _uses(stored: StoredRules | None) -> dict[str, list[str]]:
    """Return the names of rules by the network list that they name."""
    found: dict[str, list[str]] = {}
    for item in effective_of(stored).rules:
        for match in matches_of(item):
            for name in {each for key in ("network_lists", f"{NOT}network_lists") for each in match.get(key, ())}:
                found.setdefault(name, []).append(item["name"])
    return found


def _show(found: StoredNetworkList, used: dict[str, list[str]]) -> NetworkList:
    has_source = found.source is not NetworkSource.OWN
    return to_wire(
        found,
        NetworkList,
        networks=found.count,
        rules=used.get(found.name, []),
        url=found.url or UNSET,
        refresh_minutes=found.refresh_minutes if has_source else UNSET,
    )


def _bad(message: str) -> Refused:
    return Refused("invalid_request", message)


async def _record(stores: NetworkListStores, call: SiteCall, action: Action, name: str, detail: dict[str, Any]) -> None:
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=name)
    await record(stores, call, action, subject, detail)
