"""Headers that only a proxy may set, by name: for proxies that cannot clear headers by how their names begin.

The list has what known proxies, frameworks and login gateways write or read, and what AgentGate itself uses.
"""

_FORWARDED = (
    *("For", "Host", "Proto", "Port", "Prefix", "Server", "Scheme", "Protocol", "Ssl", "Proto-Version", "By"),
    *("Uri", "Url", "Path", "Method", "Query", "Request-Uri", "Script-Name", "PathBase", "Context"),
    *("User", "Email", "Groups", "Preferred-Username", "Access-Token", "Remote-User", "Roles"),
    *("Client-Cert", "Tls-Client-Cert", "Tls-Client-Cert-Info", "Client-Ip", "Host-Original", "Location"),
)
_ORIGINAL = (
    *("Method", "URL", "URI", "Host", "Address", "Body-Digest", "Path", "Query", "Scheme", "Proto", "Port"),
    *("For", "Forwarded-For", "Prefix", "PathBase", "Request-Uri", "User", "Ip", "Remote-Addr"),
)
_SERVICE = ("Decision", "Decision-Id", "Reason", "Would-Decision", "Drop", "Status", "Message")

CLEARED = (
    "Forwarded",
    "X-Forwarded",
    *(f"X-Forwarded-{name}" for name in _FORWARDED),
    *(f"X-Original-{name}" for name in _ORIGINAL),
    *(f"X-Service-{name}" for name in _SERVICE),
    "X-JA4",
    "X-AgentGate-Secret",
    # Some frameworks take this path in place of the one that was checked.
    "X-Rewrite-URL",
    # With it a server may take a connection for HTTP/2.
    "HTTP2-Settings",
)
# Traefik writes these itself, over what a visitor says.
_TRAEFIKS_OWN = tuple(f"X-Forwarded-{name}" for name in ("For", "Host", "Proto", "Port", "Server"))


def clearing_lines(proxy: str) -> list[str]:
    """Return the lines that clear them in a proxy's configuration: an empty value means that nothing is sent."""
    if proxy == "nginx":
        return [f'proxy_set_header {name} "";' for name in CLEARED]
    return [f'{name}: ""' for name in CLEARED if name not in _TRAEFIKS_OWN]
