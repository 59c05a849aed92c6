"""Two sets of gateways, one compiled and one in Python, which get the same requests over sockets.

Both have the same sites, keys, models and clock, so responses, events with their IDs, and counters must be equal to the
byte. Each set has two workers that count on shared boards.
"""

import random
import re
import socket
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from msgspec.structs import replace

from agentgate.browser_check.tokens.clearance import ClearanceHolder
from agentgate.decision.rates.board import board_bytes, open_boards
from agentgate.decision.rates.windows import RateWindows
from agentgate.events.records import Event, Repeated
from agentgate.http.connection.listener import Listener, ListenerOptions
from agentgate.http.connection.state import ConnectionLimits
from agentgate.lib import base64url
from agentgate.lib.enums import ClearanceLevel
from agentgate.lib.tagged_text import TAG_BYTES
from tests.api.public.cached_gateway import NONCE, Proxy, Side, change_something, models_of
from tests.http.wire import EchoApp
from tests.population.sent import Sent
from tests.population.traffic import traffic
from tests.support.gateway import ORIGIN, Gate
from tests.support.service import RunningService

WORKERS = 2
# Each listener writes the date that it read last.
DATE = re.compile(rb"\r\ndate: [^\r]*")
# A sealed denial may contain a nonce, and then its tag differs too. Other denials are one word.
SEAL = re.compile(rb"(?<=x-service-denial: )[\w-]{23,}")
CHECK_PATH = b"/v1/gateway/check"
# Subresources and calls are about 30% of all requests.
PARTS_SHARE = 0.02
ODD_SHARE = 0.1
CHANGED_EVERY = 1_000
REQUEST_IDS = ("7f3a9c", "0af7651916cd43dd8448eb211c80319c", "Root=1-67891233-abcdef", "a b", "x" * 300, "é", "a;b")
TRACES = (
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)
# As adapters omit them.
OMITTED = frozenset(("host", "connection", "te", "content-length", "transfer-encoding"))
FORMS = ("", "", "?ok=200", "?respond=denial", "?respond=denial", "?respond=denial", "?respond=visitor&ok=200")


def _content(seal: re.Match[bytes]) -> bytes:
    return base64url.decode(seal[0].decode())[TAG_BYTES:]


class Totals(NamedTuple):
    """The requests of a run, how many of them Python checked, the subresources and calls, and the status lines."""

    requests: int
    left: int
    parts: int
    statuses: set[bytes]


class Member:
    """A worker of a set, with its listener and a connection to it."""

    def __init__(self, service: RunningService, side: Side) -> None:
        self._service = service
        self.side = side
        self.listener = Listener(
            EchoApp(),
            ListenerOptions(limits=ConnectionLimits(keep_alive_s=600.0)),
            clock=service.application.clock,
            hot_paths={CHECK_PATH: side.gate},
        )
        service.run(self.listener.start())
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(self.listener.address, timeout=10)

    def ask(self, data: bytes) -> bytes:
        """Return the response; after the service has closed the connection, with an end that shows it."""
        self._socket.sendall(data)
        received = b""
        while b"\r\n\r\n" not in received:
            more = self._socket.recv(65_536)
            if not more:
                break
            received += more
        head, end, body = received.partition(b"\r\n\r\n")
        length = next((int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"content-length: ")), 0)
        while len(body) < length:
            body += self._socket.recv(65_536)
        if b"\r\nconnection: close" in head or not end:
            self._socket.close()
            self._connect()
        return NONCE.sub(b"", SEAL.sub(_content, DATE.sub(b"", head, count=1))) + end + body

    def take_events(self) -> list[Event]:
        """Return the events that were recorded since the last time, and none of them is kept."""
        queue, self.side.recorder._queue[:] = list(self.side.recorder._queue), []
        whole = (event.whole() if isinstance(event, Repeated) else event for event in queue)
        return [replace(event, duration_us=0) for event in whole]

    def counts(self) -> dict[Any, int]:
        """Return the counters that leave no event."""
        return {key: waiting.counted for key, waiting in self.side.recorder._counts.sums.items()}

    def close(self) -> None:
        """Close the connection and the listener."""
        self._socket.close()
        self._service.run(self.listener.drain(0))


class Pair:
    """Both sets."""

    def __init__(self, service: RunningService, module: ModuleType) -> None:
        self.service = service
        self.left = 0
        models = models_of("figures")
        self.members: list[tuple[Member, Member]] = []
        memories = [memoryview(bytearray(board_bytes(WORKERS))) for _ in range(2)]
        for worker in range(WORKERS):
            sides = []
            for memory in memories:
                boards = open_boards(memory, own=worker, secret=b"secret")
                rates = RateWindows(sharing=boards.rates, pages=boards.pages)
                sides.append(Side(service.application, models, rates=rates, worker=worker + 1))
            compiled, plain = sides
            compiled.gate.take = module.CompiledCheck(compiled.gate, self._count_left(compiled.gate.take_plainly)).take
            plain.gate.take = plain.gate.take_plainly
            self.members.append((Member(service, compiled), Member(service, plain)))

    def _count_left(self, take: Any) -> Any:
        def counting(data: bytes) -> Any:
            self.left += 1
            return take(data)

        return counting

    def compare(self, data: bytes, worker: int) -> bytes:
        """Send a request to a worker of each set, and compare the responses and events."""
        compiled, plain = self.members[worker]
        found, expected = compiled.ask(data), plain.ask(data)
        assert found == expected, (found, expected, data)
        assert compiled.take_events() == plain.take_events(), data
        return found

    def compare_counters(self) -> None:
        """Compare the counters, and what is known of visitors."""
        for compiled, plain in self.members:
            assert compiled.counts() == plain.counts()
            assert compiled.side.gate.misses == plain.side.gate.misses

    def close(self) -> None:
        """Close all listeners."""
        for members in self.members:
            for member in members:
                member.close()


class Writer:
    """Writes the checks of a population's requests, in each form that adapters have."""

    def __init__(self, gates: list[Gate], side: Side, chance: random.Random) -> None:
        self._gates = gates
        self._side = side
        self._chance = chance
        # By site, address and browser.
        self._clearances: dict[tuple[str, str, str], str] = {}

    def write(self, sent: Sent, now_ms: int) -> bytes:
        """Return the check of a request, sometimes with a clearance and with IDs from elsewhere."""
        chance, gate = self._chance, self._gates[chance_of(self._chance, len(self._gates))]
        headers = [each for each in sent.headers if each[0].lower() not in OMITTED]
        agent = next((value for name, value in headers if name.lower() == "user-agent"), "")
        if hash(sent.address) % 3 == 0 or chance.random() < 0.05:
            headers = self._with_cookie(headers, self._clearance(gate, sent.address, agent, now_ms))
        if chance.random() < 0.5:
            headers += [("X-Request-ID", chance.choice(REQUEST_IDS)), ("traceparent", chance.choice(TRACES))]
        form = chance.choice(FORMS)
        if "respond" in form:
            host = chance.choice(("", "host=shop.example ", "host=shop.example ", "host=other.example "))
            own = [
                ("Host", "shop.example"),
                ("X-AgentGate-Secret", gate.secret),
                ("X-AgentGate-Request", f"{sent.method} {sent.address} {host}{sent.url}"),
            ]
        else:
            own = [
                ("Host", "gate.example"),
                ("Authorization", f"Bearer {gate.secret}"),
                ("X-Original-Method", sent.method),
                ("X-Original-URL", sent.url),
                ("X-Original-Address", sent.address),
            ]
        lines = [f"GET {CHECK_PATH.decode()}{form} HTTP/1.1", *(f"{name}: {value}" for name, value in (*own, *headers))]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def _clearance(self, gate: Gate, address: str, agent: str, now_ms: int) -> str:
        key = (gate.site_key, address, agent)
        if key not in self._clearances or self._chance.random() < 0.02:
            level = self._chance.choice((ClearanceLevel.CHECKED, ClearanceLevel.CHECKED, ClearanceLevel.LOW))
            holder = ClearanceHolder(address, agent.encode())
            made = self._side.clearances.issue(
                site_key=gate.site_key, origin=ORIGIN, holder=holder, level=level, now_ms=now_ms
            )
            self._clearances[key] = f"{made.name}={made.value}"
        return self._clearances[key]

    @staticmethod
    def _with_cookie(headers: list[tuple[str, str]], clearance: str) -> list[tuple[str, str]]:
        given = [(name, f"{value}; {clearance}") for name, value in headers if name.lower() == "cookie"]
        rest = [each for each in headers if each[0].lower() != "cookie"]
        return [*rest, *(given or [("Cookie", clearance)])]


def chance_of(chance: random.Random, count: int) -> int:
    """Return the first site most of the time, because a visit stays at one."""
    return 0 if chance.random() < 0.8 else chance.randrange(count)


def some_traffic(seed: int, chance: random.Random) -> Iterator[Sent]:
    """Yield a population's requests without end, with a part of the subresources and calls, many of them twice."""
    while True:
        for sent in traffic(seed, page_views=400, unwanted=40):
            if sent.is_navigation or not sent.view or chance.random() < PARTS_SHARE * 10:
                yield sent
                if chance.random() < 0.3:
                    yield sent
        seed += chance.randrange(2)


def compare_traffic(service: RunningService, module: ModuleType, *, requests: int, seed: int) -> Totals:
    """Compare so many requests while sites change and minutes pass."""
    chance = random.Random(seed)
    gates = [Gate(service), Gate(service, mode="monitor")]
    pair = Pair(service, module)
    try:
        side = pair.members[0][0].side
        writer, odd = Writer(gates, side, chance), Proxy(gates[0], side, seed)
        odd.clear(service.clock.now_ms())
        statuses: set[bytes] = set()
        parts = 0
        population = some_traffic(seed, chance)
        for number in range(requests):
            if number % CHANGED_EVERY == CHANGED_EVERY - 1:
                change_something(service, chance.choice(gates), chance)
                odd.clear(service.clock.now_ms())
                pair.compare_counters()
            if chance.random() < ODD_SHARE:
                data = odd.request().data
            else:
                sent = next(population)
                parts += not sent.is_navigation
                data = writer.write(sent, service.clock.now_ms())
            statuses.add(pair.compare(data, chance.randrange(WORKERS))[:12])
            if chance.random() < 0.5:
                service.clock.advance(ms=chance.choice((1, 2, 40, 40, 200)))
            if chance.random() < 0.001:
                service.clock.advance(ms=chance.choice((60_000, 125_000, 3_700_000)))
        pair.compare_counters()
    finally:
        pair.close()
    return Totals(requests, pair.left, parts, statuses)
