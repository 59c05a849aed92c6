"""`agentgate doctor`: check a live installation from outside."""

from typing import Annotated

import msgspec
import typer

from agentgate.lib.clock import SystemClock
from agentgate.server.cli.command import CommandAnswer, CommandRefused, PrintedTable
from agentgate_tools.doctor.asking import Site, is_private
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.examine import examine
from agentgate_tools.doctor.findings import State

FAILED_EXIT_CODE = 1


def doctor(
    url: Annotated[str, typer.Argument(help="The site's address, as visitors have it.")],
    *,
    protected_path: Annotated[
        str | None, typer.Option(help="A route that needs a token: POST, unless said else.")
    ] = None,
    method: Annotated[str, typer.Option(help="The method of the protected route.")] = "POST",
    token: Annotated[
        list[str] | None, typer.Option(help="A fresh token for the route; a second one of another action.")
    ] = None,
    port: Annotated[list[int] | None, typer.Option(help="Where AgentGate might listen by mistake; repeatable.")] = None,
    upstream: Annotated[
        str | None, typer.Option(help="Where the application itself listens: is it reachable, and under which paths?")
    ] = None,
) -> CommandAnswer:
    """Look at a site from outside: is it behind the gate, and does the gate hold? Exit code 1 when something fails.

    It asks some hundred harmless requests. The address alone is enough; a protected route, tokens and the upstream's
    address allow for more.
    """
    tokens = token or []
    if len(tokens) > 2:
        raise CommandRefused("give at most two tokens: one for the route, one of another action")
    if protected_path is not None and not protected_path.startswith("/"):
        raise CommandRefused(f"the path {protected_path!r} must begin with a slash, such as /login")
    try:
        site = Site(url)
        behind = None if upstream is None else Site(upstream)
    except ValueError as wrong:
        raise CommandRefused(str(wrong)) from None
    findings = examine(
        Installation(
            site=site,
            clock=SystemClock(),
            protected_path=protected_path,
            method=method.upper(),
            token=tokens[0] if tokens else None,
            other_token=tokens[1] if len(tokens) > 1 else None,
            ports=tuple(port) if port else None,
            upstream=behind,
            is_inside=behind is not None and is_private(behind.host),
        )
    )
    rows = [(each.check, each.state.value, each.found, each.fix) for each in findings]
    return CommandAnswer(
        msgspec.to_builtins(findings),
        PrintedTable(f"Installation at {url}", ("Check", "State", "Found", "What to do"), rows),
        code=FAILED_EXIT_CODE if any(each.state is State.FAIL for each in findings) else 0,
    )
