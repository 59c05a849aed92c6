"""Requests that cost the service more than the client: for how long does another client wait?"""

import contextlib
import http.client
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from bench.worst_bodies import MOST_RULES, rules, saving
from tests.attacks.gains import Gain
from tests.support.gateway import ORIGIN, VISITOR
from tests.support.processes import ServeProcess, serving

# A healthy service responds within this time; the rest is counted as stalled.
USUAL_S = 0.05
# As large as each route reads at all.
NESTED_BYTES = {"/siteverify": 4_000, "/v1/pages/sign-in": 16_000}
CHALLENGED_BYTES = 64_000
CHAIN = "/" + "%25" * 600 + "2e"
SEARCH = "/docs/search?q=" + "a+" * 3_000
PARALLEL = 64


class Bystander:
    """Another client, which requests `/healthz` repeatedly and records the delays."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.stalled_s = self.longest_s = 0.0
        self.unanswered = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.02):
            began_s = time.monotonic()
            self.unanswered += send(self._port, "GET", "/healthz") != http.HTTPStatus.OK
            waited_s = time.monotonic() - began_s
            self.longest_s = max(self.longest_s, waited_s)
            self.stalled_s += max(0.0, waited_s - USUAL_S)


def nested_body(size: int) -> tuple[str, bytes]:
    """Return the content type and body of a form whose parts contain parts; half of it are lines in the innermost."""
    body, depth = b"", 0
    while len(body) < size // 2:
        body += b"--%x\r\nContent-Type:multipart/x;boundary=%x\r\n\r\n" % (depth, depth + 1)
        depth += 1
    return "multipart/form-data; boundary=0", body + b"\n" * (size - len(body))


def send(port: int, method: str, target: str, body: bytes = b"", **headers: str) -> int:
    """Send one request and read the response; return its status, or 0 without a response."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(client) as connection, contextlib.suppress(OSError, http.client.HTTPException):
        connection.request(method, target, body or None, headers)
        response = connection.getresponse()
        response.read()
        return response.status
    return 0


def pipeline(port: int, requests: int) -> None:
    """Pipeline this many requests over one connection, without waiting for a response."""
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def read(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while connection.recv(1 << 16):
                pass

    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        reader = threading.Thread(target=read, args=(connection,))
        reader.start()
        with contextlib.suppress(OSError):
            connection.sendall(one * requests)
            connection.shutdown(socket.SHUT_WR)
        reader.join()


def in_parallel(count: int, act: Callable[[], None]) -> None:
    """Do it so often at once."""
    threads = [threading.Thread(target=act) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Stalls:
    """The attacks on one running service."""

    def __init__(self, process: ServeProcess) -> None:
        self._process = process
        self._port = urlsplit(process.public_url).port or 0
        with process.admin() as admin:
            routes = [{"method": "GET", "path": f"/members/{number}", "action": "login"} for number in range(4)]
            site = {"name": "Shop", "siteKey": "site_shop", "mode": "enforce", "routes": routes}
            site["actions"] = {"login": {"browserRequired": True}}
            assert admin.call("POST", "/v1/admin/sites", site).status == 201
            self._secret = admin.call("POST", "/v1/admin/sites/site_shop/credentials", {"name": "gate"}).body["secret"]
        time.sleep(1.2)

    def run(self, few: int) -> list[Gain]:
        """Run each attack with so many requests."""
        port = self._port
        return [
            *(self._measure(f"nested multipart to {path}", few, partial(self._nest, path)) for path in NESTED_BYTES),
            self._measure("nested multipart to a challenged POST", few, self._nest_challenged),
            self._measure("rules/validate with rules that all have to be compared", few, self._validate),
            self._measure("pipelined GET /healthz", 1, lambda: pipeline(port, 1_000 * few)),
            self._measure(
                f"{PARALLEL} long searches", 1, lambda: in_parallel(PARALLEL, lambda: send(port, "GET", SEARCH))
            ),
            self._measure("%25 chains in gateway checks", 20 * few, self._chain),
        ]

    def _nest(self, path: str) -> None:
        kind, body = nested_body(NESTED_BYTES[path])
        send(self._port, "POST", path, body, **{"Content-Type": kind, "Origin": f"http://127.0.0.1:{self._port}"})

    def _nest_challenged(self) -> None:
        kind, body = nested_body(CHALLENGED_BYTES)
        original = {
            "X-Original-Method": "POST",
            "X-Original-URL": f"{ORIGIN}/members/1",
            "X-Original-Address": "203.0.113.9",
        }
        headers = {**VISITOR, **original, "Authorization": f"Bearer {self._secret}", "Content-Type": kind}
        send(self._port, "POST", "/v1/gateway/challenge", body, **headers)

    def _validate(self) -> None:
        with self._process.admin() as admin:
            assert (
                admin.call("POST", "/v1/admin/sites/site_shop/rules/validate", saving(rules(MOST_RULES))).status == 200
            )

    def _chain(self) -> None:
        original = {"X-Original-Method": "GET", "X-Original-URL": ORIGIN + CHAIN, "X-Original-Address": "203.0.113.9"}
        send(
            self._port, "GET", "/v1/gateway/check", **{**VISITOR, **original, "Authorization": f"Bearer {self._secret}"}
        )

    def _measure(self, name: str, times: int, act: Callable[[], None]) -> Gain:
        began_s = time.monotonic()
        with Bystander(self._port) as bystander:
            for _ in range(times):
                act()
        took_s = time.monotonic() - began_s
        detail = f"longest {bystander.longest_s:.2f} s, attack took {took_s:.1f} s"
        return Gain(name, bystander.stalled_s, "seconds stalled", detail, unanswered=bystander.unanswered)


def attack_stalls(few: int) -> list[Gain]:
    """Run the attacks on a new service in a separate process, without a proxy."""
    with (
        tempfile.TemporaryDirectory(prefix="agentgate-attacks-") as folder,
        serving(Path(folder), AGENTGATE_DRAIN_SECONDS="0") as process,
    ):
        return Stalls(process).run(few)
