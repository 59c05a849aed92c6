"""`python -m bench.adversaries.train`: run the lab, train a `bot` model from it, and write the report."""

import argparse
import tempfile
from pathlib import Path

from agentgate.protection.scoring.model_file import ModelFile, read_model
from bench.adversaries import packages, report, training
from bench.adversaries.__main__ import make_plans, told
from bench.adversaries.runner import ROOT, Runner
from bench.adversaries.site import laboratory

TYPES = ("logistic", "trees")


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.adversaries.train", description=__doc__)
    parser.add_argument("--sessions", type=int, default=2, help="sessions of each driver and persona (2)")
    parser.add_argument("--only", default="", help="parts of names with commas between")
    parser.add_argument("--minutes", type=float, default=600, help="begin no session later than this (600)")
    parser.add_argument("--lines", type=Path, help="add one line of JSON for each session there")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument(
        "--least", type=int, default=training.LEAST_LABELS, help="train with no fewer labels than this, 20 at least"
    )
    parser.add_argument("--shadow", default="chromium curved,firefox curved,nodriver", help="who comes again in shadow")
    parser.add_argument("--report", type=Path, default=ROOT / "docs/bot-model.md")
    parser.add_argument("--model", type=Path, default=training.SHIPPED, help="replaced if the new one is better")
    return parser.parse_args()


def main() -> None:
    """Run, label, train, compare, and promote what is better."""
    options = read_options()
    with tempfile.TemporaryDirectory(prefix="agentgate-lab-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with laboratory(folder, options.lanes) as lab:
            runner = Runner(lab, packages.find_tools(), folder, told(options.lines))
            results = runner.run(make_plans(options.sessions, "both", options.only), options.minutes)
            print(report.table(results))
            print(report.summary(results))
            training.label(lab, results)
            labelled = training.export(lab, results)
            tuning, _ = training.halves_of(labelled)
            active = read_model(training.SHIPPED.read_bytes())
            models: dict[str, ModelFile] = {"shipped": active}
            models.update({kind: training.train(tuning, folder, kind, options.least) for kind in TYPES})
            better = [kind for kind in TYPES if training.is_better(models[kind], active, labelled)]
            chosen = better[0] if better else TYPES[0]
            written = (folder / f"model-{chosen}.json").read_bytes()
            training.install(lab, written)
            training.label(lab, runner.run(make_plans(1, "both", options.shadow)))
            compared = training.compare(lab)
            said = f"the shipped model stays: no candidate found more held-out bots without a person (tried: {TYPES})."
            if better:
                promoted = lab.service.operator.post("/v1/admin/models/bot/promote")
                assert promoted.status_code == 200, promoted.text
                options.model.write_bytes(written)
                said = f"the {chosen} model `{models[chosen].version}` was promoted, and is the one that is shipped."
            options.report.write_text(training.report(models, labelled, compared, said))
            print(said)


if __name__ == "__main__":
    main()
