"""What several commands take, and the exception with which a command refuses."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# Wide enough that a file or a pipe gets every row on one line.
UNLIMITED_COLUMNS = 400

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="TOML file with settings; without it, ./agentgate.toml if there is one."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


class CommandRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """A command cannot do what it was asked. The message says why and what would be right."""


def print_json(value: Any) -> None:
    """Print a value as JSON for programs."""
    print(json.dumps(value, indent=2))


def print_outcome(value: Any, sentence: str, *, as_json: bool) -> None:
    """Print what a change left behind: the service's own answer for programs, a sentence for people."""
    print_json(value) if as_json else print(sentence)


def print_table(title: str, headings: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table for people; cells are text, never markup, and are folded rather than cut."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console = Console()
    (console if console.is_terminal else Console(width=UNLIMITED_COLUMNS)).print(table)
