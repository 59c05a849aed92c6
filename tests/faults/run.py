"""Runs a plan: starts the installation and the clients, lets the fault strike, and compares what is left."""

import itertools
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.faults import FAULTS
from tests.faults.place import GONE, Place, installation
from tests.faults.plan import Plan
from tests.faults.workloads import CLIENTS, PAUSE_S, WORKLOADS, Checks, Workload

SETTLE_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Report:
    """Results of a run."""

    plan: Plan
    kind: str
    acknowledged: dict[str, int]
    unanswered: dict[str, int]
    # Gateway checks that no node could decide; during that time proxies block their visitors.
    failed_checks: int
    problems: tuple[str, ...]

    def __str__(self) -> str:
        """Say it in a line."""
        done = ", ".join(f"{count} {name}" for name, count in self.acknowledged.items())
        left = f"{sum(self.unanswered.values())} unanswered, {self.failed_checks} checks failed"
        return f"{self.plan} ({self.kind}): {done}, {left}, {len(self.problems)} problems"


class Clients:
    """The clients of one workload: each goes to the next node when one does not respond."""

    def __init__(self, name: str, workload: Workload, place: Place, stop: threading.Event) -> None:
        self.name, self._workload, self._place, self._stop = name, workload, place, stop
        self.unanswered = 0
        self.failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def _run(self, number: int) -> None:
        draw = self._place.plan.draw(self.name, number)
        nodes = itertools.cycle(self._place.nodes[number % len(self._place.nodes) :] + self._place.nodes[:number])
        node = next(nodes)
        try:
            while not self._stop.is_set():
                try:
                    self._workload.step(node, draw)
                except GONE:
                    self.unanswered += 1
                    node = next(nodes)
                    time.sleep(PAUSE_S)
                self._stop.wait(_pause(draw))
        except BaseException as error:  # noqa: BLE001 - told by join()
            self.failures.append(error)
        finally:
            self._workload.release()


def _pause(draw: random.Random) -> float:
    # Not flat out: what is looked for are races and losses, and the machine has others to serve.
    return draw.uniform(0, 2 * PAUSE_S)


def run(plan: Plan, kind: str, folder: Path) -> Report:
    """Run a plan on a new installation."""
    with installation(kind, folder, plan) as place:
        workloads = {name: WORKLOADS[name](place) for name in plan.workloads}
        stop = threading.Event()
        clients = [Clients(name, workload, place, stop) for name, workload in workloads.items()]
        try:
            for strike in plan.strikes:
                time.sleep(strike.after_s)
                FAULTS[strike.fault].strike(place, strike)
            time.sleep(SETTLE_S)
        finally:
            stop.set()
            for each in clients:
                each.join()
        place.wait_until_well()
        problems = [f"{name}: {line}" for name, workload in workloads.items() for line in workload.problems()]
        for workload in workloads.values():
            workload.release()
        unanswered = {each.name: each.unanswered for each in clients}
        return Report(
            plan=plan,
            kind=kind,
            acknowledged={name: workload.acknowledged for name, workload in workloads.items()},
            unanswered=unanswered,
            failed_checks=unanswered.get("checks", 0) + _undecided(workloads),
            problems=tuple(problems),
        )


def _undecided(workloads: dict[str, Workload]) -> int:
    checks = workloads.get("checks")
    return sum(check.status >= 500 for check in checks.checks) if isinstance(checks, Checks) else 0


def pairs() -> Iterator[tuple[str, str, str]]:
    """Return the product: every workload under every fault on every installation that the fault can strike."""
    for name, fault in FAULTS.items():
        for kind in fault.kinds:
            for workload in WORKLOADS:
                yield workload, name, kind
