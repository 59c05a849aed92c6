"""`agentgate rules`: a site's rules as a file: try, compare, replay, activate."""

import difflib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from agentgate.sites.rules.text import TextProblem, read_text
from agentgate_tools.commands.api_client import AdminApi, ConfirmationRequired, SiteArgument, site_path
from agentgate_tools.commands.command import (
    CommandAnswer,
    CommandRefused,
    PrintedTable,
    command,
    read_file,
    show_people,
)
from agentgate_tools.commands.parameters import Option
from agentgate_tools.commands.rule_files import WRONG_EXIT_CODE, FileArgument, position_of, rules


@command(rules, "show", "agentgate rules show site_shop1 > rules.json")
def show(site_key: SiteArgument, api: AdminApi) -> CommandAnswer:
    """Print a site's active rule set for editing; with --json also its revision and overrides."""
    found = api.get(site_path(site_key, "rules"))
    note = f"revision {found['revision']}, of the {found['source']}"
    return CommandAnswer(found, json.dumps(found["ruleSet"], indent=2), note=note)


@dataclass(frozen=True, kw_only=True)
class TriedRequest:
    """The options of `rules try`: the request."""

    target: Annotated[str, Option(help="URL of the request, with scheme and host.")]
    method: Annotated[str, Option(help="Method of the request.")] = "GET"
    header: Annotated[list[str] | None, Option(help="`Name: value`; repeatable.")] = None
    address: Annotated[str, Option(help="The visitor's IP address.")] = "198.51.100.7"


@command(rules, "try", "agentgate rules try site_shop1 rules.json --target https://shop.example/login")
def try_request(site_key: SiteArgument, file: FileArgument, given: TriedRequest, api: AdminApi) -> CommandAnswer:
    """Try one request at a site: the outcome, the matching rule, and why earlier rules do not match."""
    headers = _headers(given.header or ())
    request = {"method": given.method, "url": given.target, "headers": headers, "address": given.address}
    report = api.call("POST", site_path(site_key, "rules", "test"), {**_body(file), "request": request})
    told = f"{report['outcome']}, by {report.get('rule', 'the default')}; labels: {', '.join(report['labels'])}"
    rows = [(each["rule"], "yes" if each["matched"] else "no", each.get("because", "")) for each in report["trace"]]
    return CommandAnswer(report, [told, PrintedTable("Rules in order", ("Rule", "Matched", "Because"), rows)])


@command(rules, "diff", "agentgate rules diff site_shop1 rules.json")
def diff(site_key: SiteArgument, file: FileArgument, api: AdminApi) -> CommandAnswer:
    """Compare a file with the active rules. Exit code 1 if they differ."""
    changes = _changes(api.get(site_path(site_key, "rules"))["ruleSet"], file)
    text = "".join(changes)
    value, code = {"differs": bool(changes), "diff": text}, WRONG_EXIT_CODE if changes else 0
    return CommandAnswer(value, text.rstrip("\n") or "no difference", code)


@command(rules, "backtest", "agentgate rules backtest site_shop1 rules.json")
def backtest(site_key: SiteArgument, file: FileArgument, api: AdminApi) -> CommandAnswer:
    """Replay recent traffic with a file's rules and show changed outcomes."""
    report = api.call("POST", site_path(site_key, "rules", "backtest"), _body(file))
    return CommandAnswer(report, _replayed(report))


def _replayed(report: Any) -> list[str | PrintedTable]:
    people: list[str | PrintedTable] = [
        f"{report['evaluated']} requests replayed, {report['changed']} would have another outcome"
    ]
    rows = [
        (f"{flip['from']} -> {flip['to']}", str(flip["count"]), str(flip["humanLabelled"]), ", ".join(flip["examples"]))
        for flip in report["flips"]
    ]
    if rows:
        people.append(PrintedTable("Changes", ("Outcome", "Requests", "People among them", "Examples"), rows))
    if not report["complete"]:
        people.append("the range has too many requests, so only a part was replayed")
    return people


@command(rules, "push", "agentgate rules push site_shop1 rules.json")
def push(
    site_key: SiteArgument,
    file: FileArgument,
    api: AdminApi,
    *,
    yes: Annotated[bool, Option("--yes", help="Skip the confirmation.")] = False,
    acknowledge: Annotated[
        bool, Option("--acknowledge", help="Save rules that have warnings or block many more requests.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON; requires --yes.")] = False,
) -> CommandAnswer | int:
    """Activate a file's rules after a diff and a backtest. Fails if the rules changed in the meantime."""
    present = api.get(site_path(site_key, "rules"))
    changes = _changes(present["ruleSet"], file)
    if as_json and not yes:
        raise CommandRefused("--json requires --yes; `agentgate rules diff` shows what would change")
    if not changes:
        return CommandAnswer(present, "no difference")
    checked = api.call("POST", site_path(site_key, "rules", "validate"), _body(file))
    if not checked["valid"]:
        for problem in checked["errors"]:
            click.secho(f"{file}{position_of(problem)}: {problem['message']}", err=True)
        return WRONG_EXIT_CODE
    if not as_json:
        show_people(["".join(changes), *_replayed(backtest(site_key, file, api).value)])
    if not yes:
        click.confirm("Activate the rules?", abort=True)
    body = {**_body(file), "revision": present["revision"], "acknowledge": acknowledge}
    made = save_rules(api, site_key, body, yes=yes)
    return CommandAnswer(made, f"revision {made['revision']} is active")


def save_rules(api: AdminApi, site_key: str, body: dict[str, Any], *, yes: bool) -> Any:
    """Save rules. If the service requires a confirmation, ask for it; with `yes`, raise CommandRefused instead."""
    path, guarded = site_path(site_key, "rules"), {**body, "guard": True}
    try:
        return api.call("PUT", path, guarded)
    except ConfirmationRequired as asked:
        if yes:
            raise CommandRefused(f"{asked} Nothing was saved; `agentgate rules push` has --acknowledge") from None
        click.secho(str(asked), err=True)
    click.confirm("Save them anyway?", abort=True)
    return api.call("PUT", path, {**guarded, "acknowledge": True})


PresetName = Literal[
    "none", "forgejo", "gitea", "gitlab", "cgit", "mediawiki", "wordpress", "discourse", "nextcloud", "matrix"
]
# The action whose check gives the clearance, where the site has no such action.
VISIT = {"visit": {"browserRequired": True, "clearance": True}}


def set_preset(api: AdminApi, site_key: str, app: PresetName, *, yes: bool) -> Any:
    """Save the present rules with the preset of an application, and an action for its challenges if there is none."""
    present, site = api.get(site_path(site_key, "rules")), api.get(site_path(site_key))
    if app != "none" and not any(action.get("clearance") for action in site["actions"].values()):
        api.call("PATCH", site_path(site_key), {"actions": {**site["actions"], **VISIT}})
    own = {"ruleSet": present["ruleSet"]} if present["source"] == "site" else {}
    kept = {name: present[name] for name in ("overrides", "revision")}
    return save_rules(api, site_key, {**own, **kept, "preset": app}, yes=yes)


def _body(file: Path) -> dict[str, Any]:
    # As text, so that errors have the file's own lines and columns.
    return {"ruleSetText": read_file(file)}


def _changes(present: Any, file: Path) -> list[str]:
    try:
        wanted = read_text(_body(file)["ruleSetText"]).value
    except TextProblem as problem:
        raise CommandRefused(f"{file}:{problem.place.line}:{problem.place.column}: {problem}") from None
    before, after = (json.dumps(each, indent=2, sort_keys=True).splitlines(keepends=True) for each in (present, wanted))
    lines = difflib.unified_diff(before, after, "active", str(file))
    return [line if line.endswith("\n") else line + "\n" for line in lines]


def _headers(given: Any) -> dict[str, str]:
    pairs = [each.partition(":") for each in given]
    for name, colon, _ in pairs:
        if not colon or not name.strip():
            raise CommandRefused(f"the header {name!r} must be `Name: value`")
    return {name.strip(): value.strip() for name, _, value in pairs}
