"""`agentgate check-config`: what the settings are and where they came from, without secrets."""

from typing import Annotated

import typer

from agentgate.lib.settings.schema import describe, read_process_settings, settings_page
from agentgate.server.cli.options import ConfigOption, JsonOption, print_json, print_table


def check_config(
    config: ConfigOption = None,
    as_json: JsonOption = False,
    page: Annotated[bool, typer.Option("--page", help="Print the page docs/settings.md instead.")] = False,
) -> None:
    """Check the settings and print them, secrets hidden. Exit code 2 lists every problem."""
    if page:
        print(settings_page(), end="")
        return
    rows = describe(read_process_settings(config))
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    print_table("Settings", ("Setting", "Value", "Source", "Meaning"), rows)
