"""The plan of a run: which workloads, which faults, when each strikes and for how long. All comes from one seed."""

import random
from dataclasses import dataclass

LEAST_BEFORE_S, MOST_BEFORE_S = 0.3, 1.0
LEAST_S, MOST_S = 0.4, 1.6


@dataclass(frozen=True, kw_only=True)
class Strike:
    """One stroke of a fault: how long after the one before, and how long it lasts."""

    fault: str
    after_s: float
    lasts_s: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run does."""

    seed: int
    workloads: tuple[str, ...]
    strikes: tuple[Strike, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults in their order."""
        return tuple(strike.fault for strike in self.strikes)

    def draw(self, *names: object) -> random.Random:
        """Return the source of chance of one part of the run, so that no part disturbs another one's."""
        return random.Random(f"{self.seed} {self.faults} {names}")

    def __str__(self) -> str:
        """Name the run so that it can be repeated."""
        return f"FAULT_SEED={self.seed} {' + '.join(self.faults)} x {', '.join(self.workloads)}"


def make_plan(seed: int, faults: tuple[str, ...], workloads: tuple[str, ...]) -> Plan:
    """Draw a plan."""
    draw = random.Random(f"{seed} {faults} {workloads}")
    strikes = tuple(
        Strike(fault=fault, after_s=draw.uniform(LEAST_BEFORE_S, MOST_BEFORE_S), lasts_s=draw.uniform(LEAST_S, MOST_S))
        for fault in faults
    )
    return Plan(seed=seed, workloads=workloads, strikes=strikes)
