"""`agentgate version` and `agentgate check-config`: release and settings, and the documentation page of settings."""

import platform
from importlib import metadata
from typing import Annotated

import apsw

from agentgate import __version__
from agentgate.lib.settings.schema import FILE_SUFFIX, SettingRow, Settings, describe, settings_table
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


PAGE = """\
# Settings

This page is generated from `src/agentgate/lib/settings/schema.py`: `agentgate check-config --page > docs/settings.md`.

A setting is an environment variable or a line of `agentgate.toml` (in the working directory, or the file of
`--config`) under its lower-case name without `AGENTGATE_`: `workers = 2`. The environment takes precedence. Lists have
commas between their items, or are TOML lists. Unknown names are errors, and all problems are reported together.

To keep a secret in a file, give its path instead: {secrets}.

`agentgate check-config` prints the effective settings and their sources, with secrets hidden.

| Name | Meaning | Default | Accepted |
| --- | --- | --- | --- |
{rows}
"""


def settings_page() -> str:
    """Return the Markdown page that lists the settings, `docs/settings.md`."""
    rows = [
        f"| `{entry.variable}` | {entry.setting.meaning} | {_shown_default(entry)} | {entry.setting.kind.right} |"
        for entry in settings_table()
    ]
    secrets = ", ".join(f"`{entry.variable}{FILE_SUFFIX}`" for entry in settings_table() if entry.setting.secret)
    return PAGE.format(rows="\n".join(rows), secrets=secrets)


def _shown_default(entry: SettingRow) -> str:
    shown = entry.setting.kind.show(entry.default)
    return f"`{shown}`" if shown else "empty"
