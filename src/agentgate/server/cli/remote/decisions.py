"""`agentgate tail` and `agentgate explain`: decisions as they are made, and why one was made."""

import inspect
import json
import time
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer

from agentgate.server.cli.options import CommandRefused, ConfigOption, JsonOption, print_json, print_table
from agentgate.server.cli.remote.admin_api import AdminApi, NotThere, UrlOption, open_api

PAUSE_S = 1.0
PAGE = 100


@dataclass(frozen=True, kw_only=True)
class TailOptions:
    """The arguments of `tail`; a function would have to take too many."""

    site_key: Annotated[str | None, typer.Argument(help="The site's key; not needed where there is one only.")] = None
    outcome: Annotated[
        Literal["allow", "challenge", "block", "drop"] | None, typer.Option(help="Only decisions with this outcome.")
    ] = None
    label: Annotated[str | None, typer.Option(help="Only decisions with this label.")] = None
    last: Annotated[int, typer.Option(help="How many of those before to show first.", min=0, max=PAGE)] = 10
    once: Annotated[bool, typer.Option("--once", help="Show those before and end.")] = False
    url: UrlOption = None
    config: ConfigOption = None
    as_json: JsonOption = False


def tail(**given: Any) -> None:
    """Show decisions as they are made, until Ctrl-C."""
    options = TailOptions(**given)
    api = open_api(options.url, options.config)
    query = {"siteKey": options.site_key or _only_site(api), "outcome": options.outcome, "label": options.label}
    before = _newest(api, query)
    for decision in before[len(before) - min(options.last, len(before)) :]:
        _print_line(decision, as_json=options.as_json)
    seen = {decision["id"] for decision in before}
    while not options.once:
        time.sleep(PAUSE_S)
        page = _newest(api, query)
        for decision in page:
            if decision["id"] not in seen:
                _print_line(decision, as_json=options.as_json)
        if len(page) == PAGE and seen and not seen & {decision["id"] for decision in page}:
            typer.secho(f"... more than {PAGE} in a second; not all are shown", err=True)
        seen = {decision["id"] for decision in page} or seen


# Typer reads the arguments from here.
tail.__signature__ = inspect.signature(TailOptions)  # type: ignore[attr-defined]


def explain(
    decision_id: Annotated[str, typer.Argument(help="The decision's number, as the challenge page shows it: dec_...")],
    *,
    site_key: Annotated[str | None, typer.Option(help="The site's key; without it, every site is asked.")] = None,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why a decision was made: rule, labels by source, scores."""
    detail = _find(open_api(url, config), decision_id, site_key)
    if as_json:
        print_json(detail)
        return
    decision = detail["decision"]
    print(_sentence(detail))
    rows = [(source, ", ".join(labels)) for source, labels in detail["labelsBySource"].items()]
    print_table("What was seen", ("Source", "Labels"), rows)
    scores = [
        (name, f"{score:.2f}", decision.get("modelVersions", {}).get(name, ""))
        for name, score in decision.get("scores", {}).items()
    ]
    if scores:
        print_table("Scores", ("Model", "Score", "Version"), scores)
    if "rule" in detail:
        typer.echo(json.dumps(detail["rule"], indent=2))


def _only_site(api: AdminApi) -> str:
    keys = [each["siteKey"] for each in api.items("/sites")]
    if len(keys) != 1:
        raise CommandRefused(f"say which site: {', '.join(keys) or 'there is none yet'}")
    return str(keys[0])


def _find(api: AdminApi, decision_id: str, site_key: str | None) -> Any:
    keys = [site_key] if site_key else [each["siteKey"] for each in api.items("/sites")]
    for key in keys:
        try:
            return api.get(f"/decisions/{quote(decision_id, safe='')}", siteKey=key)
        except NotThere:
            continue
    raise CommandRefused(f"no site has a decision {decision_id}; it may be older than events are kept")


def _newest(api: AdminApi, query: dict[str, str | None]) -> list[Any]:
    """Return the newest decisions, oldest first."""
    return list(reversed(api.get("/decisions", **query, limit=str(PAGE))["items"]))


def _print_line(decision: Any, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(decision), flush=True)
        return
    would = f" (would {decision['wouldDecision']})" if "wouldDecision" in decision else ""
    why = decision.get("matchedRule") or ", ".join(decision["reasons"])
    who = decision.get("agent") or decision.get("visitorId", "")
    line = (
        f"{decision['time']}  {decision['outcome'] + would:<24} {decision['method']} {decision['route']}  {why}  {who}"
    )
    print(f"{line.rstrip()}  {decision['id']}", flush=True)


def _sentence(detail: Any) -> str:
    decision = detail["decision"]
    what = f"{decision['method']} {decision['route']} at {decision['time']} was answered with {decision['outcome']}"
    if "wouldDecision" in decision:
        what += f"; enforce mode would have said {decision['wouldDecision']}"
    if "matchedRule" in decision:
        changed = "" if detail.get("ruleCurrent", True) else ", which has changed since"
        what += f", by the rule {decision['matchedRule']}{changed}"
    return f"{what} ({', '.join(decision['reasons'])})."
