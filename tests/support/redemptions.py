"""Redeems tokens in both ways at once, over HTTP from several workers: by siteverify, and at the gateway.

A caller that gets 200 or 204 has won the token. A token with two winners was redeemed twice. A token without a winner
was lost if no caller was left in doubt.
"""

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentgate.browser_check.tokens.receipts import SigningKeys
from agentgate.lib.clock import SystemClock
from tests.support.gateway import VISITOR
from tests.support.processes import AdminConnection, ServeProcess, serving
from tests.support.tokens import ORIGIN, keys_of_process, mint

SITE_KEY = "site_race"
PATH, CHECK = "/v1/siteverify", "/v1/gateway/check"
WON = frozenset(("siteverify 200", "gateway 204 allowed"))
LOST = frozenset(("siteverify 409", "gateway 401 token_used"))
CONNECTIONS = 32
TOKEN_S = 3600
GONE = (OSError, EOFError, asyncio.IncompleteReadError)


@dataclass
class Scene:
    """A running service with a site, and what is needed to redeem its tokens."""

    process: ServeProcess
    keys: SigningKeys
    secret: str

    def tokens(self, count: int) -> list[str]:
        """Return new tokens."""
        now_ms = SystemClock().now_ms()
        return [mint(self.keys, SITE_KEY, now_ms=now_ms, lifetime_s=TOKEN_S) for _ in range(count)]


@dataclass
class Outcome:
    """What became of a race."""

    attempts: int = 0
    seconds: float = 0.0
    wins: Counter[str] = field(default_factory=Counter)
    doubtful: set[str] = field(default_factory=set)
    statuses: Counter[str] = field(default_factory=Counter)

    def double(self) -> list[str]:
        """Return the tokens that were spent more than once."""
        return [token for token, count in self.wins.items() if count > 1]

    def __str__(self) -> str:
        """Say it in a line."""
        speed = round(self.attempts / self.seconds)
        won = sum(self.wins.values())
        return f"{self.attempts} attempts, {won} won, {len(self.double())} double, {speed}/s, {dict(self.statuses)}"


@contextlib.contextmanager
def scene(folder: Path, **settings: str) -> Iterator[Scene]:
    """Start the service with a site."""
    with serving(folder, **settings) as process:
        with process.admin() as admin:
            body = {
                "name": "Race",
                "siteKey": SITE_KEY,
                "mode": "enforce",
                "allowedOrigins": [ORIGIN],
                "actions": {"login": {"browserRequired": True}},
                "routes": [{"method": "GET", "path": "/login", "action": "login"}],
            }
            # After a crash the site already exists.
            assert admin.call("POST", "/v1/admin/sites", body).status in {201, 409}
            _revoke_all(admin)
            secret = admin.call("POST", f"/v1/admin/sites/{SITE_KEY}/credentials").body["secret"]
        # All workers have read the new site and its secret by then.
        time.sleep(1.5)
        yield Scene(process, keys_of_process(folder, **settings), secret)


def _revoke_all(admin: AdminConnection) -> None:
    path = f"/v1/admin/sites/{SITE_KEY}"
    for credential in admin.call("GET", path).body["credentialList"]:
        assert admin.call("POST", f"{path}/credentials/{credential['id']}/revoke").status == 200


class Connection:
    """A keep-alive connection to siteverify and to the gateway."""

    def __init__(self, scene: Scene) -> None:
        parts = urlsplit(scene.process.public_url)
        self._host, self._port = parts.hostname, parts.port
        self._secret = scene.secret
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def redeem(self, token: str, request_id: str | None = None) -> tuple[int, bytes]:
        """Redeem a token; return status and body."""
        reader, _ = await self._send(self._siteverify(token, request_id))
        status, _, body = await self._receive(reader)
        return status, body

    async def open(self, token: str, address: str) -> tuple[int, str]:
        """Ask the gateway about a visitor with this token; return status and reason."""
        original = {"Method": "GET", "URL": f"{ORIGIN}/login", "Address": address}
        headers = {**VISITOR, "Authorization": f"Bearer {self._secret}", "X-AgentGate-Token": token}
        headers |= {f"X-Original-{name}": value for name, value in original.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        reader, _ = await self._send(f"GET {CHECK} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        status, head, _ = await self._receive(reader)
        return status, head.partition(b"x-service-reason: ")[2].partition(b"\r\n")[0].decode()

    async def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            writer = self._streams[1]
            self._streams = None
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _siteverify(self, token: str, request_id: str | None) -> bytes:
        fields: dict[str, Any] = {"token": token, "expectedAction": "login", "secret": self._secret}
        payload = json.dumps(fields if request_id is None else {**fields, "requestId": request_id}).encode()
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(payload)}\r\n\r\n"
        return head.encode() + payload

    async def _send(self, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        self._streams[1].write(request)
        return self._streams

    async def _receive(self, reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        body = await reader.readexactly(int(length or b"0"))
        if b"connection: close" in head:
            await self.close()
        return int(head[9:12]), head, body


async def race(scene: Scene, tokens: list[str], *, attempts_each: int, seed: int) -> Outcome:
    """Try to redeem every token several times, half by siteverify and half at the gateway."""
    attempts = [(token, way % 2 == 0) for token in tokens for way in range(attempts_each)]
    _shuffle_nearby(attempts, random.Random(seed), span=attempts_each * CONNECTIONS)
    outcome = Outcome(attempts=len(attempts))
    began_s = time.monotonic()
    left = iter(enumerate(attempts))

    async def try_all() -> None:
        connection = Connection(scene)
        for number, (token, verifies) in left:
            result = await (_verify(connection, token) if verifies else _open(connection, token, number))
            outcome.statuses[result] += 1
            if result in WON:
                outcome.wins[token] += 1
            elif result not in LOST:
                outcome.doubtful.add(token)
        await connection.close()

    await asyncio.gather(*(try_all() for _ in range(CONNECTIONS)))
    outcome.seconds = time.monotonic() - began_s
    return outcome


async def _verify(connection: Connection, token: str) -> str:
    try:
        return f"siteverify {(await connection.redeem(token))[0]}"
    except GONE:
        await connection.close()
        return "gone"


async def _open(connection: Connection, token: str, number: int) -> str:
    # From elsewhere each: one visitor alone, or one network, would soon be too quick for the rules.
    address = f"{11 + number % 80}.{number // 80 % 250}.{number // 20_000 % 250}.{number % 250}"
    try:
        status, reason = await connection.open(token, address)
    except GONE:
        await connection.close()
        return "gone"
    return f"gateway {status} {reason}"


def _shuffle_nearby(attempts: list[Any], draw: random.Random, *, span: int) -> None:
    """Mix neighbors only, so that attempts for the same token run at the same time."""
    for start in range(0, len(attempts), span):
        part = attempts[start : start + span]
        draw.shuffle(part)
        attempts[start : start + span] = part
