"""`agentgate labels export`: every decision label of a site, from a running service, one JSON object a line."""

import json
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from agentgate.lib.limits import LABELS_LIMIT
from agentgate.lib.settings.schema import read_process_settings
from agentgate.server.cli.operator_calls import OperatorCalls, UrlOption
from agentgate.server.cli.options import CommandRefused, ConfigOption

labels = typer.Typer(
    help="Get decision labels out of a running service.",
    epilog="Example: agentgate labels export --site-key site_shop1 > labels.ndjson",
)


@labels.callback()
def options() -> None:
    # With a callback, a single command keeps its name.
    pass


@labels.command("export", epilog="Example: agentgate labels export --site-key site_shop1 > labels.ndjson")
def export(
    site_key: Annotated[str, typer.Option("--site-key", help="The site whose labels to export.")],
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Print every decision label of a site, oldest update first, for `agentgate train`."""
    settings = read_process_settings(config)
    count = 0
    for item in _items(OperatorCalls(settings, url), site_key):
        print(json.dumps(item, separators=(",", ":")))
        count += 1
    typer.secho(f"{count} labels", err=True)


def _items(service: OperatorCalls, site_key: str) -> Iterator[Any]:
    cursor: str | None = None
    while True:
        query = {"siteKey": site_key, "limit": str(LABELS_LIMIT.most)} | ({"cursor": cursor} if cursor else {})
        page = _page(service, f"/v1/admin/labels?{urlencode(query)}")
        yield from page["items"]
        before, cursor = cursor, page.get("nextCursor")
        if cursor is None:
            return
        if cursor == before:
            raise CommandRefused("the service answered the same page twice; nothing more was exported")


def _page(service: OperatorCalls, path: str) -> dict[str, Any]:
    page = service.ask("GET", path)
    if not isinstance(page, dict) or not isinstance(page.get("items"), list):
        raise CommandRefused(f"{service.host} did not answer with labels; is --url the admin listener?")
    return page
