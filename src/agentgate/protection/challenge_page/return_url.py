"""Where a visitor goes after the challenge page: always an absolute address of the site's own origin."""

import re
from urllib.parse import quote

from agentgate.lib.errors import Refused
from agentgate.protection.gateway.original_request import Original
from agentgate.protection.sites.validate import canonical_origin

# What the adapter passes on to the service, on the site's own origin.
OWN_PATHS = "/.agentgate/"
LONGEST = 4096
_AS_IT_IS = "".join(map(chr, range(0x21, 0x7F)))

_ADDRESS = re.compile(r"(https?://[^/?#@\s\\]+)?(/[\x21-\x7e]*)?\Z", re.ASCII | re.IGNORECASE)


def is_own(path: str) -> bool:
    """Say whether a path of the site is the service's."""
    return path.startswith(OWN_PATHS)


def return_of(original: Original, asked: str | None) -> str:
    """Return where to go. A page that stands in place of another one goes there; what was asked for is for our own."""
    if not is_own(original.path):
        # Bytes past ASCII came undecoded; a browser would take them for letters and encode them anew.
        return original.origin + quote(original.target, safe=_AS_IT_IS, encoding="latin-1")
    return within(original.origin, asked) or f"{original.origin}/"


def back_of(original: Original, referer: str | None) -> str:
    """Return where a form came from that has to be sent again."""
    return within(original.origin, referer) or f"{original.origin}/"


def within(origin: str, address: str | None) -> str | None:
    """Return an address of this origin, absolute; None for any other, and for our own pages."""
    if not address or len(address) > LONGEST or address.startswith(("//", "/\\")):
        return None
    match = _ADDRESS.match(address)
    if match is None or not (match[1] or match[2]):
        return None
    try:
        is_same = match[1] is None or canonical_origin(match[1]) == origin
    except Refused:
        return None
    target = match[2] or "/"
    return origin + target if is_same and not is_own(target) else None
