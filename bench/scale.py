"""A day of mixed traffic at 1/1000, replayed from unit costs: utilization, waits of checks, and the bottleneck.

`python -m bench.scale` predicts; `--workers` and `--nodes` compare a prediction for two with a run.

The scale is one of time: 0.1% of the requests, each of which takes 1,000 times as long. A queue then has the
utilization of the real one, and waits are 1,000 times as long, so that one day can be walked through in seconds.
"""

import argparse
import heapq
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.check_heads import CheckForm, learn_form
from bench.gateway import ANSWER_204
from bench.gateway_site import SETTINGS, BenchSite, gateway
from bench.load import CONNECTIONS, load, write_requests
from bench.nginx import running_nginx
from bench.populations import Writer, sessions
from bench.processor import processor_s, settled_s
from tests.support.ports import free_port
from tests.support.processes import ServeProcess, members, serving
from tests.support.servers import postgres_server, redis_server

SCALE = 1_000
DAY_S, SLICES = 86_400, 96
# Rate of the busiest 15 minutes, relative to the mean.
PEAK = 2.0
MOST_ARRIVALS = 4_000
SEED = 17
IDLE_S = 4.0
VISITORS = 1_000
# In the first ones a visitor may come to a worker or a node that has not seen it, or not at such a rate.
ROUNDS, UNCOUNTED = 15, 7
ROOT_SECRET = "5c" * 32
# Cost of a check in nginx responses (`python -m bench.gateway`), and nginx responses per second and core.
TIMES_NGINX = {"identical": 4.1, "seen": 4.3, "first": 6.6, "challenged": 6.9, "distinct": 15.5}
NGINX_PER_S = 60_000
# By `python -m bench.run siteverify`, on a core as quick as that.
SITEVERIFY_US = 130.0
# The share of each kind of request; siteverify is added to the checks of forms.
MIX = {"seen": 0.80, "first": 0.10, "challenged": 0.10, "siteverify": 0.01}


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Unit costs. `check_us`: CPU time of a request of each kind in one worker, its event included."""

    check_us: dict[str, float] = field(
        default_factory=lambda: {
            **{kind: times * 1e6 / NGINX_PER_S for kind, times in TIMES_NGINX.items()},
            "siteverify": SITEVERIFY_US,
        }
    )
    # Extra cost of each request with a second worker on its machine, as measured. The same for each further doubling is
    # an assumption. Causes: smaller event-loop iterations, two writers of one file of events, exchanged rates.
    shared: float = 0.2
    # Limits of one server. docs/contributing/events.md and docs/scaling.md give the sources of these numbers.
    event_bytes: float = 100.0
    store_events_per_s: float = 60_000.0
    store_commits_per_s: float = 8_000.0
    redis_exchanges_per_s: float = 80_000.0
    # Requests that one exchange of a worker with Redis covers.
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
    """Return the CPU time of a request of each kind if the cluster's number of workers share a machine."""
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
        # Back to full scale: waits here are 1,000 times as long as the real ones.
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
class Contestant:
    """A measured system: the process groups or parents whose time counts, and the ports that share the connections."""

    process_ids: tuple[int, ...]
    ports: tuple[int, ...]
    file: Path
    count: int

    def used_s(self, read: Callable[[int], float]) -> float:
        """Return the CPU time of all processes."""
        return sum(read(each) for process_id in self.process_ids for each in (process_id, *members(process_id)))

    def ask(self) -> float:
        """Send all checks over all ports at once; return the responses per second."""
        began_s, share = time.monotonic(), self.count // len(self.ports)
        with ThreadPoolExecutor(len(self.ports)) as pool:
            for done in pool.map(lambda place: self._ask(place, share), range(len(self.ports))):
                assert not done, f"{done} connections were closed without an answer"
        return share * len(self.ports) / (time.monotonic() - began_s)

    def _ask(self, place: int, share: int) -> int:
        connections = CONNECTIONS // len(self.ports)
        return load(self.ports[place], self.file, share, first=place * share, connections=connections).broken


def in_turns(contestants: dict[str, Contestant], rounds: int = ROUNDS) -> dict[str, tuple[float, float]]:
    """Measure all in turns, as a machine is not always as quick: us of a check, and checks a second."""
    idle = _idle_shares(contestants)
    used: dict[str, list[float]] = {name: [] for name in contestants}
    per_s: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, each in contestants.items():
            before_s, began_s = each.used_s(processor_s), time.monotonic()
            answered = each.ask()
            took_s = each.used_s(settled_s) - before_s
            # What processes do without any check does not grow with the checks.
            took_s -= idle[name] * (time.monotonic() - began_s)
            if number >= UNCOUNTED:
                used[name].append(took_s * 1e6 / each.count)
                per_s[name].append(answered)
    # The cheapest round is the one that others on the machine disturbed least.
    return {name: (min(used[name]), statistics.median(per_s[name])) for name in contestants}


def _idle_shares(contestants: dict[str, Contestant]) -> dict[str, float]:
    """Return the share of a CPU core that each system uses without requests."""
    before_s, began_s = {name: each.used_s(settled_s) for name, each in contestants.items()}, time.monotonic()
    time.sleep(IDLE_S)
    took_s = time.monotonic() - began_s
    return {name: (each.used_s(processor_s) - before_s[name]) / took_s for name, each in contestants.items()}


def compare_workers(visitors: int) -> dict[str, float]:
    """Measure one worker and two, and nginx with one and two in the same run; predict two by the costs."""
    form = learn_form()
    with tempfile.TemporaryDirectory(prefix="agentgate-scale-") as name, ExitStack() as stack:
        folder, contestants = Path(name), {}
        for workers in (1, 2):
            started = gateway(folder / f"{workers}", AGENTGATE_WORKERS=str(workers))
            process, site = stack.enter_context(started)
            file, count = _prepare(folder / f"checks-{workers}", form, site, visitors)
            # A load generator for each worker: one that feeds two leaves each with fewer checks in a turn of its loop.
            contestants[f"workers_{workers}"] = _contestant((process,), file, count, clients=workers)
            port = free_port()
            parent = stack.enter_context(running_nginx(ANSWER_204.format(port=port), port, workers=workers))
            ids = (parent, *_children(parent))
            contestants[f"nginx_{workers}"] = Contestant(
                process_ids=ids, ports=(port,) * workers, file=file, count=count
            )
        measured = in_turns(contestants)
    factor = (
        request_us(Costs(), Cluster(nodes=1, workers=2))["seen"]
        / request_us(Costs(), Cluster(nodes=1, workers=1))["seen"]
    )
    return _figures(measured, "workers_1", "workers_2", predicted=2 / factor) | {
        "nginx_1_us": round(measured["nginx_1"][0], 1),
        "nginx_2_us": round(measured["nginx_2"][0], 1),
        "nginx_times_as_much": round(2 * measured["nginx_1"][0] / measured["nginx_2"][0], 2),
    }


def compare_nodes(visitors: int) -> dict[str, float]:
    """Measure one node on PostgreSQL and Redis, and two that share the load, by the time of the nodes themselves."""
    form = learn_form()
    with tempfile.TemporaryDirectory(prefix="agentgate-scale-") as name, ExitStack() as stack:
        folder = Path(name)
        postgres, redis = stack.enter_context(postgres_server()), stack.enter_context(redis_server())
        stores = {
            "AGENTGATE_DATABASE_URL": postgres.url,
            "AGENTGATE_REDIS_URL": redis.url,
            "AGENTGATE_ROOT_SECRET": ROOT_SECRET,
        }
        one, site = stack.enter_context(gateway(folder / "one", **stores))
        two = stack.enter_context(serving(folder / "two", **SETTINGS, **stores))
        file, count = _prepare(folder / "checks", form, site, visitors)
        measured = in_turns(
            {"nodes_1": _contestant((one,), file, count), "nodes_2": _contestant((one, two), file, count)}
        )
    # Nodes share the stores alone, which other machines have; no cost of a check grows with them.
    return _figures(measured, "nodes_1", "nodes_2", predicted=2.0)


def _prepare(path: Path, form: CheckForm, site: BenchSite, visitors: int) -> tuple[Path, int]:
    return path, write_requests(path, sessions(Writer(form, site), visitors))


def _contestant(processes: Sequence[ServeProcess], file: Path, count: int, *, clients: int = 1) -> Contestant:
    return Contestant(
        process_ids=tuple(each.process_id for each in processes),
        ports=tuple(int(each.public_url.rpartition(":")[2]) for each in processes) * clients,
        file=file,
        count=count,
    )


def _children(process_id: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]


def _figures(measured: dict[str, tuple[float, float]], one: str, two: str, *, predicted: float) -> dict[str, float]:
    """Return the printed lines of a comparison. `times_as_much`: by CPU time, and by the clock of this machine."""
    (one_us, one_per_s), (two_us, two_per_s) = measured[one], measured[two]
    return {
        f"{one}_us": round(one_us, 1),
        f"{two}_us": round(two_us, 1),
        "predicted_times_as_much": round(predicted, 2),
        "times_as_much": round(2 * one_us / two_us, 2),
        f"{one}_per_s": round(one_per_s),
        f"{two}_per_s": round(two_per_s),
        "times_as_much_by_the_clock": round(two_per_s / one_per_s, 2),
    }


STEPS = (
    (1_000, Cluster(nodes=1, workers=1)),
    (5_000, Cluster(nodes=1, workers=2)),
    (20_000, Cluster(nodes=1, workers=8)),
    (50_000, Cluster(nodes=3, workers=8)),
    (200_000, Cluster(nodes=10, workers=8)),
    (1_000_000, Cluster(nodes=48, workers=8)),
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


def cost_table() -> str:
    """Write what each kind of check costs."""
    lines = ["| A check of | Times nginx | Checks a second and core |", "| --- | ---: | ---: |"]
    lines += [f"| {kind} | {times} | {NGINX_PER_S / times:,.0f} |" for kind, times in TIMES_NGINX.items()]
    return "\n".join(lines)


def main() -> None:
    """Print the prediction, or a comparison where asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", action="store_true", help="measure one and two workers, and compare")
    parser.add_argument("--nodes", action="store_true", help="measure one and two nodes on PostgreSQL and Redis")
    parser.add_argument("--visitors", type=int, default=VISITORS, help="visits of eight pages each, to measure")
    given = parser.parse_args()
    if given.workers:
        sys.stdout.write(f"{json.dumps(compare_workers(given.visitors), indent=2)}\n")
    if given.nodes:
        sys.stdout.write(f"{json.dumps(compare_nodes(given.visitors), indent=2)}\n")
    if not (given.workers or given.nodes):
        sys.stdout.write(f"{cost_table()}\n\n{table(Costs())}\n")


if __name__ == "__main__":
    main()
