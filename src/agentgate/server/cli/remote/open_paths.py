"""`agentgate site protect|open|close`: whole-site protection, and paths that are open to one sender."""

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from agentgate.server.cli.options import ConfigOption, JsonOption, print_outcome
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
    as_json: JsonOption = False,
) -> None:
    """Make every browser prove itself once, whatever it asks for. Programs are left to the rules."""
    found = _change(open_api(url, config), site_key, {"wholeSite": not off})
    told = f"{site_key}: whole-site protection is {'off' if off else 'on'}, mode {found['mode']}"
    if not off and found["mode"] == "monitor":
        told += "\nIn monitor mode nobody is asked yet; the decisions show who would be."
    print_outcome(found, told, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class OpenOptions:
    """The arguments of `site open`; a function would have to take too many."""

    site_key: SiteArgument
    path: PathArgument
    to: Annotated[str, typer.Option("--to", help="A service's name, an address or network, or anyone.")]
    note: Annotated[str | None, typer.Option("--note", help="What it is for.")] = None
    url: UrlOption = None
    config: ConfigOption = None
    as_json: JsonOption = False


def open_path(**given: Any) -> None:
    """Open a path to one sender, whatever routes and rules say."""
    options = OpenOptions(**given)
    api = open_api(options.url, options.config)
    entry = {"path": options.path, "sender": options.to} | ({} if options.note is None else {"note": options.note})
    known = _read(api, options.site_key)["openPaths"]
    kept = [each for each in known if (each["path"], each["sender"]) != (options.path, options.to)]
    found = _change(api, options.site_key, {"openPaths": [*kept, entry]})
    told = f"{options.site_key}: {options.path} is open to {options.to}"
    print_outcome(found, told, as_json=options.as_json)


# Typer reads the arguments from here.
open_path.__signature__ = inspect.signature(OpenOptions)  # type: ignore[attr-defined]
site.command("open", epilog="Example: agentgate site open site_shop1 /hooks/stripe --to stripe")(open_path)


@site.command("close", epilog="Example: agentgate site close site_shop1 /hooks/stripe")
def close_path(
    site_key: SiteArgument,
    path: PathArgument,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close a path again, to everybody it was opened to."""
    api = open_api(url, config)
    before = _read(api, site_key)["openPaths"]
    after = [each for each in before if each["path"] != path]
    found = _change(api, site_key, {"openPaths": after})
    told = f"{site_key}: {path} {'is closed' if len(after) < len(before) else 'was not open'}"
    print_outcome(found, told, as_json=as_json)


def _read(api: AdminApi, site_key: str) -> Any:
    return api.get(site_path(site_key))


def _change(api: AdminApi, site_key: str, fields: dict[str, Any]) -> Any:
    return api.call("PATCH", site_path(site_key), fields)
