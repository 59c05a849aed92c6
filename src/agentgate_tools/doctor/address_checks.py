"""Checks of all ways to the site that its name shows: each of its addresses, and plain HTTP next to HTTPS."""

from collections.abc import Iterator
from http import HTTPStatus

from agentgate_tools.doctor.asking import PORTS, NoAnswer, Site, addresses_of
from agentgate_tools.doctor.checks import OWN_SCRIPT, SCANNER, Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped

MOST_ADDRESSES = 8
# This machine has no IPv6, or no IPv4.
NO_ROUTE = ("unreachable", "Cannot assign", "not supported")


def check_addresses(installation: Installation) -> Iterator[Finding]:
    """Look whether each address of the site's name leads to AgentGate."""
    site = installation.site
    found = addresses_of(site.host, site.port)[:MOST_ADDRESSES]
    scripts = {address: _script_at(site, address) for address in found}
    told = {address: has for address, has in scripts.items() if has is not None}
    if True not in told.values():
        yield skipped("addresses", "no address leads to AgentGate", "See `gate` and `own-paths`.")
    elif without := [address for address, has in told.items() if not has]:
        fix = f"Install the adapter there, or remove the address from the DNS: getent ahosts {site.host}"
        yield failed("addresses", f"{', '.join(without)} does not lead to AgentGate", fix)
    else:
        yield passed("addresses", f"AgentGate protects {', '.join(told)}")
    if site.scheme == "https":
        yield _plain(site, installation.plain_port)


def _script_at(site: Site, address: str) -> bool | None:
    """Return whether AgentGate's script comes from an address; None if this machine cannot connect to its network."""
    try:
        return site.at(address).ask("GET", OWN_SCRIPT).is_script
    except NoAnswer as silent:
        return None if any(each in str(silent) for each in NO_ROUTE) else False


def _plain(site: Site, port: int) -> Finding:
    name = f"[{site.host}]" if ":" in site.host else site.host
    plain = Site(f"http://{name}" if port == PORTS["http"] else f"http://{name}:{port}")
    answer = plain.try_asking("GET", site.path, ("User-Agent", SCANNER))
    if answer is None or answer.reason or answer.status != HTTPStatus.OK:
        return passed("plain-http", "HTTP without TLS does not lead around AgentGate")
    fix = (
        f"Redirect it (nginx: return 301 https://$host$request_uri;): agentgate protect {site.origin} prints the lines."
    )
    return failed("plain-http", f"{plain.origin} responds to a scanner without AgentGate", fix)
