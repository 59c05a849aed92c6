"""The checks, one function each: what is asked, and what the answer says about the installation."""

from collections.abc import Iterator
from ipaddress import ip_address

from msgspec import Struct

from agentgate.lib.clock import Clock
from agentgate_tools.doctor.asking import Asked, NoAnswer, Site, ask_port
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

OWN_SCRIPT = "/.agentgate/sdk/v1/agentgate.js"
# What of the service must not be reachable through the site.
NOT_PASSED_ON = ("v1/gateway/check", "v1/siteverify", "v1/admin/sites", "v1/account/session", "healthz", "metrics")
NOT_AT_ALL = ("v1/gateway/check", "v1/admin/sites")
# A client that the rules of a fresh site refuse.
SCANNER = "sqlmap/1.8"
TOKEN = "X-AgentGate-Token"  # noqa: S105 - the name of a header
MOST_SKEW_S = 30.0
CERTIFICATE_S = 14 * 24 * 3600.0
DEFAULT_PORTS = (8080, 8081)
# Answers of a gateway or a proxy that refuses. A site's own 404 is not among them: there the request went through.
REFUSED = frozenset((400, 401, 402, 403, 405, 429, 431, 451, 503))


class Installation(Struct, frozen=True, kw_only=True):
    """What is known of the installation. Only the site is needed; the rest allows for more checks."""

    site: Site
    clock: Clock
    # A route that needs a token, and its method.
    protected_path: str | None = None
    method: str = "POST"
    # A fresh token for that route, and one for another action. Both are used up.
    token: str | None = None
    other_token: str | None = None
    # Where AgentGate itself might listen on the site's host; None for the usual ports.
    ports: tuple[int, ...] | None = None


def check_transport(installation: Installation, home: Asked) -> Iterator[Finding]:
    """Look at TLS and at the time."""
    site, now_s = installation.site, installation.clock.now_ms() / 1000
    if site.scheme == "https":
        left_days = int((home.certificate_ends_s - now_s) / 86_400)
        if home.certificate_ends_s - now_s < CERTIFICATE_S:
            yield warned("tls", f"the certificate ends in {left_days} days", "Renew it, or mend what renews it.")
        else:
            yield passed("tls", f"the certificate is good for {left_days} days")
    elif _is_loopback(site.host):
        yield skipped("tls", "the site is on this machine", "Run the doctor against the address that visitors use.")
    else:
        fix = "Serve the site over https: tokens and clearances are sent in clear."
        yield warned("tls", "the site is served over http", fix)
    date_s = home.date_s
    if date_s is None:
        yield skipped("clock", "the site tells no time", "Compare the clocks of both machines by hand.")
    elif abs(date_s - now_s) > MOST_SKEW_S:
        found = f"the site's clock and this machine's differ by {abs(date_s - now_s):.0f} s"
        yield warned("clock", found, "Set both by NTP: tokens live for two minutes.")
    else:
        yield passed("clock", "the site's clock agrees with this machine's")


def check_gate(installation: Installation) -> Iterator[Finding]:
    """Look whether there is a gateway in front of the site at all."""
    script = _try(installation.site, "GET", OWN_SCRIPT)
    denied = _try(installation.site, "GET", "/", ("User-Agent", SCANNER))
    has_script = script is not None and script.is_script
    if denied is not None and denied.reason:
        yield passed("gate", f"the gateway refuses a scanner ({denied.status} {denied.reason})")
    elif has_script:
        found = "the site is connected, and a scanner is let through"
        yield warned("gate", found, "Switch the site to enforce mode, and see whether its rules stop scanners.")
    elif script is not None and script.status in {502, 503, 504}:
        yield failed(
            "gate", f"AgentGate does not answer ({script.status})", "Start it, or set its address in the adapter."
        )
    else:
        fix = "Put an adapter before the site: `agentgate adapter nginx`, or the middleware of agentgate_client."
        yield failed("gate", "nothing shows that the site is behind AgentGate", fix)
    if has_script:
        yield passed("own-paths", "the check's script comes from the site's own origin")
    else:
        status = "no answer" if script is None else str(script.status)
        fix = "Let the adapter pass `/.agentgate/` on to AgentGate, with the prefix removed."
        yield failed("own-paths", f"{OWN_SCRIPT} is not there ({status})", fix)


def check_exposure(installation: Installation) -> Iterator[Finding]:
    """Look whether more of the service can be reached than visitors need."""
    site = installation.site
    open_paths = [path for path in NOT_PASSED_ON if _is_ours(_try(site, "GET", f"/.agentgate/{path}"), own=True)]
    open_paths += [path for path in NOT_AT_ALL if _is_ours(_try(site, "GET", f"/{path}"), own=False)]
    if open_paths:
        fix = "Pass on what the adapters in deploy/ do: the challenge page, /v1/browser/ and /sdk/ under /.agentgate/."
        yield failed("exposure", f"the site passes {', '.join(dict.fromkeys(open_paths))} on to AgentGate", fix)
    else:
        yield passed("exposure", "the site passes on what its visitors need and nothing else")
    if installation.ports is None and _is_loopback(site.host):
        yield skipped("listeners", "the site is on this machine", "Run the doctor from another one, or give --port.")
        return
    ports = DEFAULT_PORTS if installation.ports is None else installation.ports
    admin = [port for port in ports if _has_admin(ask_port(site.host, port, "/v1/admin/sites"))]
    public = [port for port in ports if port not in admin and _has_health(ask_port(site.host, port, "/healthz"))]
    for port in admin:
        fix = "Bind AGENTGATE_ADMIN_LISTEN to the loopback or a private network, and close the port in the firewall."
        yield failed("listeners", f"the admin listener answers on port {port}", fix)
    for port in public:
        fix = "Bind AGENTGATE_PUBLIC_LISTEN to where the proxy reaches it, unless browsers call AgentGate directly."
        yield warned("listeners", f"AgentGate's public listener answers on port {port}", fix)
    if not admin and not public:
        yield passed("listeners", f"nothing of AgentGate answers on port {', '.join(map(str, ports))}")


def check_leaks(home: Asked, refused: Asked | None) -> Finding:
    """Look whether answers carry what only proxy and service should know."""
    leaked = []
    for answer in (home, refused):
        for name, value in () if answer is None else answer.headers:
            if name.startswith(("x-original-", "x-agentgate-secret")) or "ags_" in value:
                leaked.append(name)
    told = [name for name, _ in home.headers if name in {"x-service-reason", "x-service-would-decision"}]
    if leaked:
        fix = "Remove these from the answers, and rotate the site's secret if it was among them."
        return failed("leaks", f"answers carry {', '.join(dict.fromkeys(leaked))}", fix)
    if home.status < 400 and told:
        fix = "Let the adapter keep the service's headers from visitors who are let through."
        return warned("leaks", f"visitors are told {', '.join(told)}", fix)
    return passed("leaks", "answers carry no secret and nothing of the proxy's questions")


def _try(site: Site, method: str, path: str, *headers: tuple[str, str]) -> Asked | None:
    try:
        return site.ask(method, path, headers=headers)
    except NoAnswer:
        return None


def _is_ours(answer: Asked | None, *, own: bool) -> bool:
    """Say whether AgentGate itself answered, as opposed to the site or the adapter; `own`: under its own prefix."""
    if answer is None or answer.status == 404:
        return False
    if answer.header("x-service-decision") or answer.reason == "invalid_credential":
        return True
    is_json = answer.header("content-type").startswith("application/json")
    return own and (is_json or b"agentgate_" in answer.body) and not answer.reason


def _has_admin(answer: Asked | None) -> bool:
    return answer is not None and answer.status in {401, 403} and b'"error"' in answer.body


def _has_health(answer: Asked | None) -> bool:
    return answer is not None and answer.status == 200 and b'"ok"' in answer.body


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
