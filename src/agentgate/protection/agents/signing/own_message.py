"""A request to the service itself as the agent signed it.

A signature for another host proves nothing here: who received that request could pass it on under its own name.
"""

from urllib.parse import urlsplit

from agentgate.http.request import Request
from agentgate.protection.agents.identity import SignedMessage

_DEFAULT_PORTS = {"https": ":443", "http": ":80"}


class OwnAddress:
    """Where agents reach the service. Without an address in the settings, whatever host they ask for is taken."""

    def __init__(self, public_base_url: str) -> None:
        parts = urlsplit(public_base_url)
        self._scheme = parts.scheme
        self._authority = _canonical(parts.netloc, parts.scheme)
        self._path = parts.path.rstrip("/")

    def message(self, request: Request) -> SignedMessage | None:
        """Return the request as it was signed; None when it was sent to another host than ours."""
        scheme = self._scheme or ("https" if request.secure else "http")
        authority = _canonical(request.header("host") or "", scheme)
        if not authority or (self._authority and authority != self._authority):
            return None
        joined: dict[bytes, bytes] = {}
        for name, value in request.headers:
            joined[name] = joined[name] + b", " + value if name in joined else value
        query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
        return SignedMessage(
            method=request.method,
            scheme=scheme,
            authority=authority,
            # A proxy in front of the service takes the path of our address away.
            target=self._path + request.path + query,
            headers=joined,
        )


def _canonical(authority: str, scheme: str) -> str:
    return authority.lower().removesuffix(_DEFAULT_PORTS.get(scheme, ":"))
