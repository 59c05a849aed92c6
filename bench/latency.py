"""Response time for one client: a cold admin read, and `/healthz` as a measure of the machine."""

import statistics
import time
from typing import NamedTuple

from bench.wire import Wire, connected, request
from tests.support.processes import ServeProcess

SITES = "/v1/admin/sites"
SITE_COUNT, CREDENTIAL_COUNT, CHANGE_COUNT = 20, 3, 30
READ_KEY = "site_read_0"
HEALTH = request("GET", "/healthz")
READ = request("GET", f"{SITES}/{READ_KEY}")
ROUND = 100


class Latency(NamedTuple):
    """Milliseconds."""

    p50_ms: float
    p95_ms: float
    p99_ms: float


def fill(process: ServeProcess) -> None:
    """Make twenty sites; the one that is read has three credentials and thirty changes."""
    with process.admin() as operator:
        for number in range(SITE_COUNT):
            body = {"name": f"Site {number}", "siteKey": f"site_read_{number}"}
            assert operator.call("POST", SITES, body).status == 201
        for _ in range(CREDENTIAL_COUNT):
            assert operator.call("POST", f"{SITES}/{READ_KEY}/credentials").status == 201
        # The creations of the site and its credentials are changes too.
        for number in range(CHANGE_COUNT - CREDENTIAL_COUNT - 1):
            assert operator.call("PATCH", f"{SITES}/{READ_KEY}", {"name": f"Name {number}"}).status == 200
        detail = operator.call("GET", f"{SITES}/{READ_KEY}").body
    assert (len(detail["credentialList"]), len(detail["changes"])) == (CREDENTIAL_COUNT, CHANGE_COUNT)


def measure_reads(process: ServeProcess, count: int) -> dict[str, Latency]:
    """Read the site and `/healthz` in turns of a hundred, so that both see the same machine."""
    times_ms: dict[str, list[float]] = {"site": [], "healthz": []}
    with connected(process.admin_url) as wire:
        for data in (READ, HEALTH):
            time_requests(wire, data, ROUND)
        for _ in range(count // ROUND):
            times_ms["site"] += time_requests(wire, READ, ROUND)
            times_ms["healthz"] += time_requests(wire, HEALTH, ROUND)
    return {name: summarize(times) for name, times in times_ms.items()}


def time_requests(wire: Wire, data: bytes, count: int) -> list[float]:
    """Send the request repeatedly, one after the other; return the milliseconds of each."""
    times_ms = []
    for _ in range(count):
        began_ns = time.perf_counter_ns()
        status, _ = wire.ask(data)
        times_ms.append((time.perf_counter_ns() - began_ns) / 1e6)
        assert status == 200, status
    return times_ms


def summarize(times_ms: list[float]) -> Latency:
    """Return the middle and the slow end."""
    hundredths = statistics.quantiles(times_ms, n=100, method="inclusive")
    return Latency(hundredths[49], hundredths[94], hundredths[98])
