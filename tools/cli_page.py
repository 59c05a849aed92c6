# ruff: noqa: INP001 - beside the package, for `generate.py`
"""The page of the command line, made from the commands."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from agentgate.server.cli import COMMANDS, command_line
from tools.templates import filled

# Options with the same meaning everywhere: shown once.
COMMON = ("--config", "--url", "--json")
# Heading -> the commands below it, in this order.
GROUPS = {
    "Run the service": ("serve", "check-config", "selftest", "version", "routes", "openapi"),
    "Protect a site": ("protect", "apply", "adapter", "doctor", "site", "credential", "invite"),
    "Inspect decisions": ("tail", "explain", "classify", "labels"),
    "Rules": ("rules",),
    "Data and keys": ("migrate", "backup", "restore", "copy", "keys", "intel", "probes"),
    "Models and agents": ("train", "agent-sim", "mcp"),
}


def cli_page(notice: str) -> str:
    """Return docs/cli.md."""
    root = typer.main.get_command(command_line())
    listed = [name for names in GROUPS.values() for name in names]
    # A new command needs a group; a test of the generated files fails here otherwise.
    if sorted(listed) != sorted(each.name for each in COMMANDS):
        raise ValueError("GROUPS does not list every command once")
    shared = {name: each for command in root.commands.values() for each in command.params for name in each.opts}  # type: ignore[attr-defined]
    common = [_row(shared[name]) for name in COMMON]
    parts: list[str] = []
    for title, names in GROUPS.items():
        parts += [f"## {title}", ""]
        for name in names:
            parts += _sections(root.commands[name], f"agentgate {name}")  # type: ignore[attr-defined]
    return filled("cli", notice=notice, common="\n".join(common), commands="\n".join(parts).rstrip())


def _sections(command: Any, name: str) -> Iterator[str]:
    below = getattr(command, "commands", None)
    if below:
        for child, each in below.items():
            yield from _sections(each, f"{name} {child}")
        return
    own = [each for each in command.params if each.opts[0] not in COMMON]
    shared = [f"`{each.opts[0]}`" for each in command.params if each.opts[0] in COMMON]
    yield from (f"### {name}", "", "```sh", command.epilog.removeprefix("Example: "), "```", "")
    yield from (" ".join((command.help or "").split()) + (f" Also: {', '.join(shared)}." if shared else ""), "")
    if own:
        yield from ("| Argument or option | Meaning |", "| --- | --- |", *map(_row, own), "")


def _row(option: Any) -> str:
    is_argument = option.param_type_name == "argument"
    names = [option.name.upper()] if is_argument else [*option.opts, *option.secondary_opts]
    shown = option.default.value if isinstance(option.default, Enum) else option.default
    notes = ["required"] if option.required and not is_argument else []
    if not isinstance(shown, bool) and shown not in (None, "", ()):
        notes.append(f"default `{shown}`")
    if is_argument and not option.required:
        notes.append("optional")
    meaning = (option.help or "").replace("|", "\\|")
    note = f" ({', '.join(notes)})" if notes else ""
    return f"| {', '.join(f'`{name}`' for name in names)} | {meaning}{note} |"
