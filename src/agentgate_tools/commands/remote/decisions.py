"""`agentgate tail`, `explain` and `labels`: decisions as they are made, why one was made, what people said of them."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import click

from agentgate.lib.enums import DecisionLabelValue, LabelSource, ModelKind
from agentgate.lib.limits import LABELS_LIMIT
from agentgate_tools.commands.api_client import AdminApi, NotThere, site_path
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, Lines, PrintedTable, command, read_file
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.training.labels import TARGETS, read_labels, suspects_of
from agentgate_tools.training.weak_labels import LET_IN, PASSED, PROVEN, WeakLabels, passed_interactively

PAUSE_S = 1.0
MOST_SUSPECTS = 50
PAGE = 100
SEARCHED_SITES = 100

_EXPORT = "agentgate labels export --site-key site_shop1 > labels.ndjson"
labels = click.Group(
    help="Export, review and add decision labels of a running AgentGate.", epilog=f"Example: {_EXPORT}"
)


@command(labels, "export", _EXPORT)
def export(
    site_key: Annotated[str, Option("--site-key", help="Site key of the site whose labels to export.")], api: AdminApi
) -> Lines:
    """Print every decision label of a site for `agentgate train`, oldest update first: one JSON object per line."""

    def items() -> Iterator[Any]:
        count = 0
        for item in api.items("/labels", siteKey=site_key, limit=str(LABELS_LIMIT.most)):
            yield item
            count += 1
        click.secho(f"{count} labels", err=True)

    return Lines(items(), lambda item: json.dumps(item, separators=(",", ":")))


@command(labels, "review", "agentgate labels review labels.ndjson")
def review_labels(
    files: Annotated[list[str], Argument(help="Files of exported decision labels; - reads standard input.")],
    kind: Annotated[ModelKind, Option(help="Kind of model that the labels are for.")] = ModelKind.BOT,
    most: Annotated[int, Option(min=1, help="Number of labels to list.")] = MOST_SUSPECTS,
) -> CommandAnswer:
    """List doubtful labels: other labels or the evidence contradict them. Nothing is changed."""
    text = "\n".join(
        sys.stdin.read() if name == "-" else read_file(Path(name), "export labels first") for name in files
    )
    decisions = [decision for decision in read_labels(text) if decision.label in TARGETS[kind]]
    if not decisions:
        raise CommandRefused(f"no label can be used for kind {kind}")
    found = suspects_of(decisions, None, kind)
    by_id = {decision.decision_id: decision for decision in decisions}
    shown = found.suspects[:most]
    rows = [
        (
            each.decision,
            by_id[each.decision].label,
            by_id[each.decision].actor,
            f"{each.doubt:.2f}",
            ", ".join(each.reasons),
        )
        for each in shown
    ]
    groups = [
        (what, each.name, str(each.labels), str(each.doubtful))
        for what, shares in (("user", found.actors), ("source", found.sources))
        for each in shares
    ]
    value = {
        "labels": found.labels,
        "suspects": [
            {"decisionId": each.decision, "doubt": each.doubt, "score": each.score, "reasons": list(each.reasons)}
            for each in found.suspects
        ],
        "groups": [
            {"of": of, "name": name, "labels": int(count), "doubtful": int(doubtful)}
            for of, name, count, doubtful in groups
        ],
    }
    return CommandAnswer(
        value,
        [
            f"{len(found.suspects)} of {found.labels} labels are doubtful",
            PrintedTable("Doubtful labels", ("Decision", "Label", "User", "Doubt", "Why"), rows),
            PrintedTable("By user and source", ("Of", "Name", "Labels", "Doubtful"), groups),
        ],
    )


@command(labels, "weak", "agentgate labels weak --site-key site_shop1 --save")
def weak_labels(
    site_key: Annotated[str, Option("--site-key", help="Site key of the site whose decisions to label.")],
    api: AdminApi,
    since: Annotated[
        str | None, Option("--from", help="Read decisions from this time on, at most 31 days. Default: 24 hours ago.")
    ] = None,
    most: Annotated[int, Option(min=1, max=PAGE * PAGE, help="Labels for each kind of proof.")] = 200,
    *,
    save: Annotated[bool, Option("--save", help="Save the labels. Default: show them.")] = False,
) -> CommandAnswer:
    """Label decisions that a proof classifies: verified agents, forged names, interactive challenges, appeals.

    Labels have the source `probe`. Decisions that have a label keep it.
    """
    labeled = api.items("/labels", siteKey=site_key, limit=str(LABELS_LIMIT.most))
    found = WeakLabels(most, labeled=(each["decisionId"] for each in labeled))
    query = {"siteKey": site_key, "from": since, "limit": str(PAGE)}
    for proof, label in PROVEN.items():
        found.add(api.items("/decisions", **query, label=proof), label, proof)
    challenges = api.items("/decisions", **query, kind="challenge", outcome="allow")
    found.add(filter(passed_interactively, challenges), DecisionLabelValue.HUMAN, PASSED)
    appeals = api.items(site_path(site_key, "appeals"), state="let_in", limit=str(PAGE))
    decisions = (_decision_of(api, each["decisionId"], site_key) for each in appeals)
    found.add(filter(None, decisions), DecisionLabelValue.HUMAN, LET_IN)
    for each in found.items if save else ():
        note, source = f"weak label: {each.proof}", LabelSource.PROBE.value
        body = {"decisionId": each.decision_id, "label": each.label.value, "source": source, "note": note}
        api.call("POST", f"/labels?siteKey={quote(site_key, safe='')}", body)
    counts = Counter((each.label.value, each.proof) for each in found.items)
    rows = [(label, proof, str(count)) for (label, proof), count in counts.items()]
    value = {
        "saved": save,
        "items": [
            {"decisionId": each.decision_id, "label": each.label.value, "proof": each.proof} for each in found.items
        ],
    }
    told = f"{len(found.items)} labels saved" if save else f"{len(found.items)} labels found; --save saves them"
    return CommandAnswer(value, [told, PrintedTable("Weak labels", ("Label", "Proof", "Decisions"), rows)])


def _decision_of(api: AdminApi, decision_id: str, site_key: str) -> Any:
    """Return a decision; None if its retention has ended."""
    try:
        return api.get(f"/decisions/{quote(decision_id, safe='')}", siteKey=site_key)["decision"]
    except NotThere:
        return None


def tail(
    api: AdminApi,
    *,
    site_key: Annotated[str | None, Argument(help="Site key. Optional if there is only one site.")] = None,
    outcome: Annotated[
        Literal["allow", "challenge", "block", "drop"] | None, Option(help="Only decisions with this outcome.")
    ] = None,
    label: Annotated[str | None, Option(help="Only decisions with this label.")] = None,
    last: Annotated[int, Option(help="Number of earlier decisions to show first.", min=0, max=PAGE)] = 10,
    once: Annotated[bool, Option("--once", help="Show the earlier decisions and exit.")] = False,
) -> Lines:
    """Follow decisions live, until Ctrl-C."""
    query = {"siteKey": site_key or _only_site(api), "outcome": outcome, "label": label}
    return Lines(_follow(api, query, last, once=once), _line)


def _follow(api: AdminApi, query: dict[str, str | None], last: int, *, once: bool) -> Iterator[Any]:
    before = _newest(api, query)
    yield from before[len(before) - min(last, len(before)) :]
    seen = {decision["id"] for decision in before}
    while not once:
        time.sleep(PAUSE_S)
        page = _newest(api, query)
        yield from (decision for decision in page if decision["id"] not in seen)
        if len(page) == PAGE and seen and not seen & {decision["id"] for decision in page}:
            click.secho(f"... more than {PAGE} in a second; some are not shown", err=True)
        seen = {decision["id"] for decision in page} or seen


def explain(
    decision_id: Annotated[str, Argument(help="Decision ID from the challenge page: dec_...")],
    api: AdminApi,
    site_key: Annotated[str | None, Option(help="Site key. Default: search the 100 newest sites.")] = None,
) -> CommandAnswer:
    """Explain a decision: rule, labels by source, scores."""
    detail = _find(api, decision_id, site_key)
    decision = detail["decision"]
    rows = [(source, ", ".join(labels)) for source, labels in detail["labelsBySource"].items()]
    people: list[str | PrintedTable] = [detail["explanation"]["sentence"], _sentence(detail)]
    evidence = [(each["label"], each["meaning"]) for each in detail["explanation"]["evidence"]]
    if evidence:
        people.append(PrintedTable("Evidence", ("Label", "Meaning"), evidence))
    people.append(PrintedTable("What was seen", ("Source", "Labels"), rows))
    scores = [
        (name, f"{score:.2f}", decision.get("modelVersions", {}).get(name, ""))
        for name, score in decision.get("scores", {}).items()
    ]
    if scores:
        people.append(PrintedTable("Scores", ("Model", "Score", "Version"), scores))
    if "rule" in detail:
        people.append(json.dumps(detail["rule"], indent=2))
    return CommandAnswer(detail, people)


def _only_site(api: AdminApi) -> str:
    keys, are_all = _site_keys(api)
    if len(keys) != 1:
        more = "" if are_all else ", ..."
        raise CommandRefused(f"give the site key: {', '.join(keys) or 'there is none yet'}{more}")
    return keys[0]


def _site_keys(api: AdminApi) -> tuple[list[str], bool]:
    """Return the keys of the newest sites, and whether these are all."""
    page = api.get("/sites", limit=SEARCHED_SITES)
    return [str(each["siteKey"]) for each in page["items"]], "nextCursor" not in page


def _find(api: AdminApi, decision_id: str, site_key: str | None) -> Any:
    keys, are_all = ([site_key], True) if site_key else _site_keys(api)
    for key in keys:
        try:
            return api.get(f"/decisions/{quote(decision_id, safe='')}", siteKey=key)
        except NotThere:
            continue
    if not are_all:
        raise CommandRefused(
            f"none of the {len(keys)} newest sites has a decision {decision_id}; give the site with --site-key"
        )
    raise CommandRefused(f"no site has a decision {decision_id}; its retention may have ended")


def _newest(api: AdminApi, query: dict[str, str | None]) -> list[Any]:
    """Return the newest decisions, oldest first."""
    return list(reversed(api.get("/decisions", **query, limit=PAGE)["items"]))


def _line(decision: Any) -> str:
    would = f" (would {decision['wouldDecision']})" if "wouldDecision" in decision else ""
    why = decision.get("matchedRule") or ", ".join(decision["reasons"])
    who = decision.get("agent") or decision.get("visitorId", "")
    line = (
        f"{decision['time']}  {decision['outcome'] + would:<24} {decision['method']} {decision['route']}  {why}  {who}"
    )
    return f"{line.rstrip()}  {decision['id']}"


def _sentence(detail: Any) -> str:
    decision = detail["decision"]
    what = f"{decision['method']} {decision['route']} at {decision['time']} has the outcome {decision['outcome']}"
    if "wouldDecision" in decision:
        what += f"; in enforce mode: {decision['wouldDecision']}"
    if "matchedRule" in decision:
        changed = "" if detail.get("ruleCurrent", True) else ", which has changed since"
        what += f", by the rule {decision['matchedRule']}{changed}"
    return f"{what} ({', '.join(decision['reasons'])})."
