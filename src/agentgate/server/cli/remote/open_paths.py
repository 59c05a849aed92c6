"""`agentgate site protect|open|close`: whole-site protection, and paths that are open to one sender."""

from typing import Annotated, Any

import typer

from agentgate.server.cli.options import ConfigOption
from agentgate.server.cli.remote.admin_api import AdminApi, SiteArgument, UrlOption, open_api, site_path
from agentgate.server.cli.remote.sites import site

__all__ = ["site"]

PathArgument = Annotated[str, typer.Argument(help="A path, such as /hooks/stripe, or /hooks/* for all below it.")]


@site.command("protect", epilog="Example: agentgate site protect site_shop1")
def protect_site(
    site_key: SiteArgument,
    off: Annotated[bool, typer.Option("--off", help="Ask browsers on the site's routes only, as before.")] = False,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Make every browser prove itself once, whatever it asks for. Programs are left to the rules."""
    found = _change(open_api(url, config), site_key, {"wholeSite": not off})
    print(f"{site_key}: whole-site protection is {'off' if off else 'on'}, mode {found['mode']}")
    if not off and found["mode"] == "monitor":
        print("In monitor mode nobody is asked yet; the decisions show who would be.")


@site.command("open", epilog="Example: agentgate site open site_shop1 /hooks/stripe --to stripe")
def open_path(  # noqa: PLR0917 - options of a command
    site_key: SiteArgument,
    path: PathArgument,
    to: Annotated[str, typer.Option("--to", help="A service's name, an address or network, or anyone.")],
    note: Annotated[str | None, typer.Option("--note", help="What it is for.")] = None,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Open a path to one sender, whatever routes and rules say."""
    api = open_api(url, config)
    entry = {"path": path, "sender": to} | ({} if note is None else {"note": note})
    kept = [each for each in _read(api, site_key)["openPaths"] if (each["path"], each["sender"]) != (path, to)]
    _change(api, site_key, {"openPaths": [*kept, entry]})
    print(f"{site_key}: {path} is open to {to}")


@site.command("close", epilog="Example: agentgate site close site_shop1 /hooks/stripe")
def close_path(site_key: SiteArgument, path: PathArgument, url: UrlOption = None, config: ConfigOption = None) -> None:
    """Close a path again, to everybody it was opened to."""
    api = open_api(url, config)
    before = _read(api, site_key)["openPaths"]
    after = [each for each in before if each["path"] != path]
    _change(api, site_key, {"openPaths": after})
    print(f"{site_key}: {path} {'is closed' if len(after) < len(before) else 'was not open'}")


def _read(api: AdminApi, site_key: str) -> Any:
    return api.get(site_path(site_key))


def _change(api: AdminApi, site_key: str, fields: dict[str, Any]) -> Any:
    return api.call("PATCH", site_path(site_key), fields)
