"""`agentgate feed`: the addresses that a site's firewall may drop, as a list or as a script of nftables."""

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import click

from agentgate_tools.commands.api_client import HttpApi
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, command, read_file
from agentgate_tools.commands.parameters import Argument, Option

feed = click.Group(
    help="Read the feed of a site (setting blockFeed) for a firewall.",
    epilog="Example: agentgate feed list http://127.0.0.1:8080 --secret-file /etc/agentgate/secret",
)
AddressArgument = Annotated[str, Argument(help="Address of AgentGate's public listener.")]
SecretOption = Annotated[Path, Option("--secret-file", help="File with a backend secret of the site.")]
TABLE = "inet agentgate"
# Family of nftables -> type of its addresses.
FAMILIES = {"ip": "ipv4_addr", "ip6": "ipv6_addr"}
_DURATION = re.compile(r"[0-9]{1,5}s\Z")


class Dropped(NamedTuple):
    """An address in its canonical form, and how long it is dropped."""

    address: str
    duration: str


@command(feed, "list", "agentgate feed list http://127.0.0.1:8080 --secret-file /etc/agentgate/secret")
def list_feed(url: AddressArgument, secret_file: SecretOption) -> CommandAnswer:
    """Print the addresses, one in each line."""
    found = _read(url, secret_file)
    return CommandAnswer(found, "\n".join(each.address for each in found))


@command(
    feed, "nftables", "agentgate feed nftables http://127.0.0.1:8080 --secret-file /etc/agentgate/secret | nft -f -"
)
def print_nftables(url: AddressArgument, secret_file: SecretOption) -> CommandAnswer:
    """Print a script that replaces the addresses in table inet agentgate, which drops them at ports 80 and 443."""
    found = _read(url, secret_file)
    return CommandAnswer(found, "\n".join(nftables(found)))


def nftables(found: Sequence[Dropped]) -> Iterator[str]:
    """Return the lines of a script, which nft runs as one transaction, as often as wanted."""
    yield f"add table {TABLE}"
    yield f"add chain {TABLE} input {{ type filter hook input priority -10; policy accept; }}"
    yield f"flush chain {TABLE} input"
    for family, kind in FAMILIES.items():
        name = f"blocked_{family}"
        elements = [
            f"{each.address} timeout {each.duration}" for each in found if (":" in each.address) is (family == "ip6")
        ]
        yield f"add set {TABLE} {name} {{ type {kind}; flags timeout; }}"
        yield f"flush set {TABLE} {name}"
        if elements:
            yield f"add element {TABLE} {name} {{ {', '.join(elements)} }}"
        yield f"add rule {TABLE} input meta l4proto {{ tcp, udp }} th dport {{ 80, 443 }} {family} saddr @{name} drop"


def _read(url: str, secret_file: Path) -> list[Dropped]:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise CommandRefused(f"{url} is not the address of a listener; give one such as http://127.0.0.1:8080")
    secret = read_file(secret_file, "give a file that contains only the secret").strip()
    found = HttpApi(url.rstrip("/"), {"X-Api-Key": secret}).get("/v1/decisions") or []
    try:
        return [_dropped(each) for each in found]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CommandRefused(f"{url} did not return a feed; is it AgentGate?") from None


def _dropped(found: Any) -> Dropped:
    """Read a decision strictly: nft runs the script as root."""
    if not _DURATION.match(found["duration"]):
        raise ValueError(found["duration"])
    return Dropped(str(ip_address(found["value"])), found["duration"])
