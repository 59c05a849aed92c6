"""A client that asks at a constant rate, whatever the answers do. It runs as a program of its own.

`python -m bench.paced PORT FILE RATE SECONDS CONNECTIONS` prints JSON: how long each question waited that was answered
yes, how late this client was itself, and counts. The file is one of `bench.prepared`.
"""

import json
import select
import socket
import subprocess
import sys
import time
from collections import deque
from itertools import cycle
from pathlib import Path

import msgspec

from bench.prepared import read_requests

ROOT = Path(__file__).parents[1]
# After the last question was due, whoever has no answer yet gets none.
PATIENCE_S = 2.0
# Questions that are due at once are sent a few at a time, so that answers are not left lying meanwhile.
AT_ONCE = 8


class Paced(msgspec.Struct):
    """What became of the questions. Those that found no free connection in time were never sent."""

    # Of those answered yes: from when they were sent; and from when they were due, less what this client was late.
    sent_ms: list[float]
    due_ms: list[float]
    late_ms: list[float]
    refused: int = 0
    # Sent, but not answered when this client lost its patience.
    unanswered: int = 0
    # How long all questions together were on their way.
    open_s: float = 0.0
    seconds: float = 0.0

    @property
    def accepted(self) -> int:
        """Questions that were answered yes."""
        return len(self.sent_ms)

    @property
    def in_flight(self) -> float:
        """Questions that were on their way at a time."""
        return self.open_s / self.seconds

    @property
    def asked_per_s(self) -> float:
        """Questions a second that were answered at all."""
        return (self.accepted + self.refused) / self.seconds

    @property
    def good_per_s(self) -> float:
        """Questions a second that were answered yes."""
        return self.accepted / self.seconds


def share_of(values: list[float], share: float) -> float:
    """Return the value that this share of all does not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("inf")


def paced(port: int, file: Path, *, rate: int, seconds: int, connections: int = 32, clients: int = 1) -> Paced:
    """Ask from so many processes at once."""
    command = [sys.executable, "-m", "bench.paced", str(port), str(file), str(rate // clients), str(seconds)]
    running = [
        subprocess.Popen([*command, str(connections // clients)], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(clients)
    ]
    done = [msgspec.json.decode(each.communicate(timeout=seconds + 60)[0], type=Paced) for each in running]
    return Paced(
        sent_ms=[ms for each in done for ms in each.sent_ms],
        due_ms=[ms for each in done for ms in each.due_ms],
        late_ms=[ms for each in done for ms in each.late_ms],
        refused=sum(each.refused for each in done),
        unanswered=sum(each.unanswered for each in done),
        open_s=sum(each.open_s for each in done),
        seconds=max(each.seconds for each in done),
    )


class _Client:
    """Sends each question on a free connection as soon as it is due; when none is free it waits and its time runs."""

    def __init__(self, port: int, requests: list[bytes], connections: int) -> None:
        self._requests = cycle(requests)
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(connections):
            each = socket.create_connection(("127.0.0.1", port))
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[each.fileno()] = each
            self._poll.register(each, select.EPOLLIN)
        self._free = deque(self._sockets)
        self._free_since_s = dict.fromkeys(self._sockets, 0.0)
        # When the question was sent, and how long it had waited for a connection.
        self._asked_s: dict[int, tuple[float, float]] = {}
        self.done = Paced([], [], [])

    def run(self, rate: int, seconds: int) -> None:
        """Ask for so long."""
        interval_s, count, sent = 1 / rate, rate * seconds, 0
        began_s = time.perf_counter()
        last_s = began_s + seconds + PATIENCE_S
        while (sent < count or self._asked_s) and (now_s := time.perf_counter()) < last_s:
            for _ in range(AT_ONCE):
                due_s = began_s + sent * interval_s
                if sent >= count or not self._free or due_s > now_s:
                    break
                self._send(due_s, now_s)
                sent += 1
            waits = not self._free or sent >= count
            wait_s = last_s - now_s if waits else max(0.0, began_s + sent * interval_s - time.perf_counter())
            arrived = self._poll.poll(wait_s)
            # All of these are here by now, however long it takes to read them.
            now_s = time.perf_counter()
            for number, _ in arrived:
                self._receive(number, now_s)
        self.done.unanswered = len(self._asked_s)
        self.done.seconds = max(float(seconds), min(time.perf_counter(), began_s + seconds + PATIENCE_S) - began_s)

    def _send(self, due_s: float, now_s: float) -> None:
        number = self._free.popleft()
        possible_s = max(due_s, self._free_since_s[number])
        self._asked_s[number] = now_s, possible_s - due_s
        self._sockets[number].sendall(next(self._requests))
        self.done.late_ms.append(_ms(max(0.0, now_s - possible_s)))

    def _receive(self, number: int, now_s: float) -> None:
        answer = self._sockets[number].recv(65536)
        sent_s, waited_s = self._asked_s.pop(number)
        self.done.open_s += now_s - sent_s
        if answer.startswith(b"HTTP/1.1 204"):
            self.done.sent_ms.append(_ms(now_s - sent_s))
            self.done.due_ms.append(_ms(now_s - sent_s + waited_s))
        else:
            assert answer.startswith(b"HTTP/1.1 503"), answer[:200]
            self.done.refused += 1
        self._free.append(number)
        self._free_since_s[number] = now_s


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def main(port: str, path: str, rate: str, seconds: str, connections: str) -> None:
    """Ask, and print what became of it."""
    client = _Client(int(port), list(read_requests(Path(path).read_bytes())), int(connections))
    client.run(int(rate), int(seconds))
    print(json.dumps(msgspec.to_builtins(client.done)))


if __name__ == "__main__":
    main(*sys.argv[1:])
