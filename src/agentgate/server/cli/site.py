"""`agentgate site`: whole-site protection on and off, and a path opened to one sender, on a running service."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from agentgate.lib.settings.schema import read_process_settings
from agentgate.server.cli.operator_calls import OperatorCalls, UrlOption
from agentgate.server.cli.options import ConfigOption

site = typer.Typer(
    help="Protect a site as a whole, and open paths to one sender each.",
    epilog="Example: agentgate site protect site_shop1",
)

SiteKeyArgument = Annotated[str, typer.Argument(help="The site's key.")]
PathArgument = Annotated[str, typer.Argument(help="A path, such as /hooks/stripe, or /hooks/* for all below it.")]


@site.command("protect", epilog="Example: agentgate site protect site_shop1")
def protect(
    site_key: SiteKeyArgument,
    off: Annotated[bool, typer.Option("--off", help="Ask browsers on the site's routes only, as before.")] = False,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Make every browser prove itself once, whatever it asks for. Programs are left to the rules."""
    found = _change(OperatorCalls(read_process_settings(config), url), site_key, {"wholeSite": not off})
    print(f"{site_key}: whole-site protection is {'off' if off else 'on'}, mode {found['mode']}")
    if not off and found["mode"] == "monitor":
        print("In monitor mode nobody is asked yet; the decisions show who would be.")


@site.command("open", epilog="Example: agentgate site open site_shop1 /hooks/stripe --to stripe")
def open_path(  # noqa: PLR0917 - options of a command
    site_key: SiteKeyArgument,
    path: PathArgument,
    to: Annotated[str, typer.Option("--to", help="A service's name, an address or network, or anyone.")],
    note: Annotated[str | None, typer.Option("--note", help="What it is for.")] = None,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Open a path to one sender, whatever routes and rules say."""
    service = OperatorCalls(read_process_settings(config), url)
    entry = {"path": path, "sender": to} | ({} if note is None else {"note": note})
    kept = [each for each in _read(service, site_key)["openPaths"] if (each["path"], each["sender"]) != (path, to)]
    _change(service, site_key, {"openPaths": [*kept, entry]})
    print(f"{site_key}: {path} is open to {to}")


@site.command("close", epilog="Example: agentgate site close site_shop1 /hooks/stripe")
def close_path(
    site_key: SiteKeyArgument, path: PathArgument, url: UrlOption = None, config: ConfigOption = None
) -> None:
    """Close a path again, to everybody it was opened to."""
    service = OperatorCalls(read_process_settings(config), url)
    before = _read(service, site_key)["openPaths"]
    after = [each for each in before if each["path"] != path]
    _change(service, site_key, {"openPaths": after})
    print(f"{site_key}: {path} {'is closed' if len(after) < len(before) else 'was not open'}")


def _read(service: OperatorCalls, site_key: str) -> Any:
    return service.ask("GET", f"/v1/admin/sites/{quote(site_key, safe='')}")


def _change(service: OperatorCalls, site_key: str, fields: dict[str, Any]) -> Any:
    return service.ask("PATCH", f"/v1/admin/sites/{quote(site_key, safe='')}", fields)
