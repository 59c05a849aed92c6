"""Checks with the upstream's own address: whether it can be reached around the gate, and under which other paths."""

import contextlib
import re
import secrets
import socket
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import quote

from agentgate_tools.doctor.asking import Asked, NoAnswer, Site, is_loopback
from agentgate_tools.doctor.checks import REFUSED, SCANNER, Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped

SLACK_BYTES = 64
# Ports of applications if nothing else is configured.
USUAL_PORTS = (3000, 5000, 8000, 8888, 9000)
BIND = "Bind the application to 127.0.0.1, or close its port in the firewall"
GIVE_UPSTREAM = "Give --upstream with the application's own address."
SUFFIXES = (".json", ".xml", ".html", ".htm", ".php", ".aspx", ".do", ".action", ".x", "/", "/index.html", "/index.php")
PREFIXES = ("/index.php", "/index.html", "/app.php", "/public", "/api", "/v1", "/en", "//", "/.")


def aliases(path: str) -> list[str]:
    """Return other paths under which applications run the same handler."""
    own = path.rstrip("/") or "/"
    made = [own + suffix for suffix in SUFFIXES]
    made += [prefix + (own if not prefix.endswith("/") else own[1:]) for prefix in PREFIXES]
    made += [own.upper(), own + ";a=b", own.replace("/", "/%2e/", 1)]
    made += [f"/?{name}={quote(own)}" for name in ("route", "rest_route", "r", "path")]
    return [each for each in dict.fromkeys(made) if each != path]


def check_upstream(installation: Installation, home: Asked) -> Iterator[Finding]:
    """Check whether the upstream can be reached directly, and which spellings of a path it serves."""
    upstream = installation.upstream
    if upstream is None:
        yield _around(installation, home)
        yield skipped("aliases", "the upstream's address was not given", GIVE_UPSTREAM)
        return
    upstream.authority = installation.site.authority
    try:
        upstream.ask("GET", installation.site.path)
    except NoAnswer:
        yield passed("upstream", "the upstream cannot be reached from here")
        fix = "Run the doctor with --upstream on the site's own machine: it then tries other paths of the route."
        yield skipped("aliases", "the upstream cannot be tested", fix)
        return
    if installation.is_inside and (opened := _open_addresses(installation, upstream.port, home)):
        found = f"the application responds at {', '.join(opened)} without AgentGate"
        yield failed("upstream", found, f"{BIND}: ss -ltnp sport = :{upstream.port}")
    elif installation.is_inside:
        fix = "Run the doctor from another machine, with the upstream's port at the site's public address."
        yield skipped("upstream", "the upstream's address is on this machine or network", fix)
    else:
        yield failed("upstream", "the upstream is reachable from here and bypasses AgentGate", f"{BIND}: ss -ltnp")
    yield _aliases(installation, upstream)


def _around(installation: Installation, home: Asked) -> Finding:
    """Look for the application at the ports that applications and the adapter's file use."""
    named = re.findall(r"(?:127\.0\.0\.1|localhost|\[::1\]):(\d{2,5})\b", installation.adapter or "")
    ports = dict.fromkeys([*map(int, named), *USUAL_PORTS])
    opened = [each for port in ports for each in _open_addresses(installation, port, home)]
    if opened:
        found = f"the application responds at {', '.join(opened)} without AgentGate"
        return failed("upstream", found, f"{BIND}: ss -ltnp")
    return skipped(
        "upstream", "no application was found at the usual ports, and its address was not given", GIVE_UPSTREAM
    )


def _open_addresses(installation: Installation, port: int, home: Asked) -> list[str]:
    """Return the addresses that others reach at which the site's page is served without a gateway."""
    site, opened = installation.site, []
    for host in _reached(site.host):
        if port == site.port and host == site.host:
            continue
        beside = Site(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        beside.authority = site.authority
        answer = beside.try_asking("GET", site.path)
        scanner = beside.try_asking("GET", site.path, ("User-Agent", SCANNER)) if answer is not None else None
        is_gated = answer is None or bool(answer.reason) or scanner is None or bool(scanner.reason)
        if is_gated or answer is None or answer.status != HTTPStatus.OK or b'"error"' in answer.body[:64]:
            continue
        # The page behind a challenge is not known: a page of any other program would look the same.
        if not home.reason and _is_alike(answer, home):
            opened.append(f"{host}:{port}")
    return opened


def _reached(host: str) -> list[str]:
    """Return the addresses under which others reach a host; of this machine, its network addresses."""
    if not is_loopback(host):
        return [host]
    found = []
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        # Connecting a datagram socket sends nothing, and chooses the address.
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as chosen:
            chosen.connect((elsewhere, 9))
            found.append(str(chosen.getsockname()[0]))
    return [each for each in found if not is_loopback(each)]


def _aliases(installation: Installation, upstream: Site) -> Finding:
    path, method = installation.protected_path, installation.method
    if path is None:
        return skipped("aliases", "no route was given", "Give --protected-path with a route that requires a token.")
    route = upstream.try_asking(method, path)
    unknown = upstream.try_asking(method, f"/{secrets.token_hex(8)}/{secrets.token_hex(8)}")
    if route is None or unknown is None or _is_alike(route, unknown):
        found = f"the upstream responds to {method} {path} as to an unknown path"
        return skipped("aliases", found, "Give --protected-path with a route that the application has.")
    # An application that takes the path from the query responds at `/`, even if the query means nothing to it.
    front = upstream.try_asking(method, "/?agentgate-doctor=1") or unknown
    answered = [
        alias
        for alias in aliases(path)
        if _is_same(upstream.try_asking(method, alias), route, front if "?" in alias else unknown)
    ]
    opened = [alias for alias in answered if _is_open(installation.site.try_asking(method, alias))]
    if opened:
        fix = "Add them as routes of the site (docs/allow-webhooks.md), or remove them from the application."
        found = f"the application also serves {path} as {', '.join(opened)}, which is not protected"
        return failed("aliases", found, fix)
    if answered:
        return passed("aliases", f"the route is protected also as {', '.join(answered)}")
    return passed("aliases", "the application has no known path alias for the route")


def _is_same(answer: Asked | None, route: Asked, unknown: Asked) -> bool:
    """Say whether an alias runs what the route runs: like the route, and unlike a path that is not there."""
    return answer is not None and _is_alike(answer, route) and not _is_alike(answer, unknown)


def _is_alike(one: Asked, other: Asked) -> bool:
    """Return whether two responses are similar. Pages contain the time and the like, so their length is compared."""
    is_of_a_kind = one.status == other.status and one.header("content-type") == other.header("content-type")
    return is_of_a_kind and abs(len(one.body) - len(other.body)) <= max(len(one.body) // 20, SLACK_BYTES)


def _is_open(answer: Asked | None) -> bool:
    # A redirect runs nothing, and leads to a path that is checked again.
    return answer is not None and answer.status not in REFUSED and not 300 <= answer.status < 400
