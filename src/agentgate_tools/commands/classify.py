"""`agentgate classify`: what the clients in an access log are, and what the server's rules would do with them."""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from agentgate.decision.classify import Classified, read_line
from agentgate.decision.classify import classify as classify_names
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.threat_data.intel import load_intel
from agentgate.lib.settings.schema import Settings
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_of
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable
from agentgate_tools.commands.intel import intel_folder
from agentgate_tools.commands.parameters import Argument, Option

SHOWN = 50


def classify(
    file: Annotated[
        Path,
        Argument(help="Access log (combined or JSON) or a list with one User-Agent per line; - reads standard input."),
    ],
    settings: Settings,
    most: Annotated[int, Option("--most", min=1, help="Number of User-Agents in the table.")] = SHOWN,
) -> CommandAnswer:
    """Classify the clients of a log, with reasons and outcomes. Uses only User-Agents and IP addresses."""
    if str(file) != "-" and not file.is_file():
        raise CommandRefused(f"there is no file {file}; give an access log or a list of User-Agents, or - for stdin")
    intel = load_intel(intel_folder(settings))
    unread = 0
    names = []
    for line in _lines(file):
        named = read_line(line)
        if named is None:
            unread += bool(line.strip())
        else:
            names.append(named)
    if not names:
        raise CommandRefused(
            "no User-Agents found; the log must be in the combined format or in JSON with a user agent"
        )
    found = classify_names(names, intel, ModelDirectory().view, compile_rules(effective_of(None)))
    outcomes = _outcomes(found)
    rows = [
        (str(each.count), each.outcome, each.rule or "-", ", ".join(each.labels), each.user_agent or "(none)")
        for each in found[:most]
    ]
    total = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.items())
    return CommandAnswer(
        {"requests": len(names), "unread": unread, "outcomes": outcomes, "userAgents": msgspec.to_builtins(found)},
        [
            PrintedTable("User-Agents", ("Requests", "Outcome", "Rule", "Why", "User-Agent"), rows),
            f"{len(found)} User-Agents; requests: {total}; lines without a User-Agent: {unread}",
        ],
    )


def _lines(file: Path) -> Iterable[str]:
    if str(file) == "-":
        return sys.stdin
    return file.read_text("utf-8", errors="replace").splitlines()


def _outcomes(found: list[Classified]) -> dict[str, int]:
    counted = Counter[str]()
    for each in found:
        counted[each.outcome] += each.count
    return dict(sorted(counted.items()))
