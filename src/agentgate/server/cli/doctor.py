"""`agentgate doctor`: check a live installation from outside."""

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from agentgate.lib.clock import SystemClock
from agentgate.server.cli.options import CommandRefused, JsonOption, print_json, print_table

FAILED_EXIT_CODE = 1


@dataclass(frozen=True)
class DoctorOptions:
    """The arguments of the command; a function would have to take too many."""

    url: Annotated[str, typer.Argument(help="The site's address, as visitors have it.")]
    protected_path: Annotated[str | None, typer.Option(help="A route that needs a token: POST, unless said else.")] = (
        None
    )
    method: Annotated[str, typer.Option(help="The method of the protected route.")] = "POST"
    token: Annotated[
        list[str] | None, typer.Option(help="A fresh token for the route; a second one of another action.")
    ] = None
    port: Annotated[list[int] | None, typer.Option(help="Where AgentGate might listen by mistake; repeatable.")] = None
    upstream: Annotated[
        str | None, typer.Option(help="Where the application itself listens: is it reachable, and under which paths?")
    ] = None
    as_json: JsonOption = False


def doctor(**given: Any) -> int:
    """Look at a site from outside: is it behind the gate, and does the gate hold? Exit code 1 when something fails.

    It asks some hundred harmless requests. The address alone is enough; a protected route, tokens and the upstream's
    address allow for more.
    """
    import msgspec  # noqa: PLC0415 - keeps the command line quick

    from agentgate_tools.doctor.asking import Site, is_private  # noqa: PLC0415 - likewise
    from agentgate_tools.doctor.checks import Installation  # noqa: PLC0415 - likewise
    from agentgate_tools.doctor.examine import examine  # noqa: PLC0415 - likewise
    from agentgate_tools.doctor.findings import State  # noqa: PLC0415 - likewise

    options = DoctorOptions(**given)
    tokens = options.token or []
    if len(tokens) > 2:
        raise CommandRefused("give at most two tokens: one for the route, one of another action")
    if options.protected_path is not None and not options.protected_path.startswith("/"):
        raise CommandRefused(f"the path {options.protected_path!r} must begin with a slash, such as /login")
    try:
        site = Site(options.url)
        upstream = None if options.upstream is None else Site(options.upstream)
    except ValueError as wrong:
        raise CommandRefused(str(wrong)) from None
    findings = examine(
        Installation(
            site=site,
            clock=SystemClock(),
            protected_path=options.protected_path,
            method=options.method.upper(),
            token=tokens[0] if tokens else None,
            other_token=tokens[1] if len(tokens) > 1 else None,
            ports=tuple(options.port) if options.port else None,
            upstream=upstream,
            is_inside=upstream is not None and is_private(upstream.host),
        )
    )
    if options.as_json:
        print_json(msgspec.to_builtins(findings))
    else:
        rows = [(each.check, each.state.value, each.found, each.fix) for each in findings]
        print_table(f"Installation at {options.url}", ("Check", "State", "Found", "What to do"), rows)
    return FAILED_EXIT_CODE if any(each.state is State.FAIL for each in findings) else 0


# Typer reads the arguments from here.
doctor.__signature__ = inspect.signature(DoctorOptions)  # type: ignore[attr-defined]
