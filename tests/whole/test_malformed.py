"""The corpus of malformed requests against both listeners of a real process, with the operator's key smuggled in."""

import asyncio
import re
import time
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.http.corpus import CASES, Case
from tests.support.processes import ADMIN_KEY, ServeProcess, serving

# 401 if the response to valid request headers precedes the fault in the body.
MAY_BE_ANSWERED = frozenset({400, 401, 404, 405, 414, 431})
CLOSED_WITHIN_S = 10.0
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
# The name of a site: every response of the admin API that leaks data contains it.
CANARY = "Canary shop 7f3a"
HOST = b"Host: gate.example\r\n"
KEY_LINE = b"X-Admin-Key: " + ADMIN_KEY.encode() + b"\r\n"


class Outcome(NamedTuple):
    """The bytes that one connection received, and how long until the other side closed it."""

    name: str
    received: bytes
    closed_s: float


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    """A process with something to give away."""
    with serving(tmp_path_factory.mktemp("malformed")) as started:
        with started.admin() as operator:
            assert operator.call("POST", "/v1/admin/sites", {"name": CANARY, "siteKey": "site_canary"}).status == 201
            assert CANARY in str(operator.call("GET", "/v1/admin/sites").body)
        yield started


async def exchange(url: str, name: str, raw: bytes, drip: bytes = b"") -> Outcome:
    """Send bytes, then some more one by one if there are any, and read until the other side closes."""
    parts = urlsplit(url)
    began_s = time.monotonic()
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(raw)
    dripping = asyncio.create_task(send_slowly(writer, drip))
    try:
        received = await asyncio.wait_for(read_all(reader), 3 * CLOSED_WITHIN_S)
        return Outcome(name, received, time.monotonic() - began_s)
    finally:
        dripping.cancel()
        writer.close()
        await asyncio.gather(dripping, writer.wait_closed(), return_exceptions=True)


async def send_slowly(writer: asyncio.StreamWriter, drip: bytes) -> None:
    for byte in drip:
        await asyncio.sleep(0.2)
        writer.write(bytes([byte]))


async def read_all(reader: asyncio.StreamReader) -> bytes:
    received = b""
    try:
        while piece := await reader.read(65536):
            received += piece
    except ConnectionError:
        # Closing on a client that is still sending may look like this; what came before it counts.
        pass
    return received


def aimed(case: Case, *, host: bytes, with_key: bool) -> bytes:
    """Return the case with a target that could leak data, a served host, and optionally the key."""
    lines = HOST.replace(b"gate.example", host) + (KEY_LINE if with_key else b"")
    raw = case.raw.replace(HOST, lines, 1)
    return raw.replace(b"/echo", b"/v1/admin/sites", 1)


async def run_corpus(url: str) -> list[Outcome]:
    host = urlsplit(url).netloc.encode()
    sent = {f"{case.name}, as it is": case.raw for case in CASES}
    sent |= {f"{case.name}, aimed": aimed(case, host=host, with_key=False) for case in CASES}
    sent |= {f"{case.name}, with the key": aimed(case, host=host, with_key=True) for case in CASES}
    return await asyncio.gather(*(exchange(url, name, raw) for name, raw in sent.items()))


@pytest.mark.parametrize("listener", ["public", "admin"])
def test_every_malformed_request_is_rejected_or_closed_and_gives_nothing_away(
    process: ServeProcess, listener: str
) -> None:
    url = process.public_url if listener == "public" else process.admin_url

    outcomes = asyncio.run(run_corpus(url))

    answered = {outcome.name: {int(status) for status in STATUS.findall(outcome.received)} for outcome in outcomes}
    assert {name: statuses for name, statuses in answered.items() if not statuses <= MAY_BE_ANSWERED} == {}
    assert [outcome.name for outcome in outcomes if CANARY.encode() in outcome.received] == []
    assert [outcome for outcome in outcomes if outcome.closed_s > CLOSED_WITHIN_S] == []
    # Most get a response and are not just closed. Otherwise clients would not know what was wrong.
    assert sum(bool(statuses) for statuses in answered.values()) > 0.9 * len(outcomes)
    assert process.readiness() == 200


def test_a_good_request_with_the_key_gets_nothing_from_the_public_listener(process: ServeProcess) -> None:
    raw = b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + KEY_LINE + b"\r\n"
    paths = [b"/v1/admin/sites", b"/v1/admin/sites/site_canary", b"/v1/admin/session", b"/metrics"]

    async def ask_all() -> list[Outcome]:
        return await asyncio.gather(*(exchange(process.public_url, path.decode(), raw % path) for path in paths))

    outcomes = asyncio.run(ask_all())

    assert {STATUS.findall(outcome.received)[0] for outcome in outcomes} == {b"404"}
    assert [outcome.name for outcome in outcomes if CANARY.encode() in outcome.received] == []


def test_a_head_and_a_body_that_come_byte_by_byte_are_closed_in_time(process: ServeProcess) -> None:
    head = b"POST /v1/admin/sites HTTP/1.1\r\nHost: 127.0.0.1\r\n" + KEY_LINE
    body_follows = head + b"Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
    drip = b" " * 200

    async def send_both() -> list[Outcome]:
        return await asyncio.gather(
            *(exchange(url, "head", head + b"X-Slow: ", drip) for url in (process.public_url, process.admin_url)),
            exchange(process.admin_url, "body", body_follows, drip),
        )

    outcomes = asyncio.run(send_both())

    assert [outcome for outcome in outcomes if outcome.closed_s > CLOSED_WITHIN_S] == []
    assert [STATUS.findall(outcome.received) for outcome in outcomes] == [[b"400"]] * 3
