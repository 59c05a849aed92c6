"""`agentgate version` and `agentgate check-config`: which release this is, and with which settings it would run."""

import platform
from importlib import metadata
from typing import Annotated

import apsw

from agentgate import __version__
from agentgate.lib.settings.page import settings_page
from agentgate.lib.settings.schema import Settings, describe
from agentgate_tools.commands.command import CommandAnswer, PrintedTable
from agentgate_tools.commands.parameters import Option


def version() -> CommandAnswer:
    """Print the versions of agentgate, Python, SQLite and uvicorn, which matter in a bug report."""
    versions = {
        "agentgate": __version__,
        "python": platform.python_version(),
        # Not the sqlite3 module's: the library in use is the one that apsw brings.
        "sqlite": apsw.sqlite_lib_version(),
        "uvicorn": metadata.version("uvicorn"),
    }
    return CommandAnswer(versions, [f"{name} {number}" for name, number in versions.items()])


def check_config(
    settings: Settings,
    page: Annotated[bool, Option("--page", help="Print the documentation page docs/settings.md.")] = False,
) -> CommandAnswer:
    """Check the settings and print them, secrets hidden. Exit code 2 lists every problem."""
    rows = describe(settings)
    people = PrintedTable("Settings", ("Setting", "Value", "Source", "Meaning"), rows)
    return CommandAnswer([row._asdict() for row in rows], settings_page().removesuffix("\n") if page else people)
