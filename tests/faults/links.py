"""A connection between two programs that a fault can slow down or cut, or whose responses it can drop."""

import asyncio
import random
import threading
from collections.abc import Callable
from enum import Enum
from typing import Self

CHUNK = 65_536


class Mode(Enum):
    """Effect of a link on the bytes that pass it."""

    PASS = "pass"
    SLOW = "slow"
    CUT = "cut"
    # The request reaches the server; the connection ends instead of a response.
    LOSE_ANSWERS = "lose answers"


class Link:
    """A relay on a separate port. Servers behind it may be replaced: the port stays the same.

    `is_lost` selects the requests whose responses may be lost, and `draw` decides for each.
    """

    def __init__(self, is_lost: Callable[[bytes], bool], draw: random.Random) -> None:
        self.target: str | tuple[str, int] = ""
        self.mode = Mode.PASS
        self.delay_s = 0.0
        self.lost = 0
        self.port = 0
        self._is_lost, self._draw = is_lost, draw
        self._writers: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result(10)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def set(self, mode: Mode, delay_s: float = 0.0) -> None:
        """Change what happens from now on; cutting ends all connections that are open."""
        self.mode, self.delay_s = mode, delay_s
        if mode is Mode.CUT:
            self._loop.call_soon_threadsafe(self._end_all)

    async def _close(self) -> None:
        self._server.close()
        self._end_all()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode is Mode.CUT:
            writer.transport.abort()
            return
        opened = [writer]
        try:
            if isinstance(self.target, str):
                there, onward = await asyncio.open_unix_connection(self.target)
            else:
                there, onward = await asyncio.open_connection(*self.target)
            opened.append(onward)
            self._writers.update(opened)
            connection = _Connection()
            await asyncio.gather(
                self._forward(reader, onward, connection, is_request=True),
                self._forward(there, writer, connection, is_request=False),
            )
        except (OSError, EOFError, asyncio.CancelledError):
            # Canceled at the end of the link; asyncio would print a canceled task.
            pass
        finally:
            for each in opened:
                self._writers.discard(each)
                each.transport.abort()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: "_Connection", *, is_request: bool
    ) -> None:
        while data := await reader.read(CHUNK):
            if self.mode is Mode.SLOW:
                await asyncio.sleep(self.delay_s)
            if self.mode is Mode.LOSE_ANSWERS and is_request:
                connection.loses = self._is_lost(data) and self._draw.random() < 0.5
            if connection.loses and not is_request:
                self.lost += 1
                raise EOFError
            writer.write(data)
            await writer.drain()
        raise EOFError


class _Connection:
    """Whether the next response on a connection is lost."""

    loses = False


def any_request(_: bytes) -> bool:
    """Return True: every response may be lost, as before an HTTP server."""
    return True


def commits(request: bytes) -> bool:
    """Return whether a request is a commit: only its response may be lost, as before PostgreSQL."""
    return b"COMMIT" in request
