"""The gateway check over HTTP at full load: credential, clearance, 30 rules, 200 trees, an event for each.

`python -m bench.gateway` measures the CPU time of a check for each population, over all threads of the process, and
alternates with an nginx that returns 204 to the same bytes. It also measures the response time at half of the greatest
load, and goodput at twice the greatest load. Each population has a separate service. Every check must have left its
event; under overload some find no room.
"""

import argparse
import contextlib
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import agent_signatures
from bench.check_heads import PLAIN, learn_form
from bench.gateway_site import gateway
from bench.load import Load, LoadMissing, load, statuses_of, write_requests
from bench.nginx import nginx_program, running_nginx
from bench.populations import POPULATIONS, Population, Writer, sessions, signed
from bench.processor import kept_on, one_and_others, processor_s, processor_ticks, settled_s, stolen_share
from tests.support.ports import free_port
from tests.support.processes import ServeProcess

ANSWER_204 = "server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}\n"
SLICES = 10
# For returning visitors. Checks of new visitors are all measured, once.
REQUESTS = 60_000
SECONDS = 4
ROUNDS = 3
LOAD_VISITORS = 3_000
# As many as the proxies of a large site hold, and of a very large one. What finds none free waits over there.
MANY_CONNECTIONS = (400, 1_600)
MOST_FILES = 16_384
# Each counts once, and waits for a commit.
SIGNED_ONCE, SIGNED_PER_S = 4_000, 1_000
EVENTS_S = 30.0
MOST_REFUSED = 0.02


class Cost(NamedTuple):
    """The CPU time of a check, and of nginx's response to the same bytes."""

    name: str
    checks: list[Load]
    check_us: float
    nginx_us: float
    # The least and the greatest of the slices.
    least: float
    most: float

    @property
    def ratio(self) -> float:
        """The cost of a check, in nginx responses."""
        return self.check_us / self.nginx_us

    def row(self) -> str:
        """Return a line of the table."""
        statuses = ", ".join(f"{count} x {status}" for status, count in statuses_of(self.checks).items())
        figures = f"{self.check_us:9.1f}{self.nginx_us:9.1f}{self.ratio:8.2f}  {self.least:5.2f} to {self.most:5.2f}"
        return f"{self.name:<22}{figures}   {statuses}"


class Bench:
    """A running service with its site, and an nginx on the same machine."""

    def __init__(self, process: ServeProcess, writer: Writer, folder: Path, nginx: tuple[int, int]) -> None:
        self.process = process
        self.writer = writer
        self.port = int(process.public_url.rpartition(":")[2])
        self._folder = folder
        self._nginx_id, self.nginx_port = nginx
        # All checks with a response, which must have left events, and checks that may have found no room for them.
        self._loads: list[Load] = []
        self.overloaded = 0

    def prepare(self, checks: Iterator[bytes]) -> tuple[Path, int]:
        """Write checks to a file; return where, and how many there are."""
        path = self._folder / f"checks-{len(list(self._folder.iterdir()))}"
        return path, write_requests(path, checks)

    def ask(self, file: Path, count: int, **how: float) -> Load:
        """Send checks to the service."""
        done = load(self.port, file, count, **how)
        assert not done.broken, f"the service closed {done.broken} connections without an answer"
        self._loads.append(done)
        return done

    def compare(self, name: str, file: Path, total: int) -> Cost:
        """Measure so many checks in slices, in turns with nginx."""
        length = max(total // SLICES, 1)
        checks, used = [], []
        mine, others = one_and_others()
        with kept_on(((self.process.process_id, mine), (self._nginx_id, mine), (os.getpid(), others))):
            for first in range(0, total - length + 1, length):
                before_s = settled_s(self.process.process_id)
                checks.append(self.ask(file, length, first=first))
                check_s = settled_s(self.process.process_id) - before_s
                before_s = processor_s(self._nginx_id)
                load(self.nginx_port, file, length, first=first)
                used.append((check_s, processor_s(self._nginx_id) - before_s))
        ratios = [check_s / nginx_s for check_s, nginx_s in used]
        check_us, nginx_us = (sum(each) * 1e6 / (length * len(used)) for each in zip(*used, strict=True))
        return Cost(name, checks, check_us, nginx_us, min(ratios), max(ratios))

    def peak(self, file: Path, seconds: float) -> float:
        """Return the maximum throughput in checks per second."""
        count = int(self.ask(file, 2_000).per_s * seconds)
        done = self.ask(file, max(count, 2_000))
        self.overloaded += done.answered
        return done.good_per_s

    def compare_events(self) -> dict[str, float]:
        """Fail if an event is missing that was not counted as failed."""
        decided = sum(done.answered - done.statuses.get(503, 0) for done in self._loads)
        open_checks = sum(done.unanswered for done in self._loads)
        deadline_s = time.monotonic() + EVENTS_S
        with self.process.admin() as operator:
            while (counted := _counted(operator.call("GET", "/metrics").body))["events_waiting"]:
                assert time.monotonic() < deadline_s, counted
                time.sleep(0.2)
        stored, failed = counted["events_stored_total"], counted["event_write_failures_total"]
        assert decided <= stored + failed <= decided + open_checks, f"{counted}, {decided} checks were decided"
        assert failed <= self.overloaded, f"{failed} events found no room, {self.overloaded} came under overload"
        return {"events": stored, "events_failed": failed}


def _counted(text: bytes) -> dict[str, float]:
    """Return the counters of events, by name without `agentgate_`."""
    found = dict.fromkeys(("events_waiting", "events_stored_total", "event_write_failures_total"), 0.0)
    for line in text.decode().splitlines():
        name = line.partition("{")[0].partition(" ")[0].removeprefix("agentgate_")
        if name in found:
            found[name] += float(line.rpartition(" ")[2])
    return found


@contextlib.contextmanager
def bench(*, plain: bool = False) -> Iterator[Bench]:
    """Start a service and nginx, with room for many connections. Checks come as nginx sends them, or plain."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MOST_FILES)), hard))
    port, form = free_port(), PLAIN if plain else learn_form()
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as name:
        folder = Path(name)
        checks = folder / "checks"
        checks.mkdir()
        with (
            gateway(folder / "service") as (process, site),
            running_nginx(ANSWER_204.format(port=port), port) as nginx_id,
        ):
            yield Bench(process, Writer(form, site), checks, (nginx_id, port))


def costs(name: str, visitors: int = 0, requests: int = 0, *, plain: bool = False) -> Iterator[Cost]:
    """Measure a population: first as new visitors, then as returning visitors."""
    chosen: Population = POPULATIONS[name]
    with bench(plain=plain) as running:
        file, count = running.prepare(chosen.checks(running.writer, visitors or chosen.visitors))
        new = min(requests or count, count)
        if chosen.is_new:
            yield running.compare(f"{name}, new" if chosen.is_seen else name, file, new)
        if chosen.is_seen:
            if not chosen.is_new:
                running.ask(file, count)
            total = new if chosen.is_new else requests or max(REQUESTS, count)
            yield running.compare(f"{name}, seen", file, total)
        running.compare_events()


def load_figures(seconds: int = SECONDS) -> dict[str, float]:
    """Measure responses at half and at twice the greatest load, for returning visitors of all kinds."""
    with bench() as running:
        file, count = running.prepare(sessions(running.writer, LOAD_VISITORS))
        running.ask(file, count)
        figures = _half_load(running, file, seconds)
        for connections in MANY_CONNECTIONS:
            figures |= _overload(running, file, connections, seconds)
        return figures | running.compare_events()


def _half_load(running: Bench, file: Path, seconds: int) -> dict[str, float]:
    """Send checks at a constant rate, alternating with nginx. Response times count from when the check was due.

    The best round of each is returned: a shared CPU can be unavailable for longer than a response takes. The result
    includes the stolen share of CPU time, and the response times of nginx, which does next to nothing.
    """
    peak_per_s = running.peak(file, seconds)
    rate, before = peak_per_s / 2, processor_ticks()
    count = int(rate * seconds)
    ask_nginx = partial(load, running.nginx_port)
    checks, others = [], []
    for _ in range(ROUNDS):
        checks.append(running.ask(file, count, rate=rate))
        others.append(ask_nginx(file, count, rate=rate))
    best, nginx = (min(several, key=lambda done: done.due_ms[2]) for several in (checks, others))
    return {
        "peak_per_s": peak_per_s,
        "half_load_per_s": best.good_per_s,
        "half_load_p50_ms": best.due_ms[0],
        "half_load_p99_ms": best.due_ms[2],
        "client_late_p99_ms": best.late_ms[2],
        "half_load_nginx_p99_ms": nginx.due_ms[2],
        "half_load_stolen": stolen_share(before),
    }


def _overload(running: Bench, file: Path, connections: int, seconds: int) -> dict[str, float]:
    """Send twice the maximum throughput, independently of responses, over connections that are full all the time.

    The client has a separate CPU core, here and while the maximum is measured. That happens just before and just after,
    because a check costs more as the day's events accumulate.
    """
    mine, others = one_and_others()
    with kept_on(((running.process.process_id, mine), (os.getpid(), others))):
        before_per_s = running.peak(file, seconds)
        rate = 2 * before_per_s
        done = running.ask(file, int(rate * seconds), rate=rate, connections=connections)
        peak_per_s = max(before_per_s, running.peak(file, seconds))
    running.overloaded += done.answered
    return {
        f"overload_{connections}_asked": done.per_s / peak_per_s,
        f"overload_{connections}_full": done.in_flight / connections,
        f"overload_{connections}_goodput": done.good_per_s / peak_per_s,
        f"overload_{connections}_p99_ms": done.sent_ms[2],
    }


def signed_once() -> dict[str, float]:
    """Measure signed requests that count once and wait for a commit each; compare with the bare signature check."""
    with bench() as running:
        file, count = running.prepare(signed(running.writer, SIGNED_ONCE, nonce=True))
        before_s = settled_s(running.process.process_id)
        done = running.ask(file, count, rate=SIGNED_PER_S)
        used_s = settled_s(running.process.process_id) - before_s
        _compare_statuses("signed once", done.statuses, 204)
        running.compare_events()
    return {
        "signed_once_us": used_s * 1e6 / done.answered,
        "signed_once_per_s": done.per_s,
        "ed25519_us": agent_signatures.measure()["ed25519_us"],
    }


def measure() -> dict[str, float | str]:
    """Return every figure, for `make bench`; without nginx or a C compiler, why not."""
    if nginx_program() is None:
        return {"skipped": "nginx is not installed"}
    figures: dict[str, float | str] = {}
    try:
        for name, chosen in POPULATIONS.items():
            for cost in costs(name):
                key = cost.name.replace(", ", "_")
                _compare_statuses(key, statuses_of(cost.checks), chosen.expected)
                figures |= {f"{key}_us": cost.check_us, f"{key}_nginx_us": cost.nginx_us, f"{key}_ratio": cost.ratio}
        return figures | load_figures() | signed_once()
    except LoadMissing as missing:
        return {"skipped": str(missing)}


def _compare_statuses(name: str, statuses: dict[int, int], expected: int) -> None:
    """Fail on wrong responses. A few may have been rejected for lack of time if others use the machine too."""
    assert set(statuses) <= {expected, 503}, f"{name}: {statuses}"
    assert statuses.get(503, 0) <= MOST_REFUSED * sum(statuses.values()), f"{name}: {statuses}"


def main() -> None:
    """Print a table of the chosen populations, and the other measurements."""
    listed = "\n".join(f"  {name:<12}{each.meaning} ({each.visitors:,})" for name, each in POPULATIONS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench.gateway",
        description=__doc__,
        epilog=f"populations (visitors):\n{listed}\n  load        half and twice the greatest load\n"
        "  once        requests that an agent signed and that count once",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*POPULATIONS, "load", "once"]
    parser.add_argument("--population", action="append", choices=names, help="may be given again; all without")
    parser.add_argument("--visitors", type=int, default=0, help="how many, in place of the usual number")
    parser.add_argument("--requests", type=int, default=0, help="checks to measure, at most")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="checks of populations with the contract's headers only, not as nginx sends them",
    )
    parser.add_argument("--seconds", type=int, default=SECONDS, help="of each load")
    given = parser.parse_args()
    chosen = given.population or names
    if set(chosen) & set(POPULATIONS):
        print(f"{'population':<22}{'us/check':>9}{'us/nginx':>9}{'ratio':>8}  {'slices':<14}   statuses")
    for name in chosen:
        if name in POPULATIONS:
            for cost in costs(name, given.visitors, given.requests, plain=given.plain):
                print(cost.row(), flush=True)
        else:
            for figure, value in (load_figures(given.seconds) if name == "load" else signed_once()).items():
                print(f"{figure:<27}{value:>11.2f}", flush=True)


if __name__ == "__main__":
    main()
