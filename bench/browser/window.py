"""Chromium in a window on a separate screen, started as a person starts it, and read over its debugging protocol.

No driver and no automation flag. `Runtime` and `Console` remain off, because a page could notice them. Expressions are
evaluated without them.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.drivers.stock import Setup, end, start
from tests.support.ports import free_port

START_S = 60
# A browser that has just started is busy with itself.
SETTLE_S = 3
SILENT = "data:text/html,<title>Start</title>"

Listener = Callable[[str, dict[str, Any]], None]


class Protocol:
    """The debugging protocol of one browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, session: str | None = None, **fields: Any) -> dict[str, Any]:
        """Call a method of the browser, or of one of its tabs."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": fields}
        await self._socket.send_json(message if session is None else {**message, "sessionId": session})
        return await answer

    def listen(self, session: str, listener: Listener) -> None:
        """Call the listener with each event of a tab."""
        self._listeners[session] = listener

    async def _read(self) -> None:
        async for message in self._socket:
            said = message.json()
            listener = self._listeners.get(said.get("sessionId"))
            if "id" in said and "error" in said:
                self._answers.pop(said["id"]).set_exception(RuntimeError(said["error"]["message"]))
            elif "id" in said:
                self._answers.pop(said["id"]).set_result(said["result"])
            elif listener:
                listener(said["method"], said["params"])


class Tab:
    """A tab in a profile that others may share."""

    def __init__(self, protocol: Protocol, target: str, session: str) -> None:
        self._protocol = protocol
        self._target = target
        self._session = session

    async def call(self, method: str, **fields: Any) -> dict[str, Any]:
        """Call a method of this tab."""
        return await self._protocol.call(method, self._session, **fields)

    def listen(self, listener: Listener) -> None:
        """Call the listener with each event."""
        self._protocol.listen(self._session, listener)

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    async def close(self) -> None:
        """Close it."""
        await self._protocol.call("Target.closeTarget", targetId=self._target)


class Profile:
    """A fresh profile: separate cookies, storage and cache."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._id = ""

    async def __aenter__(self) -> Self:
        """Make it."""
        self._id = (await self._protocol.call("Target.createBrowserContext"))["browserContextId"]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """Throw it away."""
        await self._protocol.call("Target.disposeBrowserContext", browserContextId=self._id)

    async def open_tab(self) -> Tab:
        """Open an empty tab."""
        made = await self._protocol.call("Target.createTarget", url="about:blank", browserContextId=self._id)
        target = made["targetId"]
        attached = await self._protocol.call("Target.attachToTarget", targetId=target, flatten=True)
        return Tab(self._protocol, target, attached["sessionId"])


@asynccontextmanager
async def windowed_chromium(folder: Path) -> AsyncIterator[Protocol]:
    """Run Chromium for as long as the block runs."""
    port = free_port()
    # A port that Chromium chooses by itself would make it say that it is driven.
    setup = Setup(arguments=(f"--remote-debugging-port={port}",))
    with virtual_screen() as screen:
        browser = start(setup, SILENT, screen, folder)
        try:
            async with (
                aiohttp.ClientSession() as http,
                http.ws_connect(await _address(http, port), max_msg_size=0) as socket,
            ):
                await asyncio.sleep(SETTLE_S)
                yield Protocol(socket)
        finally:
            end(browser)


async def _address(http: aiohttp.ClientSession, port: int) -> str:
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s:
        try:
            async with http.get(f"http://127.0.0.1:{port}/json/version") as reply:
                return str((await reply.json())["webSocketDebuggerUrl"])
        except aiohttp.ClientError:
            await asyncio.sleep(0.2)
    raise RuntimeError("Chromium does not answer")
