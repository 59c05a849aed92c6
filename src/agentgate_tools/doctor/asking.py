"""Asking a site as a visitor might: headers in any number and spelling, paths as they are given, nothing followed."""

import contextlib
import copy
import http.client
import socket
import ssl
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from agentgate import __version__

TIMEOUT_S = 10.0
MOST_BODY_BYTES = 256 * 1024
# The headers of a browser's script: rules block most other clients, which would hide the results behind them.
USUAL = (
    ("sec-ch-ua-platform", '"Linux"'),
    (
        "User-Agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    ),
    ("sec-ch-ua", '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"'),
    ("sec-ch-ua-mobile", "?0"),
    ("Accept", "application/json"),
    ("Sec-Fetch-Site", "same-origin"),
    ("Sec-Fetch-Mode", "cors"),
    ("Sec-Fetch-Dest", "empty"),
    ("Accept-Encoding", "gzip, deflate, br"),
    ("Accept-Language", "en"),
    # Identifies the doctor in logs.
    ("X-AgentGate-Doctor", __version__),
)
PORTS = {"http": 80, "https": 443}

Headers = Sequence[tuple[str, str]]


class NoAnswer(Exception):  # noqa: N818 - says what happened
    """The site did not respond. The message explains what happened instead."""


class Asked(Struct, frozen=True, kw_only=True):
    """A response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    # The certificate's first and last moment, as seconds since 1970; 0 without TLS.
    certificate_begins_s: float = 0.0
    certificate_ends_s: float = 0.0
    # The address that responded.
    peer: str = ""

    def header(self, name: str) -> str:
        """Return a header; empty when there is none."""
        return next((value for found, value in self.headers if found == name), "")

    @property
    def reason(self) -> str:
        """The gateway's reason for blocking the request; empty if the response has none."""
        return self.header("x-service-reason")

    @property
    def decision_id(self) -> str:
        """The ID of the gateway's decision; empty if the response has none."""
        return self.header("x-service-decision-id")

    @property
    def is_script(self) -> bool:
        """Return whether the response is the script of the challenge, and not a page of the site."""
        return self.status == 200 and "javascript" in self.header("content-type")

    @property
    def target(self) -> SplitResult | None:
        """The address of a redirect; None if the response is none, or the address is malformed."""
        if not 300 <= self.status < 400 or not self.header("location"):
            return None
        try:
            found = urlsplit(self.header("location"))
            _ = found.port
        except ValueError:
            return None
        return found

    @property
    def date_s(self) -> float | None:
        """The time at the site, as seconds since 1970."""
        try:
            return parsedate_to_datetime(self.header("date")).timestamp()
        except ValueError:
            return None


class Site:
    """A site at an address. `note` is called with the number of requests before each of them."""

    def __init__(self, url: str, note: Callable[[int], None] | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is not the address of a site; give one such as https://shop.example")
        self.scheme = parts.scheme
        self.host = parts.hostname
        self.port = parts.port or PORTS[parts.scheme]
        self.authority = parts.netloc
        self.path = parts.path or "/"
        # The address to connect to. Default: what the host's name resolves to.
        self.address: str | None = None
        self._note = note
        self._asked = 0

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    def at(self, address: str) -> "Site":
        """Return the same site at one of its addresses."""
        other = copy.copy(self)
        other.address = address
        return other

    def ask(
        self, method: str, path: str, *, headers: Headers = (), body: bytes = b"", source: str | None = None
    ) -> Asked:
        """Send a request and read its response; `source` is the address to send from."""
        usual = [("Host", self.authority), *USUAL]
        given = {name.lower() for name, _ in headers}
        lines = [f"{name}: {value}" for name, value in usual if name.lower() not in given]
        lines += [f"{name}: {value}" for name, value in headers]
        lines += [] if "connection" in given else ["Connection: close"]
        lines += [f"Content-Length: {len(body)}"] if body or method == "POST" else []
        message = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + body
        self._asked += 1
        if self._note is not None:
            self._note(self._asked)
        try:
            return self._exchange(method, message, source)
        except (OSError, http.client.HTTPException) as problem:
            raise NoAnswer(f"{type(problem).__name__}: {problem}") from None

    def try_asking(self, method: str, path: str, *headers: tuple[str, str], source: str | None = None) -> Asked | None:
        try:
            return self.ask(method, path, headers=headers, source=source)
        except NoAnswer:
            return None

    def try_posting(self, path: str, body: bytes, *headers: tuple[str, str]) -> Asked | None:
        try:
            return self.ask("POST", path, headers=headers, body=body)
        except NoAnswer:
            return None

    def _exchange(self, method: str, message: bytes, source: str | None) -> Asked:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(
                socket.create_connection(
                    (self.address or self.host, self.port),
                    timeout=TIMEOUT_S,
                    source_address=None if source is None else (source, 0),
                )
            )
            begins_s = ends_s = 0.0
            if self.scheme == "https":
                context = ssl.create_default_context()
                secured = stack.enter_context(context.wrap_socket(connection, server_hostname=self.host))
                certificate = secured.getpeercert() or {}
                begins_s = ssl.cert_time_to_seconds(str(certificate.get("notBefore", "Jan  1 00:00:00 1970 GMT")))
                ends_s = ssl.cert_time_to_seconds(str(certificate.get("notAfter", "Jan  1 00:00:00 1970 GMT")))
                connection = secured
            connection.sendall(message)
            response = http.client.HTTPResponse(connection, method=method)
            stack.callback(response.close)
            response.begin()
            fields = tuple((name.lower(), value) for name, value in response.getheaders())
            body = response.read(MOST_BODY_BYTES)
            return Asked(
                status=response.status,
                headers=fields,
                body=body,
                certificate_begins_s=begins_s,
                certificate_ends_s=ends_s,
                peer=str(connection.getpeername()[0]),
            )


def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses that a name resolves to."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def ask_port(host: str, port: int, path: str) -> Asked | None:
    """Return the response from a port of the same host; None if no HTTP server listens there."""
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        return Site(f"http://{authority}").ask("GET", path)
    except NoAnswer:
        return None


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_private(host: str) -> bool:
    """Say whether an address or a name is one of this machine or of a network that others do not reach."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return is_loopback(host) or "." not in host or host.endswith((".internal", ".local", ".lan"))
