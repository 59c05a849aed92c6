"""One visitor of a site, with many gateway checks over several connections: counts how many are over the limit."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from urllib.parse import urlsplit

from tests.support.gateway import ORIGIN, VISITOR
from tests.support.processes import ServeProcess

REASON = re.compile(rb"\r\nx-service-reason: *([^\r]+)\r\n", re.IGNORECASE)
ANSWER_S = 20.0
LIMITED, NOT_YET = "rate_limited", "invalid_credential"
# So many connections reach every worker: that one of four gets none of them happens once in 25 million times.
CONNECTIONS = 64


def passed(reasons: Counter[str]) -> int:
    """Return the number of checks within the limit. Rules may still block a visitor with so many checks."""
    return reasons["allowed"] + reasons["policy"]


class OneVisitor:
    """A new site of a running service, and one address that asks for its front page."""

    def __init__(self, process: ServeProcess, name: str) -> None:
        parts = urlsplit(process.public_url)
        self._place = parts.hostname, parts.port
        with process.admin() as admin:
            site = {"name": name, "siteKey": f"site_{name}", "mode": "enforce", "allowedOrigins": [ORIGIN]}
            assert admin.call("POST", "/v1/admin/sites", site).status == 201
            made = admin.call("POST", f"/v1/admin/sites/site_{name}/credentials", {"name": "gate"})
        headers = {
            "Host": "gate",
            **VISITOR,
            "Authorization": f"Bearer {made.body['secret']}",
            "X-Original-Method": "GET",
            "X-Original-URL": f"{ORIGIN}/",
            "X-Original-Address": "203.0.113.20",
        }
        lines = "".join(f"{field}: {value}\r\n" for field, value in headers.items())
        self._request = f"GET /v1/gateway/check HTTP/1.1\r\n{lines}\r\n".encode()

    def burst(self, shares: list[int]) -> Counter[str]:
        """Send checks over one connection for each share, as fast as responses arrive; return the count of each
        reason."""
        return asyncio.run(self._burst(shares))

    def steady(self, *, per_second: int, seconds: float, connections: int) -> Counter[str]:
        """Ask at a constant rate, over one connection after the other."""
        return asyncio.run(self._steady(per_second, seconds, connections))

    async def _burst(self, shares: list[int]) -> Counter[str]:
        reasons = await asyncio.gather(*(self._ask(share) for share in shares))
        return Counter(reason for each in reasons for reason in each)

    async def _ask(self, times: int) -> list[str]:
        reader, writer = await asyncio.open_connection(*self._place)
        try:
            return [await self._ask_once(reader, writer) for _ in range(times)]
        finally:
            writer.close()

    async def _steady(self, per_second: int, seconds: float, connections: int) -> Counter[str]:
        opened = [await asyncio.open_connection(*self._place) for _ in range(connections)]
        locks = [asyncio.Lock() for _ in opened]
        loop = asyncio.get_running_loop()
        turns: Iterator[int] = cycle(range(connections))

        async def ask(number: int) -> str:
            async with locks[number]:
                return await self._ask_once(*opened[number])

        started_s, asked = loop.time(), []
        for number in range(int(per_second * seconds)):
            await asyncio.sleep(max(0.0, started_s + number / per_second - loop.time()))
            asked.append(asyncio.create_task(ask(next(turns))))
        reasons = await asyncio.gather(*asked)
        for _, writer in opened:
            writer.close()
        return Counter(reasons)

    async def _ask_once(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        # A worker that does not know the site yet counts nothing; it will within a second.
        while (reason := await self._ask_now(reader, writer)) == NOT_YET:  # noqa: ASYNC110 - a process tells no event
            await asyncio.sleep(0.05)
        return reason

    async def _ask_now(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(self._request)
        async with asyncio.timeout(ANSWER_S):
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"\r\ncontent-length: *(\d+)\r\n", head, re.IGNORECASE)
            if length is not None:
                await reader.readexactly(int(length[1]))
        reason = REASON.search(head)
        assert reason is not None, head
        return reason[1].decode()
