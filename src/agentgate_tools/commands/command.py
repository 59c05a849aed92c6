"""How a command is declared and how it ends: the options it needs, its output, and its errors."""

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import click
import structlog
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate_tools.commands.parameters import Option, make_command

# Wide enough that a file or a pipe gets every row on one line.
UNLIMITED_COLUMNS = 400

ConfigOption = Annotated[
    Path | None,
    Option("--config", "-c", help="TOML file with settings. Default: ./agentgate.toml if it exists."),
]
JsonOption = Annotated[bool, Option("--json", help="Print JSON.")]

F = TypeVar("F", bound=Callable[..., Any])


class CommandRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """A command cannot run as requested. The message explains why and how to correct it."""


def read_file(path: Path, hint: str = "") -> str:
    """Return the text of a file that a command was given; an error message ends with the hint."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8 text, byte {error.start}"
    except OSError as error:
        reason = error.strerror or str(error)
    raise CommandRefused(f"{path} cannot be read ({reason}){hint and '; '}{hint}")


class PrintedTable(NamedTuple):
    """A table for people. Cells are text, never markup, and are folded rather than cut."""

    title: str
    headings: Sequence[str]
    rows: Iterable[Iterable[str]]


Printed = str | PrintedTable | Sequence[str | PrintedTable]


class CommandAnswer(NamedTuple):
    """The result of a command: a value for programs, text and tables for people, and the exit code."""

    value: Any
    people: Printed
    code: int = 0
    # Told to people on standard error, so that standard output can go into a file.
    note: str = ""


class Lines(NamedTuple):
    """Items that are printed as they come: JSON for programs, `text` of each for people."""

    items: Iterable[Any]
    text: Callable[[Any], str]


def _settings(config: ConfigOption = None) -> Settings:
    return read_process_settings(config)


# The types of parameters that a command can declare -> the function that creates the value. That function's parameters
# become options.
PROVIDERS: dict[Any, Callable[..., Any]] = {Settings: _settings}


def command(group: click.Group, name: str, example: str) -> Callable[[F], F]:
    """Register a function as a command that returns a CommandAnswer, Lines, an exit code or nothing; it has `--json`.

    Parameters are arguments and options as `parameters` reads them, what PROVIDERS make, or a dataclass of options.
    """

    def register(run: F) -> F:
        own = inspect.signature(run).parameters
        made = {each.name: maker for each in own.values() if (maker := _maker(each.annotation)) is not None}
        options: dict[str, inspect.Parameter] = {}
        for each in own.values():
            taken = inspect.signature(made[each.name]).parameters.values() if each.name in made else (each,)
            options |= {option.name: option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in taken}
        json_option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)
        options.setdefault("as_json", json_option)

        def call(**given: Any) -> int:
            values = {
                each: made[each](**{option: given[option] for option in inspect.signature(made[each]).parameters})
                if each in made
                else given[each]
                for each in own
            }
            with _logs_on_standard_error():
                answer = run(**values)
            return _show(answer, as_json=given["as_json"])

        call.__doc__ = run.__doc__
        call.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
        group.add_command(make_command(call, name=name, example=example))
        return run

    return register


def _maker(annotation: Any) -> Callable[..., Any] | None:
    if not isinstance(annotation, type):
        return None
    return annotation if is_dataclass(annotation) and annotation not in PROVIDERS else PROVIDERS.get(annotation)


@contextmanager
def _logs_on_standard_error() -> Iterator[None]:
    """Keep standard output for the result."""
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        yield
    finally:
        structlog.configure(**before)


def _show(answer: CommandAnswer | Lines | int | None, *, as_json: bool) -> int:
    if isinstance(answer, Lines):
        for item in answer.items:
            print(json.dumps(item, separators=(",", ":")) if as_json else answer.text(item), flush=True)
        return 0
    if not isinstance(answer, CommandAnswer):
        return answer or 0
    if as_json:
        print_json(answer.value)
        return answer.code
    show_people(answer.people)
    if answer.note:
        click.secho(answer.note, err=True)
    return answer.code


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def show_people(parts: Printed) -> None:
    """Print text and tables for people."""
    for part in (parts,) if isinstance(parts, str | PrintedTable) else parts:
        print(part) if isinstance(part, str) else _print_table(part)


def _print_table(printed: PrintedTable) -> None:
    table = Table(title=printed.title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, heading in enumerate(printed.headings):
        table.add_column(heading, overflow="fold", no_wrap=index == 0)
    for row in printed.rows:
        table.add_row(*(escape(cell) for cell in row))
    console = Console()
    (console if console.is_terminal else Console(width=UNLIMITED_COLUMNS)).print(table)
