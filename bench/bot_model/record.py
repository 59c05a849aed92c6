"""`python -m bench.bot_model.record`: run sessions of the lab, and keep the labels that the service found of each.

`sessions.ndjson` has a line for each session: tool, variant, half, and signal labels. It has no addresses, no evidence
and no input. Runs may be made in parts; the lines are added.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.adversaries import packages
from bench.adversaries.__main__ import make_plans, told
from bench.adversaries.runner import Result, Runner
from bench.adversaries.site import SITE_KEY, Laboratory, laboratory
from bench.bot_model.rows import SESSIONS

# The recorder has written by then.
WRITTEN_S = 2
# Of an installation's models and names, not of the session.
NOT_KEPT = ("model.", "agent.name.", "ua.refused.")


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.bot_model.record", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1, help="sessions of each driver and persona (1)")
    parser.add_argument("--only", default="", help="parts of names with commas between")
    parser.add_argument("--minutes", type=float, default=60, help="begin no session later than this (60)")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=SESSIONS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentgate-lab-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with laboratory(folder, options.lanes) as lab:
            runner = Runner(lab, packages.find_tools(), folder, told(None))
            results = runner.run(make_plans(options.sessions, "both", options.only), options.minutes)
            time.sleep(WRITTEN_S)
            lines = [line for result in results for line in _lines(lab, result)]
    with options.out.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def _lines(lab: Laboratory, result: Result) -> list[dict[str, Any]]:
    found = []
    for number, decision_id in enumerate(result.decisions, 1):
        path = f"/v1/admin/decisions/{decision_id}"
        decision = lab.service.operator.get(path, params={"siteKey": SITE_KEY}).json()["decision"]
        # A token that was sold comes from a person's session.
        is_person = result.kind == "person" or result.driver == "token sold"
        found.append(
            {
                "kind": "person" if is_person else "bot",
                "driver": result.driver,
                "variant": result.variant,
                "half": result.half,
                "run": number,
                "stopped": decision["outcome"] != "allow",
                "labels": [label for label in decision["labels"] if not label.startswith(NOT_KEPT)],
            }
        )
    return found


if __name__ == "__main__":
    main()
