"""`agentgate intel`: import public lists of networks and crawlers, and show what is loaded."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentgate.lib.clock import SystemClock, to_rfc3339
from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.server.cli.list_files import find_lists
from agentgate.server.cli.options import CommandRefused, ConfigOption, JsonOption, print_json, print_table

if TYPE_CHECKING:
    from agentgate.protection.threat_data.imports import FileReport

# Under the data folder, when no folder of threat data is set.
DEFAULT_FOLDER = "intel"

intel = typer.Typer(
    help="Import public lists of networks and crawlers, and show what is loaded.",
    epilog="Example: agentgate intel show",
)


def intel_folder(settings: Settings) -> Path:
    """Return the folder of the imported set."""
    return settings.intel_dir or settings.data_dir / DEFAULT_FOLDER


@intel.command("update", epilog="Example: agentgate intel update /var/lib/lists")
def update(
    source: Annotated[
        str, typer.Argument(help="A folder with lists as their publishers offer them, one such file, or its https URL.")
    ],
    skip_refused: Annotated[
        bool, typer.Option("--skip-refused", help="Take the rest of a list when some of its lines cannot be read.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Read lists and put them in force together. A running service takes them over within a minute.

    A folder replaces all that was imported. A single file or URL is kept in `lists` beside the set and replaces its
    namesake there.
    """
    from agentgate.protection.threat_data.imports import import_folder, refused_lines  # noqa: PLC0415 - keeps the command line quick
    from agentgate.protection.threat_data.intel_file import FILE_NAME, write_set  # noqa: PLC0415 - likewise

    settings = read_process_settings(config)
    folder = find_lists(source, intel_folder(settings))
    imported, reports = import_folder(folder, now_ms=SystemClock().now_ms())
    for report in reports:
        _print_report(report)
    refused = refused_lines(reports)
    if refused and not skip_refused:
        raise CommandRefused(f"{refused} line(s) refused, nothing changed; mend the lists or add --skip-refused")
    target = intel_folder(settings) / FILE_NAME
    write_set(target, imported)
    print(f"Written: {target}")


@intel.command("show", epilog="Example: agentgate intel show --json")
def show(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print what a service with these settings loads: each source, its kind and how much it gave."""
    from agentgate.protection.threat_data.intel import load_intel  # noqa: PLC0415 - keeps the command line quick

    folder = intel_folder(read_process_settings(config))
    loaded = load_intel(folder)
    rows = [{"source": line.file, "kind": line.kind, "taken": line.taken} for line in loaded.sources]
    imported = to_rfc3339(loaded.imported_ms) if loaded.imported_ms else None
    if as_json:
        print_json({"folder": str(folder), "imported": imported, "tokens": len(loaded.tokens.tokens), "sources": rows})
        return
    cells = [(str(row["source"]), str(row["kind"]), str(row["taken"])) for row in rows]
    print_table(f"Threat data of {imported or 'the package alone'}", ("Source", "Kind", "Entries"), cells)


def _print_report(report: "FileReport") -> None:
    print(f"{report.file} ({report.kind}): {report.taken} taken, {report.refused} refused")
    for refusal in report.refusals:
        print(f"  {report.file}:{refusal.line}: {refusal.reason}")
