# ruff: noqa: INP001 - beside the package, for `generate.py`
"""The page of the command line, made from the commands."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from agentgate.server.cli import COMMANDS, command_line

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

_PAGE = """<!-- {notice} -->

# Command line

Every `agentgate` command with its arguments and options. `--help` after a command shows the same text in the terminal.

An error is one line with exit code 2; `--debug` adds the traceback. `agentgate --install-completion` adds completion of
names to your shell. These options have the same meaning for every command that has them:

| Option | Meaning |
| --- | --- |
{common}

Commands with `--url` call the admin API of a running service. They read the operator credential from
`AGENTGATE_ADMIN_KEY` or from `admin.key` in the data directory.

{commands}

## Describe a site in a file

`agentgate apply site.yaml` creates or changes a site:

```yaml
siteKey: site_shop1
name: Shop
allowedOrigins: [https://shop.example]
mode: monitor
actions: {{login: {{browserRequired: true}}}}
routes: [{{method: POST, path: /login, action: login}}]
agentPolicy: {{default: allow}}
```

The fields are those of the [admin API](http-apis.md#sites); `rules` is a rule set and `agentPolicy` an agent policy. Fields
that the file omits keep their value. The command shows the plan and asks for confirmation; `--yes` skips the question.

## Connect an AI assistant with MCP

`agentgate mcp` gives an assistant access to the [console API](http-apis.md) through the
[Model Context Protocol](https://modelcontextprotocol.io). Create an API token with the scopes `sites:read` and
`analytics:read`; add `sites:write` to let the assistant save rules. Client configuration:

```json
{{"mcpServers": {{"agentgate": {{
  "command": "agentgate", "args": ["mcp", "--url", "https://gate.example"],
  "env": {{"AGENTGATE_API_TOKEN": "agt_..."}}}}}}}}
```

| Tool | Purpose |
| --- | --- |
| `list_sites`, `read_health` | list the sites of the account; check an installation |
| `read_analytics`, `list_decisions`, `explain_decision` | read traffic statistics and explain decisions |
| `read_rules`, `check_rules`, `backtest_rules` | read the active rules; validate a draft and replay stored decisions with it |
| `push_rules` | activate a draft after a check, a backtest and your confirmation |

The client must show the question to you (MCP elicitation). If it cannot, `push_rules` returns the command to run instead.
If someone changed the rules after the question, nothing is overwritten. Decisions contain text chosen by visitors, such as
User-Agent names. The server tells the assistant not to follow instructions in it; only your confirmation prevents changes.
"""


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
    return _PAGE.format(notice=notice, common="\n".join(common), commands="\n".join(parts).rstrip())


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
