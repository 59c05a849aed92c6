"""Guesses at the IDs of handoffs, from many addresses at once: at the page of a person and at the poll of an agent."""

import asyncio
import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from agentgate.lib.ids import new_handoff_id
from tests.support.handoff import HandoffScene
from tests.support.service import RunningService

CONNECTIONS = 16
LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)

Told = tuple[int, bytes]


def guesses(known: str, count: int, seed: int) -> Iterator[str]:
    """Return so many IDs that are none: made as real ones are, and real ones with one letter changed."""
    draw = random.Random(seed)
    for number in range(count):
        if number % 2:
            yield new_handoff_id()
            continue
        # The first letter carries three bits only.
        place = draw.randrange(len("ho_") + 1, len(known))
        letter = draw.choice(LETTERS.replace(known[place], ""))
        yield known[:place] + letter + known[place + 1 :]


def guess(scene: HandoffScene, identifiers: Iterable[str]) -> Counter[tuple[str, int, bytes]]:
    """Try each ID at both routes, each from another address; count the responses by route, status and body."""
    return asyncio.run(_guess(scene, identifiers))


async def _guess(scene: HandoffScene, identifiers: Iterable[str]) -> Counter[tuple[str, int, bytes]]:
    told: Counter[tuple[str, int, bytes]] = Counter()
    left = zip(itertools.count(), identifiers, strict=False)

    async def run() -> None:
        parts = urlsplit(scene.service.public_url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for number, identifier in left:
            for door in ("/handoff/", "/v1/handoff/"):
                writer.write(_request(scene, door + identifier, number))
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                told[door, int(head[9:12]), body] += 1
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(run() for _ in range(CONNECTIONS)))
    return told


def _request(scene: HandoffScene, path: str, number: int) -> bytes:
    """Write a request: the poll signed by an agent that the site knows, and whose handoff it is not."""
    url = scene.service.public_url + path
    is_poll = path.startswith("/v1/")
    signed = scene.other.headers("GET", url, created=scene.now_ms // 1000) if is_poll else {}
    source = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    headers = {"Host": urlsplit(url).netloc, "X-Forwarded-For": source, **signed}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()


def check_guesses(service: RunningService, count: int) -> None:
    """Guess many times while a handoff is open: no guess may find it, and all responses of a route are the same."""
    scene = HandoffScene(service)
    handoff = scene.open(submission_id="guessed")

    told = guess(scene, guesses(handoff.id, count, seed=count))

    assert sorted((door, status, number) for (door, status, _), number in told.items()) == [
        ("/handoff/", 404, count),
        ("/v1/handoff/", 404, count),
    ]
    # The handoff exists all the time for the agent that opened it. Another agent cannot distinguish it from a missing
    # one.
    assert scene.poll(handoff.id).json()["status"] == "pending"
    stranger = scene.poll(handoff.id, scene.other)
    assert ("/v1/handoff/", stranger.status_code, stranger.content) in told
