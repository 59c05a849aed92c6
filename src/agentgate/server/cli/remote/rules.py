"""`agentgate rules`: a site's rules as a file: check, try, compare, replay, put in force."""

import difflib
import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from agentgate.protection.rules.text import TextProblem, read_text
from agentgate.server.cli.options import (
    CommandRefused,
    ConfigOption,
    JsonOption,
    print_json,
    print_outcome,
    print_table,
)
from agentgate.server.cli.remote.admin_api import AdminApi, SiteArgument, UrlOption, open_api, site_path

WRONG_EXIT_CODE = 1

rules = typer.Typer(
    help="A site's rules as a file: check, try, compare, replay, put in force.",
    epilog="Example: agentgate rules lint site_shop1 rules.json",
)
FileArgument = Annotated[Path, typer.Argument(help="A rule set as YAML or JSON.", exists=True, dir_okay=False)]


@rules.command("show", epilog="Example: agentgate rules show site_shop1 > rules.json")
def show(
    site_key: SiteArgument, url: UrlOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Print the rule set that a site follows, ready to be edited; with --json also its revision and overrides."""
    found = open_api(url, config).get(site_path(site_key, "rules"))
    print_json(found if as_json else found["ruleSet"])
    typer.secho(f"revision {found['revision']}, of the {found['source']}", err=True)


@rules.command("lint", epilog="Example: agentgate rules lint site_shop1 rules.json")
def lint(
    site_key: SiteArgument,
    file: FileArgument,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Check a file: errors with line and column, and rules that can never matter. Exit code 1 when it is not valid."""
    checked = open_api(url, config).call("POST", site_path(site_key, "rules", "validate"), _body(file))
    if as_json:
        print_json(checked)
    else:
        for problem in checked["errors"]:
            print(f"{file}{_place(problem)}: {problem['message']}")
        for found in checked.get("lints", ()):
            print(f"{file}{_place(found)}: {found['kind']}: {found['message']}")
        if checked["valid"]:
            print(f"{file} is valid")
    return 0 if checked["valid"] else WRONG_EXIT_CODE


@dataclass(frozen=True, kw_only=True)
class TryOptions:
    """The arguments of `rules test`; a function would have to take too many."""

    site_key: SiteArgument
    file: FileArgument
    target: Annotated[str, typer.Option(help="The address that is asked for, with scheme and host.")]
    method: Annotated[str, typer.Option(help="The request's method.")] = "GET"
    header: Annotated[list[str] | None, typer.Option(help="`Name: value`; repeatable.")] = None
    address: Annotated[str, typer.Option(help="The visitor's address.")] = "198.51.100.7"
    url: UrlOption = None
    config: ConfigOption = None
    as_json: JsonOption = False


def try_request(**given: Any) -> None:
    """Try one request: what would be said, by which rule, and why not by those before it."""
    options = TryOptions(**given)
    headers = _headers(options.header or ())
    request = {"method": options.method, "url": options.target, "headers": headers, "address": options.address}
    body = {**_body(options.file), "request": request}
    report = open_api(options.url, options.config).call("POST", site_path(options.site_key, "rules", "test"), body)
    if options.as_json:
        print_json(report)
        return
    print(f"{report['outcome']}, by {report.get('rule', 'the default')}; labels: {', '.join(report['labels'])}")
    rows = [(each["rule"], "yes" if each["matched"] else "no", each.get("because", "")) for each in report["trace"]]
    print_table("Rules in their order", ("Rule", "Matched", "Because"), rows)


# Typer reads the arguments from here.
try_request.__signature__ = inspect.signature(TryOptions)  # type: ignore[attr-defined]
EXAMPLE = "Example: agentgate rules test site_shop1 rules.json --target https://shop.example/login"
rules.command("test", epilog=EXAMPLE)(try_request)


@rules.command("diff", epilog="Example: agentgate rules diff site_shop1 rules.json")
def diff(
    site_key: SiteArgument,
    file: FileArgument,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Compare a file with what is in force. Exit code 1 when they differ."""
    changes = _changes(open_api(url, config).get(site_path(site_key, "rules"))["ruleSet"], file)
    text = "".join(changes)
    print_outcome({"differs": bool(changes), "diff": text}, text.rstrip("\n") or "no difference", as_json=as_json)
    return WRONG_EXIT_CODE if changes else 0


@rules.command("backtest", epilog="Example: agentgate rules backtest site_shop1 rules.json")
def backtest(
    site_key: SiteArgument,
    file: FileArgument,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay recent traffic by a file: whom would it treat otherwise?"""
    report = _backtest(open_api(url, config), site_key, file)
    if as_json:
        print_json(report)
    else:
        _print_report(report)


@rules.command("push", epilog="Example: agentgate rules push site_shop1 rules.json")
def push(
    site_key: SiteArgument,
    file: FileArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs; needs --yes.")] = False,
) -> int:
    """Put a file in force, after its difference and a backtest were shown; refused when somebody was quicker."""
    api = open_api(url, config)
    present = api.get(site_path(site_key, "rules"))
    changes = _changes(present["ruleSet"], file)
    if as_json and not yes:
        raise CommandRefused("--json asks nothing, so it needs --yes; `agentgate rules diff` shows what would change")
    if not changes:
        print_outcome(present, "no difference", as_json=as_json)
        return 0
    checked = api.call("POST", site_path(site_key, "rules", "validate"), _body(file))
    if not checked["valid"]:
        for problem in checked["errors"]:
            typer.secho(f"{file}{_place(problem)}: {problem['message']}", err=True)
        return WRONG_EXIT_CODE
    if not as_json:
        print("".join(changes))
        _print_report(_backtest(api, site_key, file))
    if not yes:
        typer.confirm("Put it in force?", abort=True)
    made = api.call("PUT", site_path(site_key, "rules"), {**_body(file), "revision": present["revision"]})
    print_outcome(made, f"revision {made['revision']} is in force", as_json=as_json)
    return 0


def _body(file: Path) -> dict[str, Any]:
    # As text, so that errors have the file's own lines and columns.
    try:
        return {"ruleSetText": file.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise CommandRefused(f"{file} cannot be read ({error})") from None


def _changes(present: Any, file: Path) -> list[str]:
    try:
        wanted = read_text(_body(file)["ruleSetText"]).value
    except TextProblem as problem:
        raise CommandRefused(f"{file}:{problem.place.line}:{problem.place.column}: {problem}") from None
    before, after = (json.dumps(each, indent=2, sort_keys=True).splitlines(keepends=True) for each in (present, wanted))
    lines = difflib.unified_diff(before, after, "in force", str(file))
    return [line if line.endswith("\n") else line + "\n" for line in lines]


def _backtest(api: AdminApi, site_key: str, file: Path) -> Any:
    return api.call("POST", site_path(site_key, "rules", "backtest"), _body(file))


def _print_report(report: Any) -> None:
    print(f"{report['evaluated']} requests replayed, {report['changed']} would be treated otherwise")
    rows = [
        (f"{flip['from']} -> {flip['to']}", str(flip["count"]), str(flip["humanLabelled"]), ", ".join(flip["examples"]))
        for flip in report["flips"]
    ]
    if rows:
        print_table("Changes", ("Outcome", "Requests", "People among them", "Examples"), rows)
    if not report["complete"]:
        print("not all of the range was replayed: it has too many requests")


def _headers(given: Any) -> dict[str, str]:
    pairs = [each.partition(":") for each in given]
    for name, colon, _ in pairs:
        if not colon or not name.strip():
            raise CommandRefused(f"the header {name!r} must be `Name: value`")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _place(problem: Any) -> str:
    return f":{problem['line']}:{problem.get('column', 1)}" if "line" in problem else ""
