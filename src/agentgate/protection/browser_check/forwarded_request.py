"""Calls of the SDK that came through a site's adapter, below `/.agentgate/` of the site itself.

The adapter shows the site's secret and says whose call it is. A site's word counts for that site alone: with it for
another's, the limits that hold for each address would hold for nobody.
"""

from dataclasses import replace

from agentgate.http.address import canonical_address
from agentgate.http.bearer_secret import SECRET_HEADER, bearer_secret
from agentgate.http.call import Call
from agentgate.http.request import Headers, Request
from agentgate.protection.sites.directory import SiteDirectory

ADDRESS = b"x-original-address"


def as_seen_by_adapter(call: Call, sites: SiteDirectory, site_key: str) -> Call:
    """Return the call with the visitor's address and without the adapter's headers; else the call as it is."""
    request = call.request
    addresses = [value for name, value in request.headers if name == ADDRESS]
    secrets = [secret for secret in map(_secret, request.headers) if secret is not None]
    if len(addresses) != 1 or not secrets:
        return call
    # As at the gateway: the header of its own goes before `Authorization`, which may be the visitor's.
    secret = next((value for name, value in request.headers if name == SECRET_HEADER), secrets[0])
    caller = sites.find_caller_showing(secret, now_ms=call.now)
    address = canonical_address(addresses[0].decode("latin-1"))
    if caller is None or caller.site.site_key != site_key or address is None:
        return call
    seen = Request(
        method=request.method,
        path=request.path,
        query_string=request.query_string,
        headers=_of_visitor(request.headers, secret),
        address=address,
        secure=request.secure,
    )
    return replace(call, request=seen)


def _secret(header: tuple[bytes, bytes]) -> bytes | None:
    name, value = header
    if name == SECRET_HEADER:
        return value
    return bearer_secret(value) if name == b"authorization" else None


def _of_visitor(headers: Headers, secret: bytes) -> Headers:
    return [
        (name, value)
        for name, value in headers
        if not name.startswith(b"x-original-") and _secret((name, value)) != secret
    ]
