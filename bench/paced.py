"""A client that asks at a constant rate, whatever the answers do. It runs as a program of its own.

`python -m bench.paced PORT FILE RATE SECONDS` prints p50 and p99 in milliseconds from when a request was due until its
answer was there, and how many were sent a second. The file is one of `bench.redeeming`.
"""

import selectors
import socket
import statistics
import sys
import time
from collections import deque
from itertools import cycle
from pathlib import Path

from bench.redeeming import read_requests

CONNECTIONS = 32


def main(port: str, path: str, rate: str, seconds: str) -> None:
    """Send each request on a free connection as soon as it is due; when none is free, it waits and its time runs."""
    requests = cycle(list(read_requests(Path(path).read_bytes())))
    interval_s, count = 1 / int(rate), int(rate) * int(seconds)
    times_ms: list[float] = []
    with selectors.DefaultSelector() as selector:
        free: deque[socket.socket] = deque()
        for _ in range(CONNECTIONS):
            each = socket.create_connection(("127.0.0.1", int(port)))
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(each, selectors.EVENT_READ)
            free.append(each)
        due_s: dict[socket.socket, float] = {}
        began_s = time.perf_counter()
        sent = 0
        while len(times_ms) < count:
            now_s = time.perf_counter()
            while sent < count and free and began_s + sent * interval_s <= now_s:
                each = free.popleft()
                due_s[each] = began_s + sent * interval_s
                each.sendall(next(requests))
                sent += 1
            wait_s = max(0.0, began_s + sent * interval_s - time.perf_counter()) if free and sent < count else None
            for key, _ in selector.select(wait_s):
                answered = key.fileobj
                assert isinstance(answered, socket.socket)
                assert answered.recv(65536).startswith(b"HTTP/1.1 204")
                times_ms.append((time.perf_counter() - due_s.pop(answered)) * 1000)
                free.append(answered)
        took_s = time.perf_counter() - began_s
    hundredths = statistics.quantiles(times_ms, n=100, method="inclusive")
    print(hundredths[49], hundredths[98], count / took_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
