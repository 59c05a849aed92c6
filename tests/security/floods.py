"""A flood of sign-ins, and a probe that measures the delay of other requests."""

import asyncio
import http.client
import itertools
import json
import re
import threading
import time
from typing import Self

CONNECTIONS = 40
PAUSE_S = 0.05
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_RETRY_AFTER = re.compile(rb"retry-after: (\d+)", re.IGNORECASE)


class Flood:
    """Many connections that sign in as fast as responses arrive, each as a different user from a different address.

    All of them run on one thread, so that they leave the probe its share of this process.
    """

    def __init__(self, url: str) -> None:
        self.statuses: list[int] = []
        self.retry_after_s: list[int] = []
        host, _, port = url.partition("//")[2].partition(":")
        self._address = host, int(port)
        self._numbers = itertools.count()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run_all()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    async def _run_all(self) -> None:
        await asyncio.gather(*(self._run() for _ in range(CONNECTIONS)))

    async def _run(self) -> None:
        reader, writer = await asyncio.open_connection(*self._address)
        while not self._ended.is_set():
            writer.write(self._request(next(self._numbers)))
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            await reader.readexactly(int(length[1]) if length else 0)
            self.statuses.append(int(head.split(b" ", 2)[1]))
            if self.statuses[-1] == 429:
                retry_after = _RETRY_AFTER.search(head)
                self.retry_after_s.append(int(retry_after[1]) if retry_after else 0)
                await asyncio.sleep(PAUSE_S)
        writer.close()
        await writer.wait_closed()

    def _request(self, number: int) -> bytes:
        body = json.dumps({"email": f"nobody{number}@acme.example", "password": "wrong"})
        source = f"10.{number // 65_536 % 256}.{number // 256 % 256}.{number % 256}"
        return (
            f"POST /v1/account/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"X-Forwarded-For: {source}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


def probe_times(url: str, samples: int) -> list[float]:
    """Request `/healthz` many times; return how long the responses took in seconds, quickest first."""
    connection = http.client.HTTPConnection(url.partition("//")[2], timeout=20)
    times = []
    for _ in range(samples):
        started = time.perf_counter()
        connection.request("GET", "/healthz")
        reply = connection.getresponse()
        reply.read()
        assert reply.status == 200
        times.append(time.perf_counter() - started)
        time.sleep(0.005)
    connection.close()
    return sorted(times)
