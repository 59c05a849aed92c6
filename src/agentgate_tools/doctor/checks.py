"""The checks, one function each: the requests that they send, and the meaning of the responses."""

from collections.abc import Iterator

from msgspec import Struct

from agentgate.lib.clock import Clock
from agentgate_tools.doctor.asking import Asked, Site, ask_port, is_loopback
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

OWN_SCRIPT = "/.agentgate/sdk/v1/agentgate.js"
SEEN_PATH = "/.agentgate/v1/gateway/challenge?seen=1"
# What of the service must not be reachable through the site.
NOT_PASSED_ON = (
    *("v1/gateway/check", "v1/siteverify", "v1/admin/sites", "v1/account/session", "healthz", "metrics"),
    # Internal locations of nginx.
    *("check", "denied", "denied-without-body"),
)
NOT_AT_ALL = ("v1/gateway/check",)
# Usual public paths of the admin listener, if a proxy forwards to it.
ADMIN_PATHS = (
    *("v1/admin/sites", "admin/v1/admin/sites", "agentgate/v1/admin/sites"),
    *("openapi/admin", "metrics", "readyz"),
)
# In commands, if the site is not known.
NO_SITE_KEY = "SITE_KEY"
# A client that the rules of a fresh site block.
SCANNER = "sqlmap/1.8"
TOKEN = "X-AgentGate-Token"  # noqa: S105 - the name of a header
CERTIFICATE_S = 14 * 24 * 3600.0
DEFAULT_PORTS = (8080, 8081)
# Statuses of a proxy that does not reach what is behind it.
DOWN = frozenset((502, 503, 504))
# What closed adapters return while AgentGate is unavailable.
OF_ADAPTERS = (b"Try again in a moment", b"service_unavailable")
# Statuses of a gateway or a proxy that blocks. A site's own 404 is not included: it shows that the request passed.
REFUSED = frozenset((400, 401, 402, 403, 405, 429, 431, 451, 503))


class Installation(Struct, frozen=True, kw_only=True):
    """The known facts about the installation. Only the site is required; the others allow more checks."""

    site: Site
    clock: Clock
    # As commands name it.
    site_key: str = NO_SITE_KEY
    # A route that needs a token, and its method.
    protected_path: str | None = None
    method: str = "POST"
    # A fresh token for that route, and one for another action. Both are used up.
    token: str | None = None
    other_token: str | None = None
    # Ports of the site's host to try for AgentGate itself. Default: the usual ports.
    ports: tuple[int, ...] | None = None
    # The application itself, behind proxy and gate; and whether it may be reached from here.
    upstream: Site | None = None
    is_inside: bool = False
    # The text of the adapter's file with the line for an unavailable AgentGate.
    adapter: str | None = None
    # The port of HTTP without TLS, next to an https address.
    plain_port: int = 80
    # The address of AgentGate's robots.txt for the site.
    terms: Site | None = None


def check_transport(installation: Installation, home: Asked) -> Iterator[Finding]:
    """Look at TLS."""
    site, now_s = installation.site, installation.clock.now_ms() / 1000
    if site.scheme == "https":
        left_s = home.certificate_ends_s - now_s
        left = f"{left_s / 86_400:.0f} days" if left_s > 2 * 86_400 else f"{left_s / 3_600:.0f} hours"
        # Certificates for a few days or hours are renewed late in their life.
        if left_s < min(CERTIFICATE_S, (home.certificate_ends_s - home.certificate_begins_s) / 4):
            yield warned("tls", f"the certificate expires in {left}", "Renew it: certbot renew, then reload the proxy.")
        else:
            yield passed("tls", f"the certificate is valid for {left}")
    elif is_loopback(site.host):
        yield skipped("tls", "the site is on this machine", "Run the doctor with the site's public address.")
    else:
        fix = "Serve the site over https: tokens and clearance cookies are sent unencrypted."
        yield warned("tls", "the site is served over http", fix)


def check_gate(installation: Installation, home: Asked) -> Iterator[Finding]:
    """Look whether there is a gateway in front of the site at all."""
    script = installation.site.try_asking("GET", OWN_SCRIPT)
    yield _gate(installation, home, script)
    if script is not None and script.is_script:
        yield passed("own-paths", "the check's script comes from the site's own origin")
        return
    status = "no answer" if script is None else str(script.status)
    fix = "Configure the adapter to forward `/.agentgate/` to AgentGate unchanged."
    yield failed("own-paths", f"{OWN_SCRIPT} is missing ({status})", fix)


def _gate(installation: Installation, home: Asked, script: Asked | None) -> Finding:
    denied = installation.site.try_asking("GET", "/", ("User-Agent", SCANNER))
    if denied is not None and denied.reason:
        return passed("gate", f"the gateway blocks a scanner ({denied.status} {denied.reason})")
    if script is not None and ask_is_unknown(installation.site):
        return skipped("gate", "AgentGate does not know the adapter's secret", "See `secret`.")
    if script is not None and script.is_script:
        if denied is not None and denied.status in REFUSED:
            return skipped(
                "gate", f"a scanner gets {denied.status}, but no response of AgentGate", "See `challenge-page`."
            )
        found = "the site is connected, and a scanner is allowed"
        fix = f"Check whether its rules block scanners, then: agentgate site mode {installation.site_key} enforce"
        return warned("gate", found, fix)
    found, fix = _why_no_gate(installation.site, home, script)
    return failed("gate", found, fix)


def _why_no_gate(site: Site, home: Asked, script: Asked | None) -> tuple[str, str]:
    """Return why AgentGate's own path is not AgentGate's, and the fix."""
    if script is not None and script.status in DOWN and script.body == home.body and not is_of_adapter(home):
        found = f"a proxy returns {script.status} for every path, also for AgentGate's"
        return found, "Start the proxy with the adapter, or end its maintenance mode: systemctl status nginx"
    if script is not None and script.status in DOWN:
        return f"AgentGate is unavailable ({script.status})", (
            "Start AgentGate (systemctl start agentgate). If it runs, the proxy needs an address that "
            "reaches AGENTGATE_PUBLIC_LISTEN: agentgate adapter ... --service ADDRESS"
        )
    if script is not None and script.status in {400, 403, 421} and b'"error"' in script.body:
        found = f"the adapter forwards to another listener than AgentGate's public one ({script.status})"
        return found, (
            "Print the adapter with the public listener's address: agentgate adapter ... --service http://127.0.0.1:8080"
        )
    if script is not None and script.header("www-authenticate"):
        found = "the site requires a password, also for the paths of the challenge page"
        return (
            found,
            "Exempt the paths: in nginx, `auth_basic off;` in the location /.agentgate/; nginx -t && nginx -s reload",
        )
    fix = f"Install an adapter: agentgate protect {site.origin} --proxy nginx (or a middleware)."
    return "no sign that the site is behind AgentGate", fix


def is_of_adapter(answer: Asked) -> bool:
    """Return whether a closed adapter responded because AgentGate is unavailable."""
    return answer.status == 503 and any(each in answer.body for each in OF_ADAPTERS)


def ask_is_unknown(site: Site) -> bool:
    """Return whether AgentGate does not know the adapter's secret."""
    answer = site.try_asking("GET", SEEN_PATH)
    return answer is not None and (answer.reason == "invalid_credential" or b'"invalid_credential"' in answer.body)


def check_exposure(installation: Installation) -> Iterator[Finding]:
    """Look whether more of the service can be reached than visitors need."""
    site = installation.site
    open_paths = [path for path in NOT_PASSED_ON if _is_ours(site.try_asking("GET", f"/.agentgate/{path}"), own=True)]
    open_paths += [path for path in NOT_AT_ALL if _is_ours(site.try_asking("GET", f"/{path}"), own=False)]
    if open_paths:
        fix = (
            "Forward only the challenge page, /v1/browser/ and /sdk/ under /.agentgate/, with nginx's `internal;`, as "
            "`agentgate adapter` prints it."
        )
        yield failed("exposure", f"the site forwards {', '.join(dict.fromkeys(open_paths))} to AgentGate", fix)
    else:
        yield passed("exposure", "the site forwards only the paths that visitors need")
    admin_paths = [f"/{path}" for path in ADMIN_PATHS if _is_admin(site.try_asking("GET", f"/{path}"))]
    if admin_paths:
        fix = "Do not forward requests to AGENTGATE_ADMIN_LISTEN. Use a private network or an SSH tunnel."
        yield failed("admin-routes", f"the site exposes the admin listener at {', '.join(admin_paths)}", fix)
    else:
        yield passed("admin-routes", "the site does not expose the admin listener")


def check_listeners(installation: Installation) -> Iterator[Finding]:
    """Check whether AgentGate is reachable without the proxy."""
    site = installation.site
    if installation.ports is None and is_loopback(site.host):
        yield skipped(
            "listeners", "the site is on this machine", "Run the doctor from another machine, or give --port."
        )
        return
    ports = DEFAULT_PORTS if installation.ports is None else installation.ports
    admin = [port for port in ports if _has_admin(ask_port(site.host, port, "/v1/admin/sites"))]
    public = [port for port in ports if port not in admin and _has_health(ask_port(site.host, port, "/healthz"))]
    for port in admin:
        fix = "Bind AGENTGATE_ADMIN_LISTEN to loopback or a private network, and close the port in the firewall."
        yield failed("listeners", f"the admin listener is reachable on port {port}", fix)
    for port in public:
        fix = "Bind AGENTGATE_PUBLIC_LISTEN to where the proxy reaches it, unless browsers call AgentGate directly."
        yield warned("listeners", f"AgentGate's public listener is reachable on port {port}", fix)
    if not admin and not public:
        yield passed("listeners", f"AgentGate is not reachable on port {', '.join(map(str, ports))}")


def check_leaks(home: Asked, refused: Asked | None) -> Finding:
    """Check whether responses contain data that only proxy and service should know."""
    leaked = []
    for answer in (home, refused):
        for name, value in () if answer is None else answer.headers:
            if name.startswith(("x-original-", "x-agentgate-secret")) or "ags_" in value:
                leaked.append(name)
    told = [name for name, _ in home.headers if name in {"x-service-reason", "x-service-would-decision"}]
    if leaked:
        fix = "Remove these headers from responses, and rotate the site's secret if it was exposed."
        return failed("leaks", f"responses contain {', '.join(dict.fromkeys(leaked))}", fix)
    if home.status < 400 and told:
        fix = "Configure the adapter to remove AgentGate's headers from responses to allowed visitors."
        return warned("leaks", f"responses expose {', '.join(told)}", fix)
    return passed("leaks", "responses contain no secret and no header of the gateway check")


def _is_ours(answer: Asked | None, *, own: bool) -> bool:
    """Return whether AgentGate itself responded, and not the site or the adapter; `own`: under its own prefix."""
    if answer is None or answer.status == 404:
        return False
    if answer.header("x-service-decision") or answer.reason == "invalid_credential":
        return True
    is_json = answer.header("content-type").startswith("application/json")
    return own and (is_json or b"agentgate_" in answer.body) and not answer.reason


def _is_admin(answer: Asked | None) -> bool:
    """Return whether AgentGate's admin listener responded, and not the gateway or the site."""
    if answer is None or answer.reason or answer.status == 404:
        return False
    if answer.status == 200:
        return b"agentgate_" in answer.body or b"AgentGate" in answer.body
    return answer.status in {401, 403, 421, 503} and b'"error"' in answer.body and bool(answer.header("x-request-id"))


def _has_admin(answer: Asked | None) -> bool:
    return answer is not None and answer.status in {401, 403} and b'"error"' in answer.body


def _has_health(answer: Asked | None) -> bool:
    return answer is not None and answer.status == 200 and b'"ok"' in answer.body
