"""`agentgate intel`: import public lists of networks and crawlers, and show what is loaded."""

import shutil
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path
from typing import Annotated
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import click
import msgspec

from agentgate.decision.threat_data.intel import load_intel, search_kind
from agentgate.decision.threat_data.intel_file import FILE_NAME, read_set, write_set
from agentgate.decision.threat_data.search_operators import SearchOperator, read_operators
from agentgate.lib.clock import SystemClock, to_rfc3339
from agentgate.lib.settings.schema import Settings
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, JsonOption, PrintedTable, command
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.progress import Progress
from agentgate_tools.threat_lists.imports import import_folder, refused_lines

# Used in the data directory if no folder of threat data is configured.
DEFAULT_FOLDER = "intel"
LISTS = "lists"
# The source that stands for the published lists of all operators.
OPERATORS = "operators"
TIMEOUT_S = 60
MOST_BYTES = 256 * 1024 * 1024
LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})

intel = click.Group(
    help="Import public lists of networks and crawlers, and show the loaded data.",
    epilog="Example: agentgate intel show",
)


def intel_folder(settings: Settings) -> Path:
    """Return the folder of the imported set."""
    return settings.intel_dir or settings.data_dir / DEFAULT_FOLDER


@command(intel, "update", "agentgate intel update /var/lib/lists")
def update(
    source: Annotated[
        str,
        Argument(
            help="Folder with lists in their published formats, a single list file, its https URL, or `operators`."
        ),
    ],
    settings: Settings,
    skip_refused: Annotated[
        bool, Option("--skip-refused", help="Import the rest of a list if some of its lines are malformed.")
    ] = False,
    as_json: JsonOption = False,
) -> CommandAnswer:
    """Import lists and activate them together. A running service loads them within a minute.

    A folder replaces all imported lists. A single file or URL is stored in `lists` next to the imported data and
    replaces a list with the same name. `operators` fetches the networks that search engines and AI operators publish.
    """
    people = []
    if source == OPERATORS:
        folder = keep_lists(intel_folder(settings))
        people = fetch_operators(folder, read_operators())
    else:
        folder = find_lists(source, intel_folder(settings))
    imported, reports = import_folder(folder, now_ms=SystemClock().now_ms())
    for report in reports:
        people.append(f"{report.file} ({report.kind}): {report.taken} taken, {report.refused} refused")
        people += [f"  {report.file}:{refusal.line}: {refusal.reason}" for refusal in report.refusals]
    refused = refused_lines(reports)
    if refused and not skip_refused:
        if not as_json:
            print("\n".join(people))
        raise CommandRefused(f"{refused} malformed line(s): nothing changed; fix the lists or add `--skip-refused`")
    target = intel_folder(settings) / FILE_NAME
    write_set(target, imported)
    return CommandAnswer({"file": str(target), "lists": msgspec.to_builtins(reports)}, [*people, f"Written: {target}"])


@command(intel, "show", "agentgate intel show --json")
def show(settings: Settings) -> CommandAnswer:
    """Print the data that a service with these settings loads: sources, kinds and number of entries."""
    folder = intel_folder(settings)
    loaded = load_intel(folder)
    rows = [{"source": line.file, "kind": line.kind, "taken": line.taken} for line in loaded.sources]
    imported = to_rfc3339(loaded.imported_ms) if loaded.imported_ms else None
    return CommandAnswer(
        {"folder": str(folder), "imported": imported, "tokens": len(loaded.tokens.tokens), "sources": rows},
        PrintedTable(
            f"Threat data of {imported or 'the package alone'}",
            ("Source", "Kind", "Entries"),
            [map(str, row.values()) for row in rows],
        ),
    )


def find_lists(source: str, folder: Path) -> Path:
    """Return the folder of lists to import; a single list is added to the lists that were imported before."""
    is_url = "://" in source
    given = Path(source)
    if not is_url and given.is_dir():
        return given
    if not is_url and not given.is_file():
        raise CommandRefused(f"there is no folder, file or URL {source}; give one that holds lists")
    lists = keep_lists(folder)
    if is_url:
        _download(source, lists)
    else:
        shutil.copyfile(given, lists / given.name)
    return lists


def keep_lists(folder: Path) -> Path:
    """Return the folder of kept lists, with the active ones."""
    lists = folder / LISTS
    _check_kept(folder, lists)
    lists.mkdir(parents=True, exist_ok=True)
    return lists


def fetch_operators(lists: Path, operators: Iterable[SearchOperator]) -> list[str]:
    """Fetch the lists of operators. Return a line for each that failed; its old list remains active."""
    failed, fetched = [], 0
    with Progress() as progress:
        for operator in operators:
            for number, url in enumerate(operator.lists, start=1):
                progress.show(f"fetching the list of {operator.name}")
                try:
                    _download(url, lists, f"{search_kind(operator)}-{number}.json")
                    fetched += 1
                except CommandRefused as problem:
                    failed.append(f"{operator.name}: {problem}")
    if not fetched:
        raise CommandRefused(f"no list could be fetched: {failed[0]}")
    return failed


def _check_kept(folder: Path, lists: Path) -> None:
    """Raise CommandRefused if lists would be lost: the active threat data must come from the kept files."""
    if not (folder / FILE_NAME).exists():
        return
    kept = {path.name for path in lists.iterdir()} if lists.is_dir() else set()
    missing = sorted({line.file for line in read_set(folder / FILE_NAME).sources} - kept)
    if missing:
        raise CommandRefused(
            f"the active data was imported from {', '.join(missing)}, which are not in {lists}; "
            "copy them there, or give the whole folder"
        )


def _download(url: str, lists: Path, name: str | None = None) -> None:
    parts = urlsplit(url)
    name = name or parts.path.rpartition("/")[2]
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL):
        raise CommandRefused(
            f"{url} is not an https address; lists affect decisions, so they are fetched only over https"
        )
    if not name or name.startswith("."):
        raise CommandRefused(f"{url} does not end in a file name, which determines the kind of list")
    try:
        with urlopen(url, timeout=TIMEOUT_S) as reply:  # noqa: S310 - the scheme was checked
            content = reply.read(MOST_BYTES + 1)
    except HTTPError as problem:
        problem.close()
        raise CommandRefused(f"{url} could not be fetched: {problem}") from None
    except (HTTPException, URLError, OSError) as problem:
        raise CommandRefused(f"{url} could not be fetched: {problem}") from problem
    if len(content) > MOST_BYTES:
        raise CommandRefused(f"{url} has more than {MOST_BYTES} bytes; give a smaller list")
    unfinished = lists / f".{name}.unfinished"
    unfinished.write_bytes(content)
    unfinished.replace(lists / name)
