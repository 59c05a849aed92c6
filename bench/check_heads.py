"""Checks as bytes: the checks that nginx with the configuration of `agentgate adapter nginx` sends for visitors.

A real nginx with that configuration shows which lines nginx writes, and which of the visitor's headers it omits.
"""

import socket
import threading
from typing import NamedTuple

from agentgate_tools.adapters.render import Installation, render
from bench.nginx import running_nginx
from tests.population.visitors import ORIGIN, Request
from tests.support.ports import free_port

_ADDRESS, _PATH, _SECRET = "127.0.0.1", "/learn/the/form", "ags_" + "0" * 32
# Everything that a browser of the population may send, with distinguishable values.
_NAMES = (
    *("sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform", "upgrade-insecure-requests", "user-agent", "accept"),
    *("sec-fetch-site", "sec-fetch-mode", "sec-fetch-user", "sec-fetch-dest", "referer", "accept-encoding", "cookie"),
    *("accept-language", "priority", "dnt", "sec-gpc", "te", "origin", "connection"),
)


class CheckForm(NamedTuple):
    """The form of a check: the text before the visitor's headers, and which of those headers nginx omits."""

    start: str
    left_out: frozenset[str]

    def write(self, request: Request, address: str, secret: str) -> bytes:
        """Return the check of a visitor's request."""
        start = self.start.format(url=request.url, address=address, secret=secret)
        lines = [f"{name}: {value}\r\n" for name, value in request.headers if name.lower() not in self.left_out]
        return f"{start}{''.join(lines)}\r\n".encode()


# Nothing but what the contract asks for, as another proxy or a program may send it.
PLAIN = CheckForm(
    "GET /v1/gateway/check HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\nX-Original-Method: GET\r\n"
    "X-Original-URL: {url}\r\nX-Original-Address: {address}\r\n",
    frozenset({"host", "connection", "te"}),
)


def learn_form() -> CheckForm:
    """Ask a real nginx."""
    head = _recorded_check().partition(b"\r\n\r\n")[0].decode()
    first, *lines = head.split("\r\n")
    written = [line for line in lines if line.partition(": ")[2] != _value(line.partition(":")[0])]
    kept = {line.partition(":")[0] for line in lines} - {line.partition(":")[0] for line in written}
    # Braces would be taken for places; nginx itself writes none.
    assert not set("{}") & set("".join([first, *written])), written
    start = "".join(f"{line}\r\n" for line in (first, *written))
    start = start.replace(ORIGIN + _PATH, "{url}").replace(f" {_ADDRESS} ", " {address} ")
    assert "{address}" in start, start
    return CheckForm(start.replace(_SECRET, "{secret}"), frozenset({"host", *_NAMES} - kept))


def _value(name: str) -> str:
    return f"of-{name}"


def _recorded_check() -> bytes:
    with socket.create_server((_ADDRESS, 0)) as gate:
        received: list[bytes] = []
        answering = threading.Thread(target=_answer, args=(gate, received))
        answering.start()
        port, service = free_port(), f"http://{_ADDRESS}:{gate.getsockname()[1]}"
        installation = Installation(
            service=service, origin=ORIGIN, upstream=service, secret=_SECRET, listen=f"{_ADDRESS}:{port}"
        )
        with (
            running_nginx(render("nginx", installation), port),
            socket.create_connection((_ADDRESS, port), timeout=10) as visitor,
        ):
            values = {name: _value(name) for name in _NAMES} | {"connection": "keep-alive"}
            lines = "".join(f"{name}: {value}\r\n" for name, value in values.items())
            visitor.sendall(f"GET {_PATH} HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n".encode())
            visitor.recv(65536)
        answering.join(10)
    return received[0]


def _answer(gate: socket.socket, received: list[bytes]) -> None:
    """Take one check and deny it, so that nginx sends no further request."""
    connection, _ = gate.accept()
    with connection:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        received.append(data)
        connection.sendall(b"HTTP/1.1 403 Forbidden\r\nX-Service-Drop: 1\r\nContent-Length: 0\r\n\r\n")
