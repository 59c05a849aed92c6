"""`agentgate rules lint | test | fmt | schema`: rule sets as files, without a service."""

import json
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
import yaml
from msgspec import UNSET, Struct, UnsetType

from agentgate.decision.explain import observe_sample
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.threat_data.intel import Intel, load_intel
from agentgate.lib.clock import SystemClock
from agentgate.lib.enums import Outcome
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from agentgate.sites.records import SiteRoute
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.drafts import Draft, checked, read_draft
from agentgate.sites.rules.explain import explain
from agentgate.sites.rules.records import RulesRequest, rule_set_schema
from agentgate.sites.rules.replay_records import SampleRequest, TestReport
from agentgate.sites.rules.text import read_text
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable, command, read_file
from agentgate_tools.commands.intel import intel_folder
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.rule_text import formatted

WRONG_EXIT_CODE = 1

rules = click.Group(
    help="Lint, test, format, compare, replay and activate rules from a file.",
    epilog="Example: agentgate rules lint rules.yaml",
)
FileArgument = Annotated[Path, Argument(help="A rule set as YAML or JSON.", exists=True, dir_okay=False)]


class CaseRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request of a case, as a visitor would send it."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    address: str = "198.51.100.7"


class RuleCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request and its expected outcome. `labels` are added to the request's labels; `at` is a time for schedules."""

    name: str
    request: CaseRequest
    outcome: Outcome
    # The expected rule; `default` for the default action.
    rule: str | UnsetType = UNSET
    labels: list[str] = []
    at: str | UnsetType = UNSET


class RuleCases(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of cases, and the routes of the site that they are about."""

    cases: list[RuleCase]
    routes: list[SiteRoute] = []


@command(rules, "lint", "agentgate rules lint rules.yaml")
def lint(
    file: FileArgument,
    network_list: Annotated[
        list[str] | None, Option(help="Name of a network list of the site; repeatable. Default: names are not checked.")
    ] = None,
) -> CommandAnswer:
    """Check a file: errors with line and column, and rules without effect. Exit code 1 if it is invalid."""
    known = None if not network_list else frozenset(network_list)
    result = checked(msgspec.structs.replace(_draft(file), network_lists=known), SystemClock().now_ms())
    found = msgspec.to_builtins(result)
    people = [f"{file}{position_of(problem)}: {problem['message']}" for problem in found["errors"]]
    people += [f"{file}{position_of(each)}: {each['kind']}: {each['message']}" for each in found["lints"]]
    if result.valid:
        people.append(f"{file} is valid" + (f", with {_warned(len(result.warnings))}" if result.warnings else ""))
    return CommandAnswer(found, people, code=0 if result.valid else WRONG_EXIT_CODE)


@command(rules, "test", "agentgate rules test rules.yaml cases.yaml")
def run_cases(
    file: FileArgument,
    cases: Annotated[Path, Argument(help="YAML or JSON with `cases`: requests and outcomes.", exists=True)],
    settings: Settings,
) -> CommandAnswer:
    """Test a file's rules with requests and their expected outcomes. Exit code 1 if one has another outcome.

    Labels come from each request as for the first request of a visitor; `labels` of a case are added.
    """
    draft, wanted = _draft(file), _read_cases(cases)
    if draft.effective is None:
        raise CommandRefused(f"{file} is not valid; `agentgate rules lint {file}` lists the errors")
    intel, routes = load_intel(intel_folder(settings)), RouteTable(wanted.routes)
    failed, reports = [], []
    for case in wanted.cases:
        report = _report(draft, case, routes, intel)
        wrong = _difference(case, report)
        reports.append({"name": case.name, "passed": wrong is None, "report": msgspec.to_builtins(report)})
        if wrong is not None:
            failed.append((case.name, wrong, ", ".join(report.labels)))
    people: list[str | PrintedTable] = []
    if failed:
        people.append(PrintedTable("Failed cases", ("Case", "Result", "Labels"), failed))
    people.append(f"{len(wanted.cases) - len(failed)} of {len(wanted.cases)} cases passed")
    return CommandAnswer({"cases": reports}, people, code=WRONG_EXIT_CODE if failed else 0)


@command(rules, "fmt", "agentgate rules fmt rules.yaml")
def fmt(
    file: FileArgument,
    *,
    check: Annotated[bool, Option("--check", help="Change nothing; exit code 1 if the file would change.")] = False,
) -> CommandAnswer:
    """Format a file: keys in one order, one form for each value. A rule with comments inside stays as it is."""
    text = read_file(file)
    if _draft(file).effective is None:
        raise CommandRefused(f"{file} is not valid; `agentgate rules lint {file}` lists the errors")
    after = formatted(text)
    assert read_text(after).value == read_text(text).value, "formatting changes no value"
    if after == text:
        return CommandAnswer({"changed": False}, f"{file} is formatted")
    if check:
        return CommandAnswer({"changed": True}, f"{file} is not formatted", code=WRONG_EXIT_CODE)
    file.write_text(after, encoding="utf-8")
    return CommandAnswer({"changed": True}, f"{file} was formatted")


@command(rules, "schema", "agentgate rules schema > rules.schema.json")
def schema() -> CommandAnswer:
    """Print the JSON Schema of rule sets, for editors."""
    found = rule_set_schema()
    return CommandAnswer(found, json.dumps(found, indent=2))


def position_of(problem: Any) -> str:
    """Return the position of a problem, as compilers write it."""
    return f":{problem['line']}:{problem.get('column', 1)}" if "line" in problem else ""


def _draft(file: Path) -> Draft:
    return read_draft(RulesRequest(rule_set_text=read_file(file)))


def _read_cases(file: Path) -> RuleCases:
    try:
        return msgspec.convert(yaml.safe_load(read_file(file)), RuleCases)
    except (yaml.YAMLError, msgspec.ValidationError) as problem:
        raise CommandRefused(
            f"{file} must have `cases`, each with name, request and outcome, and may have `routes`: {problem}"
        ) from None


def _report(draft: Draft, case: RuleCase, routes: RouteTable, intel: Intel) -> TestReport:
    assert draft.effective is not None, "checked by the caller"
    try:
        request = msgspec.convert(msgspec.to_builtins(case.request), SampleRequest)
        sample = observe_sample(request, routes, models=ModelDirectory().view, intel=intel)
        now_ms = SystemClock().now_ms() if isinstance(case.at, UnsetType) else Moment.parse(case.at)
    except (Refused, ValueError) as problem:
        raise CommandRefused(f"the case {case.name}: {problem}") from None
    labelled = msgspec.structs.replace(sample, labels=tuple(sorted({*sample.labels, *case.labels})))
    return explain(draft.effective, labelled, now_ms)


def _difference(case: RuleCase, report: TestReport) -> str | None:
    """Return the unexpected result of a case, or None."""
    rule = "default" if isinstance(report.rule, UnsetType) else report.rule
    if report.outcome != case.outcome:
        return f"{report.outcome} by {rule}, expected {case.outcome}"
    if not isinstance(case.rule, UnsetType) and case.rule != rule:
        return f"{report.outcome} by {rule}, expected the rule {case.rule}"
    return None


def _warned(count: int) -> str:
    return "1 warning" if count == 1 else f"{count} warnings"
