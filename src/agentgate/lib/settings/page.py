"""The documentation page of the settings."""

from agentgate.lib.settings.schema import FILE_SUFFIX, SettingRow, settings_table

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
