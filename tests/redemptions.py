"""Redeems tokens in every way at once: over HTTP from several workers, and directly as the gateway does.

Whoever is told 200 or True has won the token. A token that two won was spent twice; one that nobody won, though nobody
was left in doubt, was lost.
"""

import asyncio
import base64
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentgate.config import read_settings
from agentgate.core.clock import DAY_MS, SystemClock
from agentgate.core.database import StoreUnavailable
from agentgate.store.open import Stores, open_stores
from agentgate.tokens.keys import SigningKeys
from agentgate.tokens.ports import Redemption
from tests.minting import keys_of_process, mint
from tests.processes import AdminConnection, ServeProcess, environment, serving

SITE_KEY = "site_race"
PATH = "/v1/siteverify"
CONNECTIONS = 32
TOKEN_S = 3600
MOST_RETRIES = 10
GONE = (OSError, EOFError, asyncio.IncompleteReadError)


@dataclass
class Scene:
    """A running service with a site, and what is needed to redeem its tokens."""

    process: ServeProcess
    settings: dict[str, str]
    keys: SigningKeys
    site_id: str
    secret: str

    def tokens(self, count: int) -> list[str]:
        """Return new tokens."""
        now_ms = SystemClock().now_ms()
        return [mint(self.keys, SITE_KEY, now_ms=now_ms, lifetime_s=TOKEN_S) for _ in range(count)]

    @contextlib.asynccontextmanager
    async def stores(self) -> AsyncIterator[Stores]:
        """Open the service's own stores from this process."""
        settings = read_settings(environment(self.process.folder, self.settings))
        stores = await open_stores(settings, SystemClock())
        try:
            yield stores
        finally:
            await stores.close()


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
            body = {"name": "Race", "siteKey": SITE_KEY, "actions": {"login": {"browserRequired": True}}}
            # After a crash it is there already.
            assert admin.call("POST", "/v1/admin/sites", body).status in {201, 409}
            site_id = admin.call("GET", f"/v1/admin/sites/{SITE_KEY}").body["id"]
            _revoke_all(admin)
            secret = admin.call("POST", f"/v1/admin/sites/{SITE_KEY}/credentials").body["secret"]
        # All workers have read the new site and its secret by then.
        time.sleep(1.5)
        yield Scene(process, settings, keys_of_process(folder, **settings), site_id, secret)


def _revoke_all(admin: AdminConnection) -> None:
    path = f"/v1/admin/sites/{SITE_KEY}"
    for credential in admin.call("GET", path).body["credentialList"]:
        assert admin.call("POST", f"{path}/credentials/{credential['id']}/revoke").status == 200


class Connection:
    """A keep-alive connection to siteverify."""

    def __init__(self, scene: Scene) -> None:
        parts = urlsplit(scene.process.public_url)
        self._host, self._port = parts.hostname, parts.port
        self._secret = scene.secret
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def redeem(self, token: str, request_id: str | None = None) -> tuple[int, bytes]:
        """Redeem a token; return status and body."""
        reader, _ = await self._send(token, request_id)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        if b"connection: close" in head.lower():
            await self.close()
        return int(head[9:12]), body

    async def leave(self, token: str, request_id: str) -> None:
        """Send the call and go away without reading what is answered."""
        _, writer = await self._send(token, request_id)
        await writer.drain()
        await self.close()

    async def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            writer = self._streams[1]
            self._streams = None
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _send(self, token: str, request_id: str | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        fields: dict[str, Any] = {"token": token, "expectedAction": "login", "secret": self._secret}
        payload = json.dumps(fields if request_id is None else {**fields, "requestId": request_id}).encode()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(payload)}\r\n\r\n"
        self._streams[1].write(head.encode() + payload)
        return self._streams


async def race(scene: Scene, tokens: list[str], *, attempts_each: int, seed: int) -> Outcome:
    """Let everybody try to redeem every token several times, half over HTTP and half directly."""
    attempts = [(token, way % 2 == 0) for token in tokens for way in range(attempts_each)]
    _shuffle_nearby(attempts, random.Random(seed), span=attempts_each * CONNECTIONS)
    outcome = Outcome(attempts=len(attempts))
    began_s = time.monotonic()
    async with scene.stores() as stores:
        left = iter(attempts)

        async def try_all() -> None:
            connection = Connection(scene)
            for token, over_http in left:
                result = await (_ask(connection, token) if over_http else _spend(stores, scene, token))
                outcome.statuses[f"{'http' if over_http else 'direct'} {result}"] += 1
                if result in {"200", "True"}:
                    outcome.wins[token] += 1
                elif result not in {"409", "False"}:
                    outcome.doubtful.add(token)
            await connection.close()

        await asyncio.gather(*(try_all() for _ in range(CONNECTIONS)))
    outcome.seconds = time.monotonic() - began_s
    return outcome


async def lose_answers(scene: Scene, tokens: list[str]) -> Outcome:
    """Go away before each answer, ask again with the same ID until there is one, then try with another ID."""
    outcome = Outcome(attempts=len(tokens))
    began_s = time.monotonic()
    left = iter(tokens)

    async def lose() -> None:
        connection = Connection(scene)
        for token in left:
            await connection.leave(token, "mine")
            await asyncio.sleep(random.Random(token).choice((0, 0, 0.002, 0.01)))
            bodies = set()
            for request_id in ("mine", "mine", "other"):
                status, body = await _ask_until_known(connection, token, request_id)
                outcome.statuses[f"{request_id} {status}"] += 1
                if status == 200:
                    bodies.add(body)
            outcome.wins[token] = len(bodies)
        await connection.close()

    await asyncio.gather(*(lose() for _ in range(CONNECTIONS)))
    outcome.seconds = time.monotonic() - began_s
    return outcome


async def _ask_until_known(connection: Connection, token: str, request_id: str) -> tuple[int, bytes]:
    """Repeat a call while the service says that nobody knows, as it does when the store takes more than a second."""
    for _ in range(MOST_RETRIES):
        status, body = await connection.redeem(token, request_id)
        if status != 503:
            break
    return status, body


async def redeem_until_gone(scene: Scene, tokens: list[str]) -> dict[str, bytes | None]:
    """Redeem tokens until the service is gone; return what was answered, None for a call that was left open."""
    told: dict[str, bytes | None] = {}
    left = iter(tokens)

    async def redeem() -> None:
        connection = Connection(scene)
        for token in left:
            told[token] = None
            try:
                status, body = await _ask_until_known(connection, token, "mine")
            except GONE:
                break
            assert status == 200, body
            told[token] = body
        await connection.close()

    await asyncio.gather(*(redeem() for _ in range(CONNECTIONS)))
    return told


async def _ask(connection: Connection, token: str) -> str:
    try:
        return str((await connection.redeem(token))[0])
    except GONE:
        await connection.close()
        return "gone"


async def _spend(stores: Stores, scene: Scene, token: str) -> str:
    text = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    kept_until_ms = SystemClock().now_ms() + DAY_MS
    try:
        spent = await stores.redemptions.spend(scene.site_id, claims["jti"], Redemption(), kept_until_ms=kept_until_ms)
    except StoreUnavailable:
        return "unavailable"
    return str(spent)


def _shuffle_nearby(attempts: list[Any], draw: random.Random, *, span: int) -> None:
    """Mix neighbours only, so that those who want the same token want it at the same time."""
    for start in range(0, len(attempts), span):
        part = attempts[start : start + span]
        draw.shuffle(part)
        attempts[start : start + span] = part
