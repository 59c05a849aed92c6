"""Trains the `bot` model from the lab's sessions through the product's own pipeline.

The sessions run with feature capture on; each of their decisions is labelled through the admin API; the labels of the
tuning half are exported and handed to `agentgate train`; the candidate is installed and scores a second, short run in
shadow; its scores of the held-out half decide whether it would be promoted.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgate.protection.scoring.model_file import ModelFile, read_model
from agentgate.protection.scoring.score import make_scorer
from bench.adversaries.personas import HELD_OUT, TUNING
from bench.adversaries.runner import ROOT, Result
from bench.adversaries.site import SITE_KEY, Laboratory

SHIPPED = ROOT / "src/agentgate/protection/scoring/shipped/bot.json"
LEAST_LABELS = 40
# People above the threshold, at most: the bar is 0.5%, which so few people show only as none at all.
MOST_PEOPLE = 0.005
STEPS = [step / 100 for step in range(5, 100, 5)]


@dataclass(frozen=True)
class Labelled:
    """A decision of the lab as the export has it, and what is known of its session."""

    exported: dict[str, Any]
    result: Result

    @property
    def person(self) -> bool:
        """Whether a person made it."""
        return self.result.kind == "person"

    def score(self, scorer: Any) -> float:
        """Score it with a model."""
        evidence = self.exported["evidence"]
        return float(scorer.score(tuple(evidence["labels"]), evidence.get("features") or {}))


def label(lab: Laboratory, results: Sequence[Result]) -> None:
    """Say of each decision what it was about. Sessions of sold tokens are a person's until the token is spent."""
    for result in results:
        said = "human" if result.kind == "person" or result.driver == "token sold" else "bot"
        for decision in result.decisions:
            path = f"/v1/admin/decisions/{decision}/label"
            body = {"label": said, "note": f"lab: {result.driver}, {result.variant}"[:200]}
            reply = lab.service.operator.put(path, params={"siteKey": SITE_KEY}, json=body)
            assert reply.status_code in (200, 201), reply.text


def export(lab: Laboratory, results: Sequence[Result]) -> list[Labelled]:
    """Return the labels as `agentgate labels export` would, each with its session."""
    by_decision = {decision: result for result in results for decision in result.decisions}
    found: list[Labelled] = []
    query: dict[str, str] = {"siteKey": SITE_KEY, "limit": "1000"}
    while True:
        page = lab.service.operator.get("/v1/admin/labels", params=query).json()
        items = page.get("items") or page.get("labels") or []
        found += [
            Labelled(item, by_decision[item["decisionId"]]) for item in items if item["decisionId"] in by_decision
        ]
        cursor = page.get("nextCursor") or page.get("next")
        if not cursor:
            return found
        query["cursor"] = cursor


def train(labelled: Sequence[Labelled], folder: Path, kind: str, least: int = LEAST_LABELS) -> ModelFile:
    """Run `agentgate train` on these labels."""
    source, model = folder / "labels.ndjson", folder / f"model-{kind}.json"
    source.write_text("".join(json.dumps(item.exported) + "\n" for item in labelled))
    command = [sys.executable, "-m", "agentgate", "train", str(source), "--kind", "bot", "--type", kind]
    command += ["--out", str(model), "--report", str(folder / f"report-{kind}.html"), "--min-labels", str(least)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"agentgate train: {done.stderr.strip() or done.stdout.strip()}")
    return read_model(model.read_bytes())


@dataclass(frozen=True)
class Quality:
    """How a model does on some decisions at a threshold."""

    threshold: float
    people: int
    people_found: int
    bots: int
    bots_found: int

    @property
    def line(self) -> str:
        """Return it for a table."""
        return f"{self.threshold:.2f} | {self.people_found} of {self.people} | {self.bots_found} of {self.bots}"


def quality(model: ModelFile, labelled: Sequence[Labelled], threshold: float) -> Quality:
    """Count who is at the threshold or above it."""
    scorer = make_scorer(model)
    people = [item.score(scorer) for item in labelled if item.person]
    bots = [item.score(scorer) for item in labelled if not item.person]
    above = [sum(score >= threshold for score in scores) for scores in (people, bots)]
    return Quality(threshold, len(people), above[0], len(bots), above[1])


def threshold_for(model: ModelFile, labelled: Sequence[Labelled]) -> float:
    """Return the lowest threshold at which so few people are found as the bar allows."""
    for threshold in STEPS:
        found = quality(model, labelled, threshold)
        if found.people_found <= MOST_PEOPLE * found.people:
            return threshold
    return 1.0


def halves_of(labelled: Sequence[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """Split by the session's half."""
    tuning = [item for item in labelled if item.result.half == TUNING]
    return tuning, [item for item in labelled if item.result.half == HELD_OUT]


def people_in(labelled: Sequence[Labelled]) -> int:
    """Count decisions about people."""
    return sum(item.person for item in labelled)


def is_better(candidate: ModelFile, active: ModelFile, labelled: Sequence[Labelled]) -> bool:
    """Tell whether a candidate finds more held-out bots, each at its threshold, and no held-out person."""
    tuning, held_out = halves_of(labelled)
    new = quality(candidate, held_out, threshold_for(candidate, tuning))
    old = quality(active, held_out, threshold_for(active, tuning))
    return new.people_found <= MOST_PEOPLE * new.people and new.bots_found > old.bots_found


def install(lab: Laboratory, model: bytes) -> dict[str, Any]:
    """Install a candidate; it scores in shadow from now on."""
    headers = {"Content-Type": "application/json"}
    reply = lab.service.operator.put("/v1/admin/models/bot/candidate", content=model, headers=headers)
    assert reply.status_code in (200, 201), reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def compare(lab: Laboratory) -> dict[str, Any]:
    """Return what the service says about candidate and active model."""
    answer: dict[str, Any] = lab.service.operator.get("/v1/admin/models/bot/compare").json()
    return answer


def report(models: dict[str, ModelFile], labelled: Sequence[Labelled], compared: dict[str, Any], said: str) -> str:
    """Return the page about it, as Markdown."""
    tuning, held_out = halves_of(labelled)
    lines = [
        "# The bot model and the lab",
        "",
        "What `python -m bench.adversaries.train` found when it ran last: the [lab](lab.md)'s sessions, labelled and",
        "learned through the [product's own pipeline](training.md): learned on the tuning half, judged on the other.",
        "",
        f"**Result**: {said}",
        "",
        f"Decisions: {len(tuning)} of the tuning half ({people_in(tuning)} of people), {len(held_out)} held out",
        f"({people_in(held_out)} of people). The threshold of each model is the lowest at which at most 0.5% of the",
        "tuning half's people are found.",
        "",
        "| model | half | threshold | people found | bots found |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, model in models.items():
        threshold = threshold_for(model, tuning)
        for half, members in ((TUNING, tuning), (HELD_OUT, held_out)):
            lines.append(f"| {name} (`{model.version}`) | {half} | {quality(model, members, threshold).line} |")
    lines += [
        "",
        "## In shadow",
        "",
        "`GET /v1/admin/models/bot/compare` after a run with the candidate in shadow:",
        "",
    ]
    lines += ["```json", json.dumps(compared, indent=1), "```", ""]
    lines += [
        "A few dozen people prove little about one in two hundred: none found among *n* leaves up to 3 / *n*.",
        "",
    ]
    return "\n".join(lines)
