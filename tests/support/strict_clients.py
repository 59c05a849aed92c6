"""Clients that count every request without a response, even on a connection that the server just closed."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Self

# Requests a second of each client.
RATE = 30

Connect = Callable[[], http.client.HTTPConnection]
Send = Callable[[http.client.HTTPConnection], None]


class StrictClients:
    """Clients that ask until the block ends. Half of them keep their connection, the others make new ones."""

    def __init__(self, connect: Connect, send: Send, *, count: int = 6) -> None:
        self._connect = connect
        self._send = send
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self.statuses: Counter[int] = Counter()
        self.lost: list[str] = []
        self.closed_with_notice = 0
        self.slowest_s = 0.0
        self._threads = [threading.Thread(target=self._run, args=(number % 2 == 0,)) for number in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    @property
    def asked(self) -> int:
        """How many requests were sent."""
        return self.statuses.total() + len(self.lost)

    def _run(self, keeps: bool) -> None:
        connection: http.client.HTTPConnection | None = None
        while not self._ended.wait(1 / RATE):
            connection = connection or self._connect()
            began_s = time.monotonic()
            try:
                self._send(connection)
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException) as failure:
                with self._lock:
                    self.lost.append(repr(failure))
                connection.close()
                connection = None
                continue
            with self._lock:
                self.statuses[response.status] += 1
                self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
                self.closed_with_notice += response.headers["connection"] == "close"
            if not keeps or response.will_close:
                connection.close()
                connection = None
        if connection is not None:
            connection.close()
