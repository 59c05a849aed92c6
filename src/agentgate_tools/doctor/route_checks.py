"""Checks of a route that needs a token, and of headers that a visitor makes up."""

from collections.abc import Iterator
from urllib.parse import quote

from agentgate_tools.doctor.asking import Asked, NoAnswer, Site
from agentgate_tools.doctor.checks import REFUSED, SCANNER, TOKEN, Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

GIVE_PATH = "Give --protected-path with a route that requires a token."
CLEAR = (
    "Configure the adapter to remove these headers from visitors' requests, in every spelling, before it sets its own."
)


def forgeries(site: Site) -> dict[str, list[tuple[str, str]]]:
    """Return headers that a visitor might make up, by what they would show."""
    elsewhere = f"{site.origin}/agentgate-doctor"
    return {
        "X-Original-URL": [("X-Original-URL", elsewhere)],
        "X-Original-Method": [("X-Original-Method", "OPTIONS")],
        "X-Original-Address": [("X-Original-Address", "192.0.2.1")],
        "X_Original_URL (underscores)": [("X_Original_URL", elsewhere), ("X_Original_Method", "OPTIONS")],
        "X-Service-Decision": [("X-Service-Decision", "allow"), ("X-Service-Reason", "allowed")],
        "X-AgentGate-Secret": [("X-AgentGate-Secret", "ags_forged_by_the_doctor")],
        "Authorization": [("Authorization", "Bearer ags_forged_by_the_doctor")],
        "X-Forwarded-*": [("X-Forwarded-Uri", "/agentgate-doctor"), ("X-Forwarded-Method", "OPTIONS")],
        "Connection (hop by hop)": [
            ("Connection", "close, X-Original-URL, X-Original-Method, X-Original-Address, X-AgentGate-Secret")
        ],
        "X-HTTP-Method-Override": [("X-HTTP-Method-Override", "OPTIONS")],
    }


def spellings(path: str) -> dict[str, str]:
    """Return other ways of writing a path that some servers take for the same."""
    first, rest = path[1:2], path[2:]
    return {
        "percent escapes": f"/%{ord(first or '/'):02x}{rest}",
        "a double escape": f"/%25{ord(first or '/'):02x}{rest}",
        "two slashes": f"/{path}",
        "a dot": f"/.{path}",
        "a detour": f"/agentgate-doctor/..{path}",
        "capitals": path.swapcase(),
        "a path parameter": f"{path};doctor=1",
        "a slash at the end": f"{path}/",
    }


def check_forged_headers(installation: Installation) -> Finding:
    """Check whether a visitor can change the response by sending the adapter's headers."""
    site = installation.site
    if installation.protected_path is None:
        method, path, own = "GET", site.path, [("User-Agent", SCANNER)]
    else:
        method, path, own = installation.method, installation.protected_path, []
    try:
        usual = site.ask(method, path, headers=own)
        changed = []
        for name, forged in forgeries(site).items():
            answer = site.ask(method, path, headers=[*own, *forged])
            if answer.status == usual.status or _is_cautious(name, answer):
                continue
            # A rate limit that was reached in between, or a restart of the site, changes every response.
            again = site.ask(method, path, headers=own)
            answer = site.ask(method, path, headers=[*own, *forged])
            if again.status == usual.status != answer.status:
                changed.append(f"{name} ({usual.status} becomes {answer.status})")
            elif again.status != usual.status:
                found = f"the same request returned {usual.status} and then {again.status}"
                return warned("forged-headers", found, "Wait a minute and run the doctor again.")
    except NoAnswer as silent:
        return failed("forged-headers", f"the site stopped responding: {silent}", "Check the proxy's logs.")
    if changed:
        return failed("forged-headers", f"the response depends on {', '.join(changed)}", CLEAR)
    return passed("forged-headers", "forged X-Original-*, X-Service-* and similar headers have no effect")


def _is_cautious(name: str, answer: Asked) -> bool:
    # A server may reject a header with an underscore or an unusual Connection before it reaches AgentGate.
    if name == "X-Service-Decision" and answer.reason == "invalid_request":
        # In enforce mode the gate blocks a visitor who sends headers that only AgentGate sends.
        return True
    return answer.status in {400, 431} and ("_" in name or "Connection" in name)


def check_protected_route(installation: Installation) -> Iterator[Finding]:
    """Check a route that requires a token: with no token, with a wrong one, and with a used one."""
    if installation.protected_path is None:
        yield skipped("missing-token", "no route was given", GIVE_PATH)
        return
    bare = _ask(installation)
    yield _without_token(installation, bare)
    if bare is not None and bare.status != 401:
        return
    forged = _ask(installation, "doctor.made.this")
    if forged is None or forged.status not in REFUSED:
        yield failed(
            "forged-token", "the route accepts a forged token", "Verify the token with AgentGate before the route runs."
        )
    else:
        yield passed("forged-token", f"the route rejects a forged token ({forged.status} {forged.reason})")
    yield _in_other_spellings(installation)
    yield from _with_tokens(installation)


def _without_token(installation: Installation, bare: Asked | None) -> Finding:
    route = f"{installation.method} {installation.protected_path}"
    if bare is None:
        return failed("missing-token", f"{route} does not respond", "Check the proxy's logs.")
    if bare.status in {401, 403, 429} and bare.reason in {"policy", "agent_unverified", "rate_limited"}:
        fix = "Wait a minute, or run the doctor from an IP address that the site's rules allow."
        return warned("missing-token", f"the site's rules block this client on {route} ({bare.reason})", fix)
    if bare.status == 401 and bare.reason:
        return passed("missing-token", f"{route} requires a token ({bare.reason})")
    if bare.status == 401:
        fix = "Check whether AgentGate returns this response: its adapters send the reason in X-Service-Reason."
        return warned("missing-token", f"{route} returns 401 without a reason", fix)
    if bare.status == 503:
        fix = "Start AgentGate, or correct its address or the site's secret in the adapter."
        return warned("missing-token", f"{route} is closed because the check fails (503)", fix)
    return failed("missing-token", f"{route} runs without a token ({bare.status})", _why_open(installation))


def _why_open(installation: Installation) -> str:
    """Return what most likely leaves a route open."""
    try:
        script = installation.site.ask("GET", "/.agentgate/sdk/v1/agentgate.js")
    except NoAnswer:
        script = None
    if script is not None and script.status in {502, 503, 504}:
        return "AgentGate is unavailable and the adapter fails open. Configure it to return 503 if the check fails."
    if script is not None and script.is_script:
        return "Add the route with an action that has browserRequired, and switch the site to enforce mode."
    return "The site is not connected: install an adapter or the middleware."


def _in_other_spellings(installation: Installation) -> Finding:
    opened = []
    for name, path in spellings(installation.protected_path or "/").items():
        try:
            answer = installation.site.ask(installation.method, quote(path, safe="/%;=."))
        except NoAnswer:
            continue
        # A redirect runs nothing, and leads to a spelling that is checked again.
        if answer.status not in REFUSED and not 300 <= answer.status < 400:
            opened.append(f"{name} ({path}: {answer.status})")
    if opened:
        fix = "Configure the adapter to send the target unchanged, not decoded."
        return failed("spellings", f"these spellings reach the route unchecked: {', '.join(opened)}", fix)
    return passed("spellings", "the route is protected in every spelling of its path")


def _with_tokens(installation: Installation) -> Iterator[Finding]:
    if installation.other_token is None:
        yield skipped("wrong-action", "no token of another action was given", "Give --other-token.")
    else:
        answer = _ask(installation, installation.other_token)
        if answer is None or answer.status not in REFUSED:
            fix = "Verify the token's action (expectedAction)."
            yield failed("wrong-action", "the route accepts a token of another action", fix)
        else:
            yield passed("wrong-action", f"the route rejects a token of another action ({answer.reason})")
    if installation.token is None:
        yield skipped("replay", "no token was given", "Give --token with a new token for the route.")
        return
    first, second = _ask(installation, installation.token), _ask(installation, installation.token)
    if first is None or first.status in REFUSED:
        told = "no answer" if first is None else f"{first.status} {first.reason}"
        fix = "Give a new token of this site and route."
        if first is not None and first.reason == "visitor_mismatch":
            fix = "Get the token with Chrome, in the doctor's network: other clients cannot redeem it."
        yield warned("replay", f"the token was rejected at first use ({told})", fix)
    elif second is None or second.status not in REFUSED:
        yield failed(
            "replay",
            "the route accepts the same token twice",
            "Redeem each token, and reject the request if that fails.",
        )
    else:
        yield passed("replay", f"the route accepts the token once and then rejects it ({second.reason})")


def _ask(installation: Installation, token: str | None = None) -> Asked | None:
    headers = [] if token is None else [(TOKEN, token)]
    try:
        return installation.site.ask(installation.method, installation.protected_path or "/", headers=headers)
    except NoAnswer:
        return None
