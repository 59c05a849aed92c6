"""The table of who gets what on which route: asked of the running service, and written so that people can read it."""

from pathlib import Path

import httpx

from tests.support.api_client import ApiClient
from tests.support.every_route import ADMIN_ROUTES, CHANGING, PUBLIC_ROUTES, ask
from tests.support.service import RunningService
from tests.support.tables import dump, forget_counts, restore
from tests.support.two_accounts import Scene, set_scene

PATH = Path(__file__).parent / "table.md"
HEAD = """# Who gets what

Every route of both listeners, called by anyone, with the IDs of Acme's things and a body that works for whoever may
do it. Each call starts from the same state. Made by `python -m tests.api.authorization.regenerate`; a difference to
what the service answers fails `test_table.py`, so each change here is to be read like a change of the code.
"""


def make_table(service: RunningService) -> str:
    """Ask for every cell, and write the table."""
    scene = set_scene(service)
    lines = [HEAD]
    for title, routes, client in (
        ("Public listener", PUBLIC_ROUTES, service.public),
        ("Admin listener", ADMIN_ROUTES, service.anonymous),
    ):
        lines.append(f"## {title}\n")
        for name in routes:
            outcomes = _outcomes(service, client, scene, name)
            lines += [f"### {name}\n", *(f"- {outcome}: {_named(who, scene)}" for outcome, who in outcomes), ""]
    return "\n".join(lines)


def _outcomes(service: RunningService, client: ApiClient, scene: Scene, name: str) -> list[tuple[str, list[str]]]:
    row = PUBLIC_ROUTES[name] if client is service.public else ADMIN_ROUTES[name]
    saved = dump(service) if row.method in CHANGING else {}
    found: dict[str, list[str]] = {}
    for caller, headers in scene.callers.items():
        reply = ask(client, row, scene, headers)
        found.setdefault(_told(reply), []).append(caller)
        # Restore the state, so that the next caller does not find what this one changed or used up. Failed sign-ins
        # leave traces, too.
        if row.method in CHANGING and (reply.is_success or row.path.startswith("/v1/account/")):
            restore(service, saved)
        forget_counts(service)
    return sorted(found.items())


def _named(who: list[str], scene: Scene) -> str:
    """List the callers, all of them and all tokens under one name."""
    tokens = [caller for caller in scene.callers if "Authorization" in scene.callers[caller]]
    if who == list(scene.callers):
        return "anyone"
    if set(tokens) <= set(who):
        who = ["every token", *(caller for caller in who if caller not in tokens)]
    return ", ".join(who)


def _told(reply: httpx.Response) -> str:
    if reply.status_code < 400:
        return str(reply.status_code)
    if reply.headers["content-type"].startswith("text/html"):
        return f"{reply.status_code} as a page"
    told = reply.json()
    # Responses of the gateway have a reason for proxies instead of an error code.
    return f"{reply.status_code} `{told.get('error') or told['reason']}`"
