"""`python -m bench.adversaries`: drive automation and people-like visitors against the service; print who got in."""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.adversaries import packages, report
from bench.adversaries.personas import HELD_OUT, PERSONAS, TUNING
from bench.adversaries.programs import PROGRAMS
from bench.adversaries.runner import Plan, Result, Runner, plan_person, plan_program
from bench.adversaries.site import laboratory

# Sessions run in a fixed, mixed order, so that no result depends on the previous session in the table.
ORDER_SEED = 33
LATER = 20


def make_plans(sessions: int, half: str, only: str, check: str = "both") -> list[Plan]:
    """Plan every session that the options leave."""
    plans: list[Plan] = []
    for number in range(1, sessions + 1):
        for mode in ("submit", "load") if check == "both" else (check,):
            pages = [each for each in PROGRAMS if mode == "submit" or each.module not in packages.WITHOUT_BROWSER]
            plans += [plan_program(program, number, mode) for program in pages]
        plans += [plan_person(persona, number) for persona in PERSONAS]
    words = [word.strip().lower() for word in only.split(",") if word.strip()]
    chosen = [
        plan
        for plan in plans
        if half in ("both", plan.half)
        and (not words or any(word in f"{plan.kind} {plan.driver} {plan.variant}".lower() for word in words))
    ]
    random.Random(ORDER_SEED).shuffle(chosen)
    # Copying drivers need a person's session to copy. Two people begin, and copies run a little later than the shuffled
    # order.
    first = [plan for plan in chosen if plan.kind == "person"][:2]
    rest = [(place + LATER * plan.copies, plan) for place, plan in enumerate(chosen) if plan not in first]
    return first + [plan for _, plan in sorted(rest, key=lambda item: item[0])]


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.adversaries", description=__doc__)
    parser.add_argument("--install", action="store_true", help="install what the drivers need, and end")
    parser.add_argument("--sessions", type=int, default=1, help="sessions of each driver and persona (1)")
    parser.add_argument("--half", choices=[TUNING, HELD_OUT, "both"], default="both")
    parser.add_argument("--only", default="", help="parts of names with commas between, such as `person,nodriver`")
    parser.add_argument(
        "--widget", choices=["managed", "interactive"], default="managed", help="interactive: all are asked"
    )
    parser.add_argument("--check", choices=["submit", "load", "both"], default="both", help="when bots' checks run")
    parser.add_argument("--assistants", choices=["block", "challenge", "allow"], default="block", help="of the site")
    parser.add_argument("--probes", default="", help="a folder with own pools of `agentgate probes make`")
    parser.add_argument("--lanes", type=int, default=2, help="how many visit at once (2)")
    parser.add_argument("--minutes", type=float, default=600, help="begin no session later than this (600)")
    parser.add_argument("--json", type=Path, help="write all results there")
    parser.add_argument("--lines", type=Path, help="add one line of JSON for each session there")
    parser.add_argument("--list", action="store_true", help="say who would come, and end")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> list[Result]:
    """Run the lab."""
    plans = make_plans(options.sessions, options.half, options.only, options.check)
    with tempfile.TemporaryDirectory(prefix="agentgate-lab-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with laboratory(folder, options.lanes, options.widget, options.probes, options.assistants) as lab:
            return Runner(lab, packages.find_tools(), folder, told(options.lines)).run(plans, options.minutes)


def told(lines: Path | None) -> Callable[[str, Result], None]:
    """Return a function that reports each finished session, and appends its line to the file if one is named."""

    def tell(text: str, result: Result) -> None:
        print(text, file=sys.stderr, flush=True)
        if lines:
            with lines.open("a") as file:
                file.write(json.dumps(result.line()) + "\n")

    return tell


def write(options: argparse.Namespace, results: list[Result]) -> None:
    """Print the table, and write the requested files."""
    print(report.table(results))
    print()
    print(report.summary(results))
    if options.json:
        whole: dict[str, Any] = {"halves": report.halves(results), "sessions": [result.line() for result in results]}
        options.json.write_text(json.dumps(whole, indent=1) + "\n")


def main() -> None:
    """Run the command line."""
    options = read_options()
    if options.install:
        packages.install()
    elif options.list:
        for plan in make_plans(options.sessions, options.half, options.only, options.check):
            print(plan.kind, plan.half, plan.driver, plan.variant, plan.check, sep=" | ")
    else:
        write(options, run(options))


if __name__ == "__main__":
    main()
