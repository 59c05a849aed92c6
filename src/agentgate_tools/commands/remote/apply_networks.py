"""Network lists in a site's file: an own list with its networks, all others with their source. No file has a key."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgate.lib.enums import NetworkSource
from agentgate.lib.limits import NETWORK_PAGE
from agentgate.sites.lists.networks import merge, read_plain
from agentgate_tools.commands.api_client import AdminApi, site_path
from agentgate_tools.commands.command import CommandRefused
from agentgate_tools.commands.remote.networks import put_networks

NETWORK_LISTS = "networkLists"
_KEYS = ("name", "source", "url", "refreshMinutes", "note")
Lists = Sequence[Mapping[str, Any]]


def read_lists(api: AdminApi, site_key: str) -> list[dict[str, Any]]:
    """Return the network lists of a site as a file has them."""
    return [_shown(api, site_key, each) for each in api.get(site_path(site_key, "network-lists"))["items"]]


def normalized(wanted: Any) -> list[dict[str, Any]]:
    """Return the lists of a file as `read_lists` returns them: by name, networks in their canonical form."""
    if not isinstance(wanted, list) or not all(isinstance(each, dict) and each.get("name") for each in wanted):
        raise CommandRefused(f"{NETWORK_LISTS} must be a list of objects, as `agentgate site export` prints it")
    found = {}
    for each in wanted:
        source = each.get("source", NetworkSource.OWN.value)
        found[each["name"]] = each | {"source": source}
        if source == NetworkSource.OWN:
            found[each["name"]]["networks"] = _canonical(each)
    if len(found) < len(wanted):
        raise CommandRefused(f"{NETWORK_LISTS} must have each name once")
    return [{key: value for key, value in found[name].items() if value != ""} for name in sorted(found)]


def save_lists(api: AdminApi, site_key: str, plan: Mapping[str, Any]) -> None:
    """Create and change lists. Before the rules are saved, which may name them."""
    before = {each["name"]: each for each in plan["before"] or ()}
    for each in plan["after"]:
        known = before.get(each["name"], {})
        if {**each, "networks": None} != {**known, "networks": None}:
            body = {key: value for key, value in each.items() if key not in {"name", "networks"}}
            api.call("PUT", site_path(site_key, "network-lists", each["name"]), body)
        networks = each.get("networks")
        if networks is not None and networks != known.get("networks", []):
            put_networks(api, site_key, each["name"], networks, replace=True)


def delete_lists(api: AdminApi, site_key: str, plan: Mapping[str, Any]) -> None:
    """Delete lists that the file does not have. After the rules are saved, which may have named them."""
    kept = {each["name"] for each in plan["after"]}
    for each in plan["before"] or ():
        if each["name"] not in kept:
            api.call("DELETE", site_path(site_key, "network-lists", each["name"]))


def differences(before: Lists | None, after: Lists) -> Iterator[str]:
    """Return a line for each list that changes; thousands of networks as numbers."""
    old, new = ({each["name"]: each for each in lists or ()} for lists in (before, after))
    for name in sorted({*old, *new}):
        one, other = old.get(name), new.get(name)
        if one == other:
            continue
        was, becomes = (set((each or {}).get("networks", ())) for each in (one, other))
        sign = "+" if one is None else "-" if other is None else "~"
        source = (other or one or {}).get("source")
        counts = f", networks: {len(becomes - was)} added, {len(was - becomes)} removed" if was != becomes else ""
        yield f"{sign} {NETWORK_LISTS}.{name}: {source}{counts}"


def _shown(api: AdminApi, site_key: str, found: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: found[key] for key in _KEYS if found.get(key, "") != ""}
    if found["source"] == NetworkSource.OWN:
        path = site_path(site_key, "network-lists", found["name"], "networks")
        shown["networks"] = list(api.items(path, limit=str(NETWORK_PAGE.most)))
    return shown


def _canonical(found: Mapping[str, Any]) -> list[str]:
    try:
        return [each.text() for each in merge([read_plain(text, strict=True) for text in found.get("networks", [])])]
    except (AttributeError, TypeError, ValueError):
        raise CommandRefused(f"networks of the list {found['name']} must be addresses and networks") from None
