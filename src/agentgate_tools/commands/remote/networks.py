"""`agentgate networks`: a site's network lists, which rules name with `network_lists`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from agentgate.lib.enums import NetworkSource
from agentgate.lib.limits import LIST_REFRESH_MINUTES, NETWORK_PAGE, NETWORKS_PER_CHANGE
from agentgate_tools.commands.api_client import AdminApi, SiteArgument, site_path
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable, command, read_file
from agentgate_tools.commands.parameters import Argument, Option

networks = click.Group(
    help="Manage the network lists of a site: own lists, lists at a URL, bans of CrowdSec.",
    epilog="Example: agentgate networks list site_shop1",
)
NameArgument = Annotated[str, Argument(help="Name of the list, as rules use it.")]
TextsArgument = Annotated[list[str], Argument(help="Addresses and networks.")]


@command(networks, "list", "agentgate networks list site_shop1")
def list_lists(site_key: SiteArgument, api: AdminApi) -> CommandAnswer:
    """List the network lists of a site with the result of the last refresh."""
    found = api.get(site_path(site_key, "network-lists"))
    rows = [
        (
            each["name"],
            each.get("url") or each["source"],
            str(each["networks"]),
            ", ".join(each["rules"]),
            each.get("checkedAt", ""),
            each["problem"],
        )
        for each in found["items"]
    ]
    columns = ("Name", "Source", "Networks", "Rules", "Last read", "Problem")
    note = f"{found['networks']} networks of {found['mostNetworks']}"
    return CommandAnswer(found, PrintedTable("Network lists", columns, rows), note=note)


@dataclass(frozen=True, kw_only=True)
class SavedList:
    """The options of `networks save`."""

    source_url: Annotated[
        str | None, Option(help="Address of the list or of CrowdSec's local API. Default: own list.")
    ] = None
    source: Annotated[Literal["url", "crowdsec"], Option(help="Kind of source.")] = "url"
    key_file: Annotated[
        str | None, Option(help="File with the bouncer key of CrowdSec; - for standard input. Default: the stored key.")
    ] = None
    minutes: Annotated[int, Option(help="Minutes between two refreshes.")] = LIST_REFRESH_MINUTES.default
    note: Annotated[str, Option(help="Note on the purpose.")] = ""


@command(
    networks,
    "save",
    "agentgate networks save site_shop1 spamhaus-drop --source-url https://www.spamhaus.org/drop/drop.txt",
)
def save(site_key: SiteArgument, name: NameArgument, given: SavedList, api: AdminApi) -> CommandAnswer:
    """Create or change a network list."""
    body: dict[str, Any] = {"source": NetworkSource.OWN.value, "note": given.note}
    if given.source_url is not None:
        body |= {"source": given.source, "url": given.source_url, "refreshMinutes": given.minutes}
    if given.key_file is not None:
        body["key"] = (sys.stdin.read() if given.key_file == "-" else read_file(Path(given.key_file))).strip()
    found = api.call("PUT", site_path(site_key, "network-lists", name), body)
    return CommandAnswer(found, f"{name}: saved{(given.source_url and '; AgentGate reads it within seconds') or ''}")


@command(networks, "show", "agentgate networks show site_shop1 offices > offices.txt")
def show(
    site_key: SiteArgument,
    name: NameArgument,
    api: AdminApi,
    q: Annotated[str, Option("--q", help="Only networks that share addresses with this one.")] = "",
) -> CommandAnswer:
    """Print the networks of a list, one in each line."""
    found = list(api.items(site_path(site_key, "network-lists", name, "networks"), q=q, limit=str(NETWORK_PAGE.most)))
    return CommandAnswer(found, "\n".join(found))


@command(networks, "add", "agentgate networks add site_shop1 offices 203.0.113.0/24")
def add(
    site_key: SiteArgument,
    name: NameArgument,
    api: AdminApi,
    texts: Annotated[list[str] | None, Argument(help="Addresses and networks.")] = None,
    *,
    file: Annotated[Path | None, Option("--file", help="File with a network in each line, # before comments.")] = None,
    replace: Annotated[bool, Option("--replace", help="Remove all other networks.")] = False,
) -> CommandAnswer:
    """Add networks to an own list."""
    lines = [] if file is None else [line.partition("#")[0].strip() for line in read_file(file).splitlines()]
    given = [*(texts or ()), *filter(None, lines)]
    if not given:
        raise CommandRefused("Give networks or --file.")
    return CommandAnswer(put_networks(api, site_key, name, given, replace=replace), f"{name}: networks added")


@command(networks, "remove", "agentgate networks remove site_shop1 offices 203.0.113.0/24")
def remove(site_key: SiteArgument, name: NameArgument, texts: TextsArgument, api: AdminApi) -> CommandAnswer:
    """Remove networks, and what is inside them, from an own list."""
    found = api.call("POST", site_path(site_key, "network-lists", name, "networks"), {"remove": texts})
    return CommandAnswer(found, f"{name}: {found['networks']} networks left")


@command(networks, "refresh", "agentgate networks refresh site_shop1 spamhaus-drop")
def refresh(site_key: SiteArgument, name: NameArgument, api: AdminApi) -> CommandAnswer:
    """Read the source of a list now."""
    found = api.call("POST", site_path(site_key, "network-lists", name, "refresh"), {})
    return CommandAnswer(found, f"{name}: AgentGate reads it within seconds")


@command(networks, "delete", "agentgate networks delete site_shop1 offices")
def delete(site_key: SiteArgument, name: NameArgument, api: AdminApi) -> CommandAnswer:
    """Delete a network list that no rule names."""
    api.call("DELETE", site_path(site_key, "network-lists", name))
    return CommandAnswer({"deleted": name}, f"{name}: deleted")


def put_networks(api: AdminApi, site_key: str, name: str, texts: Sequence[str], *, replace: bool) -> Any:
    """Add networks to a list in several requests; without networks, `replace` empties it."""
    found: Any = None
    for at in range(0, len(texts) or 1, NETWORKS_PER_CHANGE):
        body = {"add": texts[at : at + NETWORKS_PER_CHANGE], "replace": replace and at == 0}
        found = api.call("POST", site_path(site_key, "network-lists", name, "networks"), body)
    return found
