"""`agentgate doctor`: check a live installation from outside."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from agentgate.lib.clock import SystemClock
from agentgate.lib.enums import HealthSeverity
from agentgate_tools.commands.api_client import AdminApi, open_api, site_path
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.progress import Progress
from agentgate_tools.doctor.asking import Site, is_private
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.examine import by_cause, examine
from agentgate_tools.doctor.findings import Finding, State, failed, passed, skipped, warned
from agentgate_tools.doctor.suggestion_checks import check_suggestions

FAILED_EXIT_CODE = 1


@dataclass(frozen=True)
class DoctorOptions:
    """The arguments of the command; a function would have to take too many."""

    url: Annotated[str, Argument(help="The site's public address.")]
    protected_path: Annotated[str | None, Option(help="Protected path to test. Method: see --method.")] = None
    method: Annotated[str, Option(help="HTTP method of the protected path.")] = "POST"
    token: Annotated[
        list[str] | None, Option(help="New token for the protected path; repeat with a token of another action.")
    ] = None
    port: Annotated[list[int] | None, Option(help="Further port to test for an exposed AgentGate; repeatable.")] = None
    upstream: Annotated[
        str | None, Option(help="Address of the application, to test whether it is reachable and under which paths.")
    ] = None
    terms: Annotated[
        str | None,
        Option(
            help="AgentGate's robots.txt of the site, such as http://127.0.0.1:8080/v1/sites/site_shop1/robots.txt."
        ),
    ] = None
    adapter: Annotated[Path | None, Option(help="File of the adapter, to test whether it fails open or closed.")] = None
    site: Annotated[
        str | None,
        Option(help="Site key, to include health, suggestions and model drift. Requires the operator credential."),
    ] = None


def doctor(options: DoctorOptions) -> CommandAnswer:
    """Test a site's protection from outside. Exit code 1 if a check fails.

    It sends about a hundred harmless requests. Only the address is required; a protected route, tokens, the upstream's
    address and the adapter's file enable further checks.
    """
    tokens, path = options.token or [], options.protected_path
    if len(tokens) > 2:
        raise CommandRefused("give at most two tokens: one for the route and one of another action")
    if path is not None and not path.startswith("/"):
        raise CommandRefused(f"the path {path!r} must start with a slash, such as /login")
    with Progress() as progress:
        return _examine(options, path, tokens, lambda asked: progress.show(f"{asked} requests to {options.url}"))


def _examine(options: DoctorOptions, path: str | None, tokens: list[str], note: Callable[[int], None]) -> CommandAnswer:
    try:
        site = Site(options.url, note)
        behind = None if options.upstream is None else Site(options.upstream)
        terms = None if options.terms is None else Site(options.terms)
    except ValueError as wrong:
        raise CommandRefused(str(wrong)) from None
    findings = examine(
        Installation(
            site=site,
            clock=SystemClock(),
            site_key=options.site or "SITE_KEY",
            protected_path=path,
            method=options.method.upper(),
            token=tokens[0] if tokens else None,
            other_token=tokens[1] if len(tokens) > 1 else None,
            ports=tuple(options.port) if options.port else None,
            upstream=behind,
            is_inside=behind is not None and is_private(behind.host),
            adapter=_text_of(options.adapter),
            terms=terms,
        )
    )
    if options.site is not None:
        api = open_api()
        listed = api.get(site_path(options.site, "suggestions"))
        drift = _drift(api, options.site)
        findings = by_cause([*findings, *_health(api, options.site), *check_suggestions(options.site, listed), drift])
    rows = [(each.check, each.state.value, each.found, each.fix) for each in findings]
    return CommandAnswer(
        msgspec.to_builtins(findings),
        PrintedTable(f"Installation at {options.url}", ("Check", "State", "Found", "What to do"), rows),
        code=FAILED_EXIT_CODE if any(each.state is State.FAIL for each in findings) else 0,
    )


def _health(api: AdminApi, site_key: str) -> Iterator[Finding]:
    """Yield the site's failed health checks, from the service's own counts of 24 hours."""
    for each in api.get(site_path(site_key, "health"))["checks"]:
        found, _, fix = each["message"].partition(". ")
        yield (failed if each["severity"] == HealthSeverity.CRITICAL else warned)(each["check"], found, fix)


def _drift(api: AdminApi, site_key: str) -> Finding:
    """Compare the bot scores of the last hour with the week before."""
    sites = api.get("/models/bot/drift")["sites"]
    found = next((each for each in sites if each["siteKey"] == site_key), None)
    if found is None or found["index"] is None:
        return skipped("drift", "fewer than 200 scored requests in the last hour or in the 7 days before", "Wait.")
    if found["drifted"]:
        fix = "Look at decisions of the bins that grew: operator console, Models. See docs/train-model.md."
        return warned("drift", f"the bot scores have changed since the week before (index {found['index']:.2f})", fix)
    return passed("drift", f"the bot scores are spread as in the week before (index {found['index']:.2f})")


def _text_of(file: Path | None) -> str | None:
    try:
        return None if file is None else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandRefused(f"--adapter {file} cannot be read: {problem}") from None
