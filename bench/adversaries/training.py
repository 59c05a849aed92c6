"""Trains the `bot` model from the lab's sessions through the product's own pipeline.

The sessions run with feature capture on, and a part of the made-up population asks the gateway beside them; each of
their decisions is labeled through the admin API; the labels of the tuning half are exported and handed to
`agentgate train`; the candidate is installed and scores a second, short run in shadow; its scores of the held-out half
decide whether it is promoted.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgate.decision.scoring.model_file import ModelFile, read_model
from agentgate.decision.scoring.score import make_scorer
from agentgate.decision.signals.families import FAMILIES
from bench.adversaries.personas import HELD_OUT, TUNING
from bench.adversaries.runner import ROOT, Result
from bench.adversaries.site import SITE_KEY, Laboratory

SHIPPED = ROOT / "src/agentgate/decision/scoring/shipped/bot.json"
LEAST_LABELS = 40
# People above the threshold, at most: the bar is 0.5%, which so few people show only as none at all.
MOST_PEOPLE = 0.005
# Sizes, rates, cookies and paths are those of the lab and of one made-up site; a crawler's name is another model's.
# Headers have managed rules of their own, which know the devices that send fewer.
NOT_LEARNED = (
    *("header_count", "ua_length", "accept_language_count", "cookie_count", "target_length", "query_count"),
    *("rate_visitor", "rate_network", "rate", "net", "http", "path", "agent.name", "ua.refused"),
    # Never a reason.
    *("behavior.none", "behavior.keyboard_only", "browser.software_renderer", "ua.webview", "ua.old"),
)
STEPS = [step / 100 for step in range(5, 100, 5)]
# The score from which on the managed rules ask, and that of `model.bot.possible`, which rules of sites may name.
ASKED, POSSIBLE = 0.9, 0.5
# Programs of which the lab has few, or which show more there than this. Who is sure of them now must stay so.
KNOWN = (
    ("ua.browser", "browser.evidence", "browser.webdriver", "browser.headless"),
    ("ua.headless", "net.datacenter", "http.accept_language_missing"),
    ("ua.browser", "http.client_hints_mismatch", "http.order_mismatch", "net.datacenter"),
    ("ua.missing", "http.few_headers"),
    ("ua.scanner", "net.datacenter"),
)
# What everybody has who passes the check.
USUAL = ("browser.evidence", "probes.right", "ua.browser")


@dataclass(frozen=True)
class Labeled:
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


def export(lab: Laboratory, results: Sequence[Result]) -> list[Labeled]:
    """Return the labels as `agentgate labels export` would, each with its session."""
    by_decision = {decision: result for result in results for decision in result.decisions}
    found: list[Labeled] = []
    query: dict[str, str] = {"siteKey": SITE_KEY, "limit": "1000"}
    while True:
        page = lab.service.operator.get("/v1/admin/labels", params=query).json()
        items = page.get("items") or page.get("labels") or []
        found += [Labeled(item, by_decision[item["decisionId"]]) for item in items if item["decisionId"] in by_decision]
        cursor = page.get("nextCursor") or page.get("next")
        if not cursor:
            return found
        query["cursor"] = cursor


def train(labeled: Sequence[Labeled], folder: Path, kind: str, least: int = LEAST_LABELS) -> ModelFile:
    """Run `agentgate train` on these labels."""
    source, model = folder / "labels.ndjson", folder / f"model-{kind}.json"
    source.write_text("".join(json.dumps(item.exported) + "\n" for item in labeled))
    command = [sys.executable, "-m", "agentgate", "train", str(source), "--kind", "bot", "--type", kind]
    command += ["--out", str(model), "--report", str(folder / f"report-{kind}.html"), "--min-labels", str(least)]
    command += ["--exclude", ",".join(NOT_LEARNED)]
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


def quality(model: ModelFile, labeled: Sequence[Labeled], threshold: float) -> Quality:
    """Count who is at the threshold or above it."""
    scorer = make_scorer(model)
    people = [item.score(scorer) for item in labeled if item.person]
    bots = [item.score(scorer) for item in labeled if not item.person]
    above = [sum(score >= threshold for score in scores) for scores in (people, bots)]
    return Quality(threshold, len(people), above[0], len(bots), above[1])


def threshold_for(model: ModelFile, labeled: Sequence[Labeled]) -> float:
    """Return the lowest threshold at which so few people are found as the bar allows."""
    for threshold in STEPS:
        found = quality(model, labeled, threshold)
        if found.people_found <= MOST_PEOPLE * found.people:
            return threshold
    return 1.0


def halves_of(labeled: Sequence[Labeled]) -> tuple[list[Labeled], list[Labeled]]:
    """Split by the session's half."""
    tuning = [item for item in labeled if item.result.half == TUNING]
    return tuning, [item for item in labeled if item.result.half == HELD_OUT]


def people_in(labeled: Sequence[Labeled]) -> int:
    """Count decisions about people."""
    return sum(item.person for item in labeled)


def highest_alone(model: ModelFile) -> tuple[float, str]:
    """Return the highest score of a visitor with a single label of evidence, and that label."""
    scorer = make_scorer(model)
    single = [label for labels in FAMILIES.values() for label in labels]
    checked = [(float(scorer.score((*USUAL, label), {})), label) for label in single]
    # At the gateway there is no evidence for anybody.
    return max(*checked, *((float(scorer.score(("ua.browser", label), {})), label) for label in single))


def is_better(candidate: ModelFile, active: ModelFile, labeled: Sequence[Labeled]) -> bool:
    """Tell whether a candidate finds more held-out bots where rules ask, and no person where they may.

    Nor may one label of evidence be enough, or a known program be lost.
    """
    _, held_out = halves_of(labeled)
    new, old = quality(candidate, held_out, ASKED), quality(active, held_out, ASKED)
    people = quality(candidate, labeled, POSSIBLE)
    is_fair = people.people_found <= MOST_PEOPLE * people.people and highest_alone(candidate)[0] < POSSIBLE
    return is_fair and not lost(candidate, active) and new.bots_found > old.bots_found


def lost(candidate: ModelFile, active: ModelFile) -> list[str]:
    """Return the known programs that the active model calls possible bots and the candidate does not."""
    new, old = make_scorer(candidate), make_scorer(active)
    return [" + ".join(labels) for labels in KNOWN if new.score(labels, {}) < POSSIBLE <= float(old.score(labels, {}))]


def read_kept(path: Path | None) -> list[Labeled]:
    """Return the labeled sessions of earlier runs."""
    if path is None or not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [Labeled(line["exported"], Result(**line["session"])) for line in lines]


def keep(path: Path | None, labeled: Sequence[Labeled]) -> None:
    """Add labeled sessions to a file."""
    if path is not None:
        with path.open("a") as file:
            for item in labeled:
                file.write(json.dumps({"exported": item.exported, "session": item.result.line()}) + "\n")


def as_shipped(model: bytes) -> bytes:
    """Return a model file as the package has it: with the day that it was made."""
    content = json.loads(model)
    content["metadata"]["madeAt"] = content["metadata"]["to"]
    return json.dumps(content, indent=1).encode() + b"\n"


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


COMPARED = ("samples", "agreement", "wouldChange", "perLabel")
PAGE = """\
# The bot model and the lab

What `python -m bench.adversaries.train` found when it ran last: the [lab](lab.md)'s sessions and a part of the made-up
population at the gateway, labeled and learned through the [product's own pipeline](training.md): feature capture,
labels, `agentgate train`, candidate, compare, promote. Learned on the tuning half, judged on the other.

**Result**: {said}

Decisions: {tuning} of the tuning half ({tuning_people} of people), {held_out} held out ({held_out_people} of people).
The managed rules ask from {asked} on; the label `model.bot.possible` begins at {possible}. The lowest threshold of each
model is that at which at most 0.5% of the tuning half's people are found.

| model | half | where | threshold | people found | bots found |
| --- | --- | --- | --- | --- | --- |
{rows}

A candidate is promoted if it finds more held-out bots at {asked} than the shipped one, no more than 0.5% of all people
at {possible}, no person at {possible} by one label of evidence alone, which can have a benign cause, and every known
program that the shipped one finds.

| model | highest score by one label | known programs that it would lose |
| --- | --- | --- |
{alone}

## In shadow

Of `GET /v1/admin/models/bot/compare`, after the gateway's requests and a few sessions with the candidate in shadow:

{compared}

## Limits

- A few dozen people in browsers prove little about one in two hundred: none found among *n* leaves up to 3 / *n*.
- Features and conditions were chosen among some dozen variants that were judged on the same held-out half, and bots
  that only rates, headers or networks reveal were excluded from the gateway's part: held-out results are optimistic.
- Sizes, rates, cookies, paths, headers, networks and crawlers' names are excluded: they are specific to the lab. Rates,
  headers and lists have separate rules, as do the scrapers that only these reveal.
- Traits that are never a reason (software rendering, keyboard only, no input, apps, old releases) are excluded.
- The model scores labels. A client that shows none, such as a copy of a person's evidence with a real engine, scores
  like a person.
"""


def report(models: dict[str, ModelFile], labeled: Sequence[Labeled], compared: dict[str, Any], said: str) -> str:
    """Return the page about it, as Markdown."""
    tuning, held_out = halves_of(labeled)
    rows = [
        f"| {name} (`{model.version}`) | {half} | {where} | {quality(model, some, threshold).line} |"
        for name, model in models.items()
        for half, members in ((TUNING, tuning), (HELD_OUT, held_out))
        for where, some in _places(members)
        for threshold in sorted({threshold_for(model, tuning), POSSIBLE, ASKED})
    ]
    alone = []
    for name, model in models.items():
        score, label = highest_alone(model)
        alone.append(f"| {name} | {score:.2f} (`{label}`) | {'; '.join(lost(model, models['shipped'])) or 'none'} |")
    return PAGE.format(
        said=said,
        tuning=len(tuning),
        tuning_people=people_in(tuning),
        held_out=len(held_out),
        held_out_people=people_in(held_out),
        asked=ASKED,
        possible=POSSIBLE,
        rows="\n".join(rows),
        alone="\n".join(alone),
        compared="\n".join(f"- `{name}`: `{json.dumps(compared[name])}`" for name in COMPARED),
    )


def _places(labeled: Sequence[Labeled]) -> list[tuple[str, list[Labeled]]]:
    """Split by where the decision was made."""
    at_gateway = [item for item in labeled if item.result.driver == "gateway"]
    return [("browser check", [item for item in labeled if item not in at_gateway]), ("gateway", at_gateway)]
