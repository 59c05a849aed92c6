"""`agentgate labels export`: every decision label of a site, from a running service, one JSON object a line."""

import json
from typing import Annotated

import typer

from agentgate.lib.limits import LABELS_LIMIT
from agentgate.server.cli.options import ConfigOption
from agentgate.server.cli.remote.admin_api import UrlOption, open_api

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
    count = 0
    for item in open_api(url, config).items("/labels", siteKey=site_key, limit=str(LABELS_LIMIT.most)):
        print(json.dumps(item, separators=(",", ":")))
        count += 1
    typer.secho(f"{count} labels", err=True)
