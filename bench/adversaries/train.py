"""`python -m bench.adversaries.train`: run the lab, train a `bot` model from it, and write the report.

`--kept FILE` adds the labeled sessions to a file and learns from all that are in it, so that a long run may be made in
parts: `--minutes 9` again and again, then `--sessions 0` to train from what is there.
"""

import argparse
import tempfile
from pathlib import Path

from agentgate.decision.scoring.model_file import ModelFile, read_model
from bench.adversaries import gateway, packages, report, training
from bench.adversaries.__main__ import make_plans, told
from bench.adversaries.runner import ROOT, Result, Runner
from bench.adversaries.site import Laboratory, laboratory

TYPES = ("logistic", "trees")


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.adversaries.train", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1, help="sessions of each driver and persona (1)")
    parser.add_argument("--only", default="", help="parts of names with commas between")
    parser.add_argument("--minutes", type=float, default=600, help="begin no session later than this (600)")
    parser.add_argument("--lines", type=Path, help="add one line of JSON for each session there")
    parser.add_argument("--kept", type=Path, help="labeled sessions of earlier runs, to which these are added")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument(
        "--least", type=int, default=training.LEAST_LABELS, help="train with no fewer labels than this, 20 at least"
    )
    parser.add_argument("--shadow", default="chromium curved,firefox curved,nodriver", help="who comes again in shadow")
    parser.add_argument("--report", type=Path, default=ROOT / "docs/contributing/bot-model.md")
    parser.add_argument("--model", type=Path, default=training.SHIPPED, help="replaced if the new one is better")
    return parser.parse_args()


def collect(lab: Laboratory, runner: Runner, options: argparse.Namespace) -> list[training.Labeled]:
    """Run the sessions, label them, and return them with those that were kept."""
    earlier = training.read_kept(options.kept)
    plans = make_plans(options.sessions, "both", options.only)
    results: list[Result] = runner.run(plans, options.minutes)
    if results:
        print(report.table(results))
        print(report.summary(results))
    if not any(item.result.driver == gateway.DRIVER for item in earlier):
        results += gateway.visit(lab)
    training.label(lab, results)
    made = training.export(lab, results)
    training.keep(options.kept, made)
    return earlier + made


def main() -> None:
    """Run, label, train, compare, and promote what is better."""
    options = read_options()
    with tempfile.TemporaryDirectory(prefix="agentgate-lab-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with laboratory(folder, options.lanes) as lab:
            runner = Runner(lab, packages.find_tools(), folder, told(options.lines))
            labeled = collect(lab, runner, options)
            tuning, _ = training.halves_of(labeled)
            active = read_model(training.SHIPPED.read_bytes())
            models: dict[str, ModelFile] = {"shipped": active}
            models.update({kind: training.train(tuning, folder, kind, options.least) for kind in TYPES})
            better = [kind for kind in TYPES if training.is_better(models[kind], active, labeled)]
            chosen = better[0] if better else TYPES[0]
            written = (folder / f"model-{chosen}.json").read_bytes()
            training.install(lab, written)
            training.label(lab, runner.run(make_plans(1, "both", options.shadow)) + gateway.visit(lab))
            compared = training.compare(lab)
            said = f"the shipped model stays: no candidate met all conditions below (tried: {' and '.join(TYPES)})."
            if better:
                promoted = lab.service.operator.post("/v1/admin/models/bot/promote")
                assert promoted.status_code == 200, promoted.text
                options.model.write_bytes(training.as_shipped(written))
                said = f"the {chosen} model `{models[chosen].version}` was promoted, and is the one that is shipped."
            options.report.write_text(training.report(models, labeled, compared, said))
            print(said)


if __name__ == "__main__":
    main()
