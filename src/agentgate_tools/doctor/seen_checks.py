"""Checks of what the adapter tells the gate: the secret, the site's origin, the visitor's address, and the time."""

from collections.abc import Generator, Iterator
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from agentgate.lib.records import UNREADABLE
from agentgate_tools.doctor.asking import PORTS, Asked, Site, is_loopback, is_private
from agentgate_tools.doctor.checks import NO_SITE_KEY, SEEN_PATH, Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

MOST_SKEW_S = 30.0
SEEN_COOKIE = "ag_seen"
# An address of a network for documentation (RFC 5737), so no visitor has it.
FORGED_ADDRESS = "198.51.100.77"
ADDRESS_HEADERS = (
    *("X-Forwarded-For", "X-Real-IP", "X-Original-Address", "X-Client-IP", "X-Cluster-Client-IP"),
    *("True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP"),
)
# Two visitors on this machine.
LOOPBACK_SOURCES = ("127.0.0.2", "127.0.0.3")
OWN_ADDRESS = (
    "Configure the adapter to send the connection's IP address; behind another proxy, trust only that proxy's "
    "addresses, as the adapter's page describes."
)
FORWARD = "Forward /.agentgate/ to AgentGate with the headers of the gateway check."
NOT_TOLD = "AgentGate does not report what the adapter sends"


class Seen(Struct, frozen=True, rename="camel"):
    """How the adapter described a request to the gate."""

    origin: str
    visitor: str
    network: str
    time_ms: int
    site_key: str
    lists_origin: bool
    has_cookie: bool


class Told(Struct, frozen=True):
    """The result of a request for the description: the description, or the reason why it is missing."""

    seen: Seen | None = None
    reason: str = ""
    message: str = ""
    sets_cookie: bool = False


class _Denial(Struct):
    reason: str = ""


def ask_seen(site: Site, *headers: tuple[str, str], source: str | None = None) -> Told:
    """Ask the gate how it sees this client."""
    answer = site.try_asking("GET", SEEN_PATH, *headers, source=source)
    if answer is None:
        return Told()
    try:
        if answer.status == 200:
            seen = msgspec.json.decode(answer.body, type=Seen)
            return Told(seen, sets_cookie=answer.header("set-cookie").startswith(SEEN_COOKIE))
        reason = msgspec.json.decode(answer.body, type=_Denial).reason
    except UNREADABLE:
        return Told(reason=answer.reason)
    return Told(reason=reason, message=answer.header("x-service-message"))


def with_site_key(installation: Installation) -> Installation:
    """Return the installation with the key of the adapter's site, for the commands of the findings."""
    seen = ask_seen(installation.site).seen if installation.site_key == NO_SITE_KEY else None
    return installation if seen is None else structs.replace(installation, site_key=seen.site_key)


def check_seen(installation: Installation, home: Asked) -> Iterator[Finding]:
    """Look at everything that the adapter tells the gate."""
    told = yield from check_told(installation, home)
    if told.seen is None:
        for check in ("visitor-address", "visitors-apart"):
            yield skipped(check, NOT_TOLD, FORWARD)
        return
    yield _visitor_address(installation.site, home)
    yield _visitors_apart(installation.site, home, told.seen)


def check_told(installation: Installation, home: Asked) -> Generator[Finding, None, Told]:
    """Check the secret, the clocks, the origin and the cookies."""
    told = ask_seen(installation.site)
    yield _secret(told, installation.site_key)
    yield check_clock(installation, home, told.seen)
    if told.seen is None:
        yield skipped("origin", NOT_TOLD, FORWARD)
        yield skipped("cookies", NOT_TOLD, FORWARD)
    else:
        yield _origin(installation.site, told.seen)
        yield _cookies(installation.site, told)
    return told


def _cookies(site: Site, told: Told) -> Finding:
    """Look whether the clearance cookie could reach the browser, and AgentGate."""
    again = ask_seen(site, ("Cookie", f"{SEEN_COOKIE}=1")).seen
    lost = ([] if told.sets_cookie else ["Set-Cookie from responses"]) + (
        ["Cookie from requests"] if again is not None and not again.has_cookie else []
    )
    if lost:
        found = f"a proxy removes {' and '.join(lost)} under /.agentgate/: visitors are challenged on every page"
        fix = (
            "Keep cookies under /.agentgate/. To find the line: grep -rniE 'cookie' /etc/nginx /etc/caddy /etc/haproxy"
        )
        return failed("cookies", found, fix)
    return passed("cookies", "cookies reach the browser and AgentGate")


def _secret(told: Told, site_key: str) -> Finding:
    if told.seen is not None and site_key not in {told.seen.site_key, NO_SITE_KEY}:
        found = f"the adapter sends a secret of {told.seen.site_key}, not of {site_key}"
        fix = f"Put a secret of the site in the adapter, and reload the proxy: agentgate credential create {site_key}"
        return failed("secret", found, fix)
    if told.reason == "invalid_credential":
        found = "AgentGate does not know the secret that the adapter sends"
        fix = (
            "AgentGate runs. Create a credential (agentgate credential create SITE_KEY), put its secret in the adapter,"
            " and reload the proxy."
        )
        return failed("secret", found, fix)
    if told.reason == "invalid_request":
        found = f"AgentGate cannot read what the adapter sends ({told.message or 'a malformed description'})"
        fix = "Generate the adapter's configuration again, and do not change X-AgentGate-Request."
        return failed("secret", found, fix)
    if told.seen is None:
        return skipped("secret", NOT_TOLD, "See `gate` and `own-paths`.")
    return passed("secret", "AgentGate knows the adapter's secret")


def check_clock(installation: Installation, home: Asked, seen: Seen | None) -> Finding:
    """Compare the clocks of this machine, of the site's proxy and of AgentGate."""
    now_s = installation.clock.now_ms() / 1000
    off = {}
    # A denial may have AgentGate's own time.
    if home.date_s is not None and not home.reason:
        off["the site's"] = home.date_s - now_s
    if seen is not None:
        off["AgentGate's"] = seen.time_ms / 1000 - now_s
    if not off:
        return skipped("clock", "neither the site nor AgentGate returns the time", "Compare the clocks manually.")
    wrong = {name: skew for name, skew in off.items() if abs(skew) > MOST_SKEW_S}
    if not wrong:
        return passed("clock", f"{' and '.join(off)} clocks match this machine's clock")
    if len(wrong) == len(off) == 2 and max(wrong.values()) - min(wrong.values()) <= MOST_SKEW_S:
        found = f"this machine's clock differs from the site's and AgentGate's by {abs(max(wrong.values())):.0f} s"
        return warned("clock", found, "Set this machine's clock: timedatectl set-ntp true. The other two match.")
    told = ", ".join(f"{name} clock is off by {skew:+.0f} s" for name, skew in wrong.items())
    fix = "Set the clock on that machine: timedatectl set-ntp true. Tokens expire after two minutes."
    return failed("clock", told, fix)


def _origin(site: Site, seen: Seen) -> Finding:
    if not seen.lists_origin:
        found = f"{seen.site_key}, the site of the adapter's secret, does not list the origin {seen.origin}"
        fix = (
            f"Add it: agentgate site origins {seen.site_key} {seen.origin}. If the site is another one, put its "
            "secret in the adapter: agentgate credential create SITE_KEY"
        )
        return failed("origin", found, fix)
    own, told = _parts(site.origin), _parts(seen.origin)
    # On this machine TLS may end elsewhere.
    is_named = not is_loopback(own[1])
    if own == told or (is_named and is_loopback(site.host) and own[1:] == told[1:]):
        return passed("origin", f"the adapter uses the site's own origin ({seen.origin})")
    found = f"the adapter uses the origin {seen.origin}, and the site lacks the visitors' origin {site.origin}"
    fix = (
        f"Add {site.origin} to the site's allowed origins: agentgate site origins {seen.site_key} {site.origin}, and "
        f"print the adapter with it: agentgate protect {site.origin}"
    )
    if is_named or is_loopback(told[1]):
        return failed("origin", found, fix)
    return warned(
        "origin", f"{found}. Browsers that open {site.origin} fail the check", f"{fix}; or test {seen.origin}."
    )


def _parts(origin: str) -> tuple[str, str, int | None]:
    parts = urlsplit(origin.lower())
    port = parts.port
    return parts.scheme, parts.hostname or "", None if port == PORTS.get(parts.scheme) else port


def _visitor_address(site: Site, home: Asked) -> Finding:
    # A server that trusts a proxy on its own machine trusts 127.0.0.1: no visitor of a true site comes from there.
    source = LOOPBACK_SOURCES[0] if is_loopback(home.peer) else None
    seen = ask_seen(site, source=source).seen
    if seen is None:
        return skipped("visitor-address", NOT_TOLD, "Run the doctor with the site's public address.")
    believed = []
    for name in (*ADDRESS_HEADERS, "Forwarded"):
        value = f"for={FORGED_ADDRESS}" if name == "Forwarded" else FORGED_ADDRESS
        told = ask_seen(site, (name, value), source=source)
        if _differs(told, seen):
            # Repeat the request with the header omitted: the address must be unchanged.
            if _differs(ask_seen(site, source=source), seen):
                found = "the client IP address that AgentGate receives changes from request to request"
                return failed("visitor-address", found, OWN_ADDRESS)
            believed.append(name)
    if believed:
        found = (
            f"visitors can forge their IP address with {', '.join(believed)}: limits and lists by IP"
            " address have no effect"
        )
        return failed("visitor-address", found, OWN_ADDRESS)
    return passed("visitor-address", "no visitor header changes the client IP address that AgentGate receives")


def _differs(told: Told, seen: Seen) -> bool:
    return told.reason == "invalid_request" or (told.seen is not None and told.seen.visitor != seen.visitor)


def _visitors_apart(site: Site, home: Asked, seen: Seen) -> Finding:
    one_for_all = "AgentGate receives one IP address for all visitors: one visitor uses up the limits of all"
    if is_loopback(home.peer):
        told = [ask_seen(site, source=source).seen for source in LOOPBACK_SOURCES]
        if None in told:
            fix = "Run the doctor with the site's public address."
            return skipped("visitors-apart", "the site is on this machine, which has one IP address", fix)
        if told[0].visitor == told[1].visitor:  # type: ignore[union-attr]
            return failed("visitors-apart", one_for_all, OWN_ADDRESS)
        return passed("visitors-apart", "two visitors on this machine have two IP addresses")
    if not is_private(home.peer) and seen.network != "public":
        return failed("visitors-apart", f"{one_for_all} (a {seen.network} one)", OWN_ADDRESS)
    if seen.network != "public":
        fix = "Compare with the result on a second machine."
        return skipped("visitors-apart", "the site is in a private network, and so is this machine", fix)
    return passed("visitors-apart", "AgentGate receives a public IP address for this client")
