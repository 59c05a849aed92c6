"""A process that asks a service for gateway checks and `/healthz` all the time, and the table of how long they took."""

import itertools
import statistics
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.run_queue import ProcessQueue, RunQueue
from bench.wire import Wire
from tests.support.processes import ServeProcess

CHECK_S, HEALTH_S = 0.005, 0.02
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
REPEATS = 5


class Waits(Struct, frozen=True):
    """Milliseconds of checks and of `/healthz`."""

    checks: list[float]
    health: list[float]

    @property
    def worst(self) -> tuple[float, float]:
        return max(self.checks), max(self.health)

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.checks, n=100, method="inclusive")[98]


def _ask(wire: Wire, data: bytes, service: ProcessQueue, own: RunQueue) -> float:
    before, queued_s, began_s = service.waits(), own.waited_s(), time.perf_counter()
    wire.ask(data)
    took_s = time.perf_counter() - began_s
    return max(0.0, took_s - service.longest_s(before) - (own.waited_s() - queued_s)) * 1000


def _probe(url: str, process_id: int, check: bytes, pipe: Connection) -> None:
    """Ask until told to stop; report at each message how long the responses took since the last one."""
    service = ProcessQueue(process_id)
    with RunQueue(_own_id()) as own:
        checking, asking = Wire(url), Wire(url)
        waits, due_s = Waits([], []), time.perf_counter()
        for turn in itertools.count():
            waits.checks.append(_ask(checking, check, service, own))
            if turn % int(HEALTH_S / CHECK_S) == 0:
                waits.health.append(_ask(asking, HEALTH, service, own))
            if pipe.poll():
                if pipe.recv() == "end":
                    return
                pipe.send((waits.checks, waits.health))
                waits = Waits([], [])
            due_s = max(due_s + CHECK_S, time.perf_counter())
            time.sleep(max(0.0, due_s - time.perf_counter()))


def _own_id() -> int:
    return int(Path("/proc/self").resolve().name)


class Probe:
    """A process that asks a service all the time."""

    def __init__(self, process: ServeProcess, check: bytes) -> None:
        self._pipe, other = get_context("fork").Pipe()
        arguments = (process.public_url, process.process_id, check, other)
        self._process = get_context("fork").Process(target=_probe, args=arguments, daemon=True)
        self._process.start()
        self.take()

    def take(self) -> Waits:
        """Return the times since the last call."""
        self._pipe.send("take")
        return Waits(*self._pipe.recv())

    def end(self) -> None:
        self._pipe.send("end")
        self._process.join()


def show(name: str, took_ms: float, waits: Waits, more: str = "") -> None:
    check_ms, health_ms = waits.worst
    print(f"| {name} | {took_ms:,.0f} | {waits.p99:.1f} | {check_ms:.0f} | {health_ms:.0f} |{more}", flush=True)


HEAD = """| Operation | Response (ms) | Check p99 (ms) | Longest check (ms) | Longest /healthz (ms) |
| --- | ---: | ---: | ---: | ---: |"""


def measured(name: str, probe: Probe, act: Callable[[], Any], repeats: int = REPEATS) -> None:
    """Print the run with the least wait of `/healthz` of several: other programs of the machine only add."""
    runs = []
    for _ in range(repeats):
        probe.take()
        began_s = time.perf_counter()
        act()
        took_ms = (time.perf_counter() - began_s) * 1000
        time.sleep(0.1)
        runs.append((took_ms, probe.take()))
    took_ms, waits = min(runs, key=lambda run: max(run[1].worst))
    show(name, took_ms, waits)
