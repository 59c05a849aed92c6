"""A day of mixed traffic at 1/1000, replayed from unit costs: how full each part is, how long checks wait, what is
full first. `python -m bench.scale` predicts; `--measure` measures one worker, predicts two by its costs, and
compares that with a run of two.

The scale is one of time: a thousandth of the requests, each of which takes a thousand times as long. A queue then is as
full as the real one, and waits are a thousand times as long, so that one day can be walked through in seconds.
"""

import argparse
import heapq
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.check_heads import learn_form
from bench.gateway_site import gateway
from bench.load import load, write_requests
from bench.populations import Writer, sessions
from bench.processor import settled_s
from tests.support.processes import members

SCALE = 1_000
DAY_S, SLICES = 86_400, 96
# The busiest quarter of an hour has so many times the mean.
PEAK = 2.0
MOST_ARRIVALS = 4_000
SEED = 17
VISITORS = 1_500
IDLE_S = 4.0
ROUNDS = 7
# The share of each kind of request; siteverify comes beside the checks of forms.
MIX = {"seen": 0.80, "first": 0.10, "challenged": 0.10, "siteverify": 0.01}


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Unit costs. `check_us`: processor time of a request of each kind in one worker, its event included."""

    check_us: dict[str, float] = field(
        default_factory=lambda: {"seen": 78.0, "first": 245.0, "challenged": 245.0, "siteverify": 130.0}
    )
    # What a further worker adds to each request on its machine: the owner of the shared cache, caches of its own.
    shared: float = 0.02
    # What one server takes: docs/events.md and docs/scaling.md say where the figures come from.
    event_bytes: float = 100.0
    store_events_per_s: float = 60_000.0
    store_commits_per_s: float = 8_000.0
    redis_exchanges_per_s: float = 80_000.0
    # One exchange of a worker with Redis tells of so many requests.
    requests_per_exchange: float = 20.0


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """How many machines there are, and workers on each."""

    nodes: int
    workers: int

    @property
    def all_workers(self) -> int:
        """The workers of all machines."""
        return self.nodes * self.workers


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A day at full scale."""

    mean_per_s: float
    peak_per_s: float
    # How full each part is in the busiest quarter of an hour; 1 is all of it.
    full: dict[str, float]
    p50_ms: float
    p99_ms: float
    events_gb_a_day: float

    @property
    def first_full(self) -> str:
        """The part that is fullest."""
        return max(self.full, key=lambda name: self.full[name])

    @property
    def most_per_s(self) -> float:
        """How many requests a second the fullest part allows."""
        return self.peak_per_s / self.full[self.first_full]


def request_us(costs: Costs, cluster: Cluster) -> dict[str, float]:
    """Return the processor time of a request of each kind where so many workers share a machine."""
    factor = 1 + costs.shared * math.log2(cluster.workers)
    return {kind: cost * factor for kind, cost in costs.check_us.items()}


def rates(mean_per_s: float) -> Iterator[float]:
    """Yield the rate of each slice of a day: least at night, `PEAK` times the mean at its busiest."""
    for number in range(SLICES):
        yield mean_per_s * (1 + (PEAK - 1) * math.cos(2 * math.pi * (number / SLICES - 0.6)))


def predict(mean_per_s: float, cluster: Cluster, costs: Costs, *, seed: int = SEED) -> Prediction:
    """Replay a day and return what it is like at full scale."""
    draw = random.Random(seed)
    cost_us, shares = request_us(costs, cluster), list(MIX.values())
    waits_s: list[float] = []
    for rate in rates(mean_per_s):
        arrivals = min(MOST_ARRIVALS, max(1, round(rate * DAY_S / SLICES / SCALE)))
        kinds = draw.choices(list(MIX), shares, k=arrivals)
        services_s = [cost_us[kind] * SCALE / 1e6 for kind in kinds]
        waits_s += _queue(draw, rate / SCALE, services_s, cluster)
    waits_s.sort()
    peak = max(rates(mean_per_s))
    mean_us = sum(cost_us[kind] * share for kind, share in MIX.items()) / sum(shares)
    checks = 1 - MIX["siteverify"] / sum(shares)
    full = {
        "processors of the workers": peak * mean_us / 1e6 / cluster.all_workers,
        "events into one store": peak * checks / costs.store_events_per_s,
        "commits of spent tokens": peak * (1 - checks) / costs.store_commits_per_s,
        "Redis": peak / costs.requests_per_exchange / costs.redis_exchanges_per_s if cluster.nodes > 1 else 0.0,
    }
    return Prediction(
        mean_per_s=mean_per_s,
        peak_per_s=peak,
        full=full,
        # Back to full scale: a wait there is a thousandth of the one here.
        p50_ms=waits_s[len(waits_s) // 2],
        p99_ms=waits_s[len(waits_s) * 99 // 100],
        events_gb_a_day=mean_per_s * checks * costs.event_bytes * DAY_S / 1e9,
    )


def _queue(draw: random.Random, rate: float, services_s: list[float], cluster: Cluster) -> list[float]:
    """Return how long each request takes at workers that each have a queue: the kernel deals connections out."""
    free_s = [0.0] * cluster.all_workers
    heapq.heapify(free_s)
    now_s, took_s = 0.0, []
    for service_s in services_s:
        now_s += draw.expovariate(rate)
        begins_s = max(now_s, heapq.heappop(free_s))
        heapq.heappush(free_s, begins_s + service_s)
        took_s.append(begins_s + service_s - now_s)
    return took_s


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Processor time of a check, all processes of the service together, and how many were answered a second."""

    new_us: float
    seen_us: float
    seen_per_s: float

    def per_processor_second(self) -> float:
        """How many checks of visitors who were seen before a processor answers in a second."""
        return 1e6 / self.seen_us


def measure(workers: int, visitors: int = VISITORS) -> Measured:
    """Run a service with so many workers; visits of eight pages, new and then once more."""
    form = learn_form()
    with tempfile.TemporaryDirectory(prefix="agentgate-scale-") as name:
        folder = Path(name)
        with gateway(folder / "service", AGENTGATE_WORKERS=str(workers)) as (process, site):
            file = folder / "checks"
            count = write_requests(file, sessions(Writer(form, site), visitors))
            port = int(process.public_url.rpartition(":")[2])
            used_us, per_s = [], 0.0
            idle = _idle_share(process.process_id)
            # A visitor may come to another worker in each round, where nobody has seen it.
            for _ in range(ROUNDS):
                before_s, began_s = _used_s(process.process_id), time.monotonic()
                done = load(port, file, count)
                assert not done.broken
                used_s = _used_s(process.process_id) - before_s
                # What processes do without any check does not grow with the checks.
                used_us.append((used_s - idle * (time.monotonic() - began_s)) * 1e6 / count)
                per_s = max(per_s, done.per_s)
    # The cheapest round is the one in which every worker had seen those who came to it.
    return Measured(new_us=used_us[0], seen_us=min(used_us[1:]), seen_per_s=per_s)


def _used_s(process_id: int) -> float:
    return sum(settled_s(each) for each in (process_id, *members(process_id)))


def _idle_share(process_id: int) -> float:
    """Return which share of a processor all processes use together when nobody asks anything."""
    before_s, began_s = _used_s(process_id), time.monotonic()
    time.sleep(IDLE_S)
    return (_used_s(process_id) - before_s) / (time.monotonic() - began_s)


def compare(visitors: int) -> dict[str, float]:
    """Measure one worker, predict two by its costs, measure two."""
    one, two = measure(1, visitors), measure(2, visitors)
    costs = Costs(check_us={**Costs().check_us, "seen": one.seen_us})
    factor = request_us(costs, Cluster(nodes=1, workers=2))["seen"] / one.seen_us
    return {
        "one_us": round(one.seen_us, 1),
        "two_us": round(two.seen_us, 1),
        "predicted_times_as_much": round(2 / factor, 2),
        # By processor time: a machine that does something else as well slows answers, and not this.
        "measured_times_as_much": round(2 * one.seen_us / two.seen_us, 2),
        "one_per_s": round(one.seen_per_s),
        "two_per_s": round(two.seen_per_s),
    }


STEPS = (
    (1_000, Cluster(nodes=1, workers=1)),
    (5_000, Cluster(nodes=1, workers=2)),
    (20_000, Cluster(nodes=1, workers=8)),
    (50_000, Cluster(nodes=2, workers=8)),
    (200_000, Cluster(nodes=8, workers=8)),
    (1_000_000, Cluster(nodes=38, workers=8)),
)


def table(costs: Costs) -> str:
    """Write the steps to a million checks a second."""
    lines = [
        "| Mean a second | Machines x workers | Full first at the busiest | How full | p50, p99 | Events a day |",
        "| ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for mean_per_s, cluster in STEPS:
        day = predict(mean_per_s, cluster, costs)
        share, waits = day.full[day.first_full], f"{day.p50_ms:.2f}, {day.p99_ms:.2f} ms"
        waits = waits if day.full["processors of the workers"] < 1 else "without end"
        lines.append(
            f"| {mean_per_s:,} | {cluster.nodes} x {cluster.workers} | {day.first_full} | {share:.0%} | {waits}"
            f" | {day.events_gb_a_day:,.0f} GB |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the prediction, and the comparison where asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure one and two workers, and compare")
    parser.add_argument("--visitors", type=int, default=VISITORS, help="visits of eight pages each (with --measure)")
    parser.add_argument("--seen-us", type=float, help="processor time of a check of a visitor who was seen before")
    given = parser.parse_args()
    costs = Costs()
    if given.seen_us:
        costs = replace(costs, check_us={**costs.check_us, "seen": given.seen_us})
    if given.measure:
        sys.stdout.write(f"{json.dumps(compare(given.visitors), indent=2)}\n")
    sys.stdout.write(f"{table(costs)}\n")


if __name__ == "__main__":
    main()
