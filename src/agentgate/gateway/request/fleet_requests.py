"""Requests from the proxies of a hosting provider: one secret, and the site is the one of the proxy's server name.

The URL of the description begins with the server name, which the proxy's configuration states. The visitor's Host
header never chooses the site. Everything behind reads the URL with the site's own origin.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from agentgate.gateway.request.original_request import Malformed
from agentgate.lib.enums import UnknownHosts
from agentgate.sites.credentials.fleets import FleetCaller
from agentgate.sites.directory import SiteCaller, SiteDirectory

URL = b"x-original-url"
UNKNOWN_HOST = "no site of the account has the server name of this proxy"

_URL_START = re.compile(rb"https?://[^/?#@\s\\]+", re.IGNORECASE)


class UnknownHost(Malformed):
    """No site of the fleet's account has the proxy's server name."""

    def __init__(self, fleet: FleetCaller) -> None:
        super().__init__(UNKNOWN_HOST)
        self.is_allowed = fleet.unknown_hosts is UnknownHosts.ALLOW


class FleetRequest(Struct, frozen=True, gc=False):
    """The site's caller, and the URL with the site's own origin."""

    caller: SiteCaller
    url: bytes

    def rewrite(self, fields: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Return headers with this URL."""
        return {**fields, URL: self.url}


def read_fleet_request(sites: SiteDirectory, fleet: FleetCaller, url: bytes | None) -> FleetRequest:
    """Return the request of a fleet; raise UnknownHost if no site of its account has the server name."""
    match = _URL_START.match(url or b"")
    return _in_fleet(sites, fleet, match, (url or b"")[match.end() :] if match else b"")


def read_malformed(sites: SiteDirectory, fleet: FleetCaller, line: bytes | None) -> FleetRequest:
    """Return the request of a description that is malformed: only its site is of use."""
    # Method, address and host come first, and none of them can contain a scheme with two slashes.
    return _in_fleet(sites, fleet, _URL_START.search(line or b""), b"")


def _in_fleet(sites: SiteDirectory, fleet: FleetCaller, match: re.Match[bytes] | None, target: bytes) -> FleetRequest:
    found = None if match is None else sites.fleets.find_site(fleet, match[0])
    site = None if found is None else sites.find_by_id(found.site_id)
    if found is None or site is None or site.disabled:
        raise UnknownHost(fleet)
    return FleetRequest(SiteCaller(site, fleet.credential_id), found.origin.encode() + target)
