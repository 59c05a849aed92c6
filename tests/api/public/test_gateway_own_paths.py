"""Paths below /.agentgate/, limits, and that no input of a visitor makes the check fail."""

import asyncio
import json
import random
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from agentgate.browser_check.tokens.repository import RedemptionStore
from tests.api.public.challenge_page import NAVIGATION, ORIGIN
from tests.api.public.printed_adapter import CURL, Adapter
from tests.support.gateway import VISITOR
from tests.support.service import RunningService


@pytest.fixture
def adapter(service: RunningService) -> Adapter:
    return Adapter(service)


# Own paths.


@pytest.mark.parametrize(
    "path",
    [
        *("v1/gateway/check", "v1/gateway/denied?d=none", "v1/siteverify", "v1/admin/session", "v1/console/sites", ""),
        *("sdk/../v1/siteverify", "sdk/%2e%2e/v1/siteverify", "v1/gateway/%63hallenge", "v1/gateway/../siteverify"),
        *("V1/gateway/challenge", "v1//gateway/challenge", "v1/gateway/challenge/", "v1/gateway/pass;x", "healthz"),
    ],
)
def test_the_prefix_has_its_own_list_of_paths(adapter: Adapter, path: str) -> None:
    own = f"/.agentgate/{path}"
    request = raw_request(adapter, own)
    assert request.startswith(b"HTTP/1.1 404 "), request[:200]


def raw_request(adapter: Adapter, target: str) -> bytes:
    """Send a target as it is: libraries normalize paths."""
    address = urlsplit(adapter.service.public_url)
    lines = [f"GET {target} HTTP/1.1", "Host: shop.example", "Connection: close"]
    lines += [f"X-AgentGate-Secret: {adapter.visitor.secret}", f"X-AgentGate-Request: {adapter.line('GET', '/')}"]
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        received = b""
        while data := connection.recv(65_536):
            received += data
    return received


def seen(adapter: Adapter, line: str | None, *headers: tuple[str, str], query: str = "?seen=1") -> dict[str, object]:
    target = f"/.agentgate/v1/gateway/challenge{query}"
    reply = adapter.send(target, line, *CURL.items(), *headers)
    assert reply.status_code == 200, reply.text
    told: dict[str, object] = reply.json()
    return told


def test_own_paths_take_the_adapters_address(adapter: Adapter) -> None:
    line = adapter.line("GET", "/.agentgate/v1/gateway/challenge?seen=1")
    expected = seen(adapter, line)
    forged = (("X-Forwarded-For", "192.0.2.9"), ("X-Original-Address", "192.0.2.9"), ("X_Original_URL", "https://x/"))
    ignored = "?seen=1&respond=visitor&request=forwarded&d=none&ok=200"

    assert seen(adapter, line, *forged, query=ignored)["visitor"] == expected["visitor"]
    assert expected["origin"] == ORIGIN
    # Traefik clears the description: then it is Traefik's own header that counts, and of it the last address.
    traefik = (("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "shop.example"))
    own = ("X-Forwarded-For", f"192.0.2.9, {adapter.visitor.address}")
    assert seen(adapter, None, *traefik, own)["visitor"] == expected["visitor"]
    # A proxy without a secret is not an adapter.
    assert adapter.send("/.agentgate/v1/gateway/challenge?seen=1", None, *CURL.items()).status_code == 403


def test_the_whole_way_of_a_visitor_is_below_the_prefix(adapter: Adapter) -> None:
    visitor = adapter.visitor
    own = "/.agentgate/v1/gateway/pass"
    # The token is the browser's: another User-Agent gets no clearance for it.
    script = {
        "User-Agent": NAVIGATION["User-Agent"],
        "Origin": ORIGIN,
        "Content-Type": "application/json",
        "Sec-Fetch-Site": "same-origin",
    }
    body = json.dumps({"token": visitor.token(), "return": f"{ORIGIN}/members"}).encode()
    passed = adapter.send(own, adapter.line("POST", own), *script.items(), method="POST", content=body)
    assert passed.status_code == 200, passed.text
    cookie = passed.headers["set-cookie"].partition(";")[0]

    assert adapter.check("/members", *NAVIGATION.items(), ("Cookie", cookie)).status_code == 204


def test_a_private_token_reaches_the_browser_check(adapter: Adapter) -> None:
    own = "/.agentgate/v1/browser/private-token?challenge=x"
    reply = adapter.send(own, adapter.line("GET", own), ("Authorization", "PrivateToken token=x"))
    assert reply.status_code != 503
    assert reply.headers["content-type"].startswith("application/json")
    assert "x-service-reason" not in reply.headers


# No visitor's input is a fault.


def test_32_kib_of_headers_reach_a_decision(adapter: Adapter) -> None:
    target = "/members?" + "q" * 15_000
    headers = [(f"X-Filler-{number}", "v" * 1_000) for number in range(16)]
    check = adapter.check(target, *VISITOR.items(), *headers)
    assert (check.status_code, check.headers["x-service-reason"]) == (401, "receipt_required")
    page = adapter.denied(check.headers["x-service-denial"], target, *NAVIGATION.items(), *headers)
    assert page.status_code == 401
    own = "/.agentgate/sdk/v1/agentgate.js?"
    assert adapter.send(own + "q" * 30_000, None, secret=None).status_code == 200
    assert adapter.send(own + "q" * 40_000, None, secret=None).status_code in {414, 431}
    assert adapter.check("/", *[(f"X-F{number}", "v" * 1_000) for number in range(60)]).status_code == 431


FUZZ_NAMES = (
    *("Cookie", "Origin", "Content-Type", "Accept", "Authorization", "X-AgentGate-Token", "Signature", "Traceparent"),
    *("Signature-Input", "Signature-Agent", "Crawler-Max-Price", "X-Forwarded-For", "X-Original-URL", "X_Original_URL"),
    *(
        "Connection",
        "Keep-Alive",
        "TE",
        "Expect",
        "Upgrade",
        "Range",
        "Accept-Language",
        "Sec-Fetch-Mode",
        "X-Request-Id",
    ),
    *(
        "Forwarded",
        "X-HTTP-Method-Override",
        "User-Agent",
        "Referer",
        "X-Forwarded-Prefix",
        "X-JA4",
        "Content-Encoding",
    ),
)
FUZZ_VALUES = (
    *(
        "",
        "a",
        "/members",
        "%00%ff%u0041",
        "caf\xe9",
        "a, b",
        '"',
        "x" * 3_000,
        "/" + "%25" * 900,
        "/a" * 1_200,
        "gzip",
    ),
    *("100-continue", "websocket", "h2c", "sig1=();created=1", "sig1=:AAAA:", "USD 1", "Bearer x", "0", "-1", "\t"),
)
FUZZ_TARGETS = (
    "/",
    "/members",
    "//",
    "/%ff%fe",
    "/%u0061",
    "/..;/members",
    "/a?_method=PUT",
    "/\xff",
    "/" + "%2e/" * 999,
)


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
@pytest.mark.parametrize("respond", ["denial", "visitor"])
def test_no_visitor_causes_a_fault(service: RunningService, mode: str, respond: str) -> None:
    adapter, chance = Adapter(service, mode=mode), random.Random(f"{mode}{respond}")
    address = urlsplit(service.public_url)
    for _ in range(250):
        adapter.visitor.address = f"198.18.{chance.randrange(200)}.{chance.randrange(200)}"
        method, target = chance.choice(("GET", "POST", "HEAD", "BREW", "PUT")), chance.choice(FUZZ_TARGETS)
        lines = [
            f"GET /v1/gateway/check?respond={respond} HTTP/1.1",
            f"Host: {chance.choice(('shop.example', 'a b', ''))}",
        ]
        lines += [
            f"X-AgentGate-Request: {adapter.line(method, target, 'host=' + chance.choice(('shop.example', 'x/')))}"
        ]
        lines += [f"X-AgentGate-Secret: {adapter.visitor.secret}"]
        names = chance.choices(FUZZ_NAMES, k=chance.randrange(8))
        lines += [f"{name}: {chance.choice(FUZZ_VALUES)}" for name in names if name != "Content-Encoding"]
        with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
            answer = connection.recv(65_536)
        status = int(answer[9:12])
        allowed = {204} if mode == "monitor" else {204, 401, 403, 402, 429, 404}
        assert status in allowed, (status, lines)


class SlowStore:
    """A store that redeems tokens after three seconds."""

    def __init__(self, store: RedemptionStore) -> None:
        self.store = store
        self.redeemed = 0

    async def spend(self, *named: Any, **given: Any) -> bool:
        await asyncio.sleep(3)
        is_new = await self.store.spend(*named, **given)
        self.redeemed += 1
        return is_new


def test_a_slow_store_redeems_nothing_and_is_not_a_fault(adapter: Adapter) -> None:
    receipts = adapter.service.application.gateway.check._receipts
    receipts._redemptions = slow = SlowStore(receipts._redemptions)
    token = adapter.visitor.token()
    began = time.monotonic()
    reply = adapter.check("/members", *VISITOR.items(), ("X-AgentGate-Token", token))
    took = time.monotonic() - began
    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "receipt_required")
    assert took < 1.0

    # The work continues.
    time.sleep(4)
    receipts._redemptions = slow.store
    assert slow.redeemed == 1
