# ruff: noqa: INP001 - outside of the package, for `generate.py`
"""The page of the command line, made from the commands."""

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

import click

from agentgate.server.cli import COMMANDS, command_line
from tools.templates import filled

# Options with the same meaning everywhere: shown once.
COMMON = ("--config", "--url", "--json")
# Heading -> the commands below it, in this order.
GROUPS = {
    "Run the service": ("serve", "check-config", "selftest", "version", "routes", "openapi"),
    "Protect a site": (
        "protect",
        "apply",
        "adapter",
        "doctor",
        "site",
        "credential",
        "fleet",
        "invite",
        "setup-link",
        "reset-link",
    ),
    "Inspect decisions": ("tail", "explain", "classify", "labels"),
    "Rules": ("rules", "networks", "feed", "import"),
    "Data and keys": ("migrate", "backup", "restore", "copy", "keys", "intel", "probes"),
    "Models and agents": ("train", "agent-sim", "agent-keys", "mcp"),
}


def cli_page(notice: str) -> str:
    """Return docs/cli.md."""
    root = command_line()
    listed = [name for names in GROUPS.values() for name in names]
    # A new command needs a group; a test of the generated files fails here otherwise.
    if sorted(listed) != sorted(each.name for each in COMMANDS):
        raise ValueError("GROUPS does not list every command once")
    shared = {name: each for command in root.commands.values() for each in command.params for name in each.opts}
    common = [_row(shared[name], {}) for name in COMMON]
    parts: list[str] = []
    for title, names in GROUPS.items():
        parts += [f"## {title}", ""]
        for name in names:
            parts += _sections(root.commands[name], f"agentgate {name}")
    return filled("cli", notice=notice, common="\n".join(common), commands="\n".join(parts).rstrip())


def _sections(command: click.Command, name: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        for child, each in command.commands.items():
            yield from _sections(each, f"{name} {child}")
        return
    # `parameters.py` puts the arguments below the description, each as a paragraph.
    named = {each.name.upper() for each in command.params if isinstance(each, click.Argument) and each.name}
    arguments: dict[str, str] = {}
    description: list[str] = []
    for paragraph in (command.help or "").split("\n\n"):
        name_of, _, meaning = paragraph.partition(": ")
        if name_of in named:
            arguments[name_of] = meaning
        else:
            description.append(paragraph)
    shared = [f"`{each.opts[0]}`" for each in command.params if each.opts[0] in COMMON]
    example = (command.epilog or "").removeprefix("Example: ")
    yield from (f"### {name}", "", "```sh", example, "```", "")
    yield from (" ".join(" ".join(description).split()) + (f" Also: {', '.join(shared)}." if shared else ""), "")
    rows = [_row(each, arguments) for each in command.params if each.opts[0] not in COMMON]
    if rows:
        yield from ("| Argument or option | Meaning |", "| --- | --- |", *rows, "")


def _row(given: click.Parameter, arguments: Mapping[str, str]) -> str:
    default = given.default.value if isinstance(given.default, Enum) else given.default
    notes: list[str] = []
    if isinstance(given, click.Option):
        names, meaning = [*given.opts, *given.secondary_opts], given.help or ""
        notes += ["required"] if given.required else []
    else:
        names = [(given.name or "").upper()]
        meaning = arguments.get(names[0], "")
        notes += [] if given.required else ["optional"]
    if isinstance(default, str | int | float | Path) and not isinstance(default, bool) and default != "":
        notes.append(f"default `{default}`")
    note = f" ({', '.join(notes)})" if notes else ""
    shown = meaning.replace("|", "\\|")
    return f"| {', '.join(f'`{name}`' for name in names)} | {shown}{note} |"
