"""`make bench`: measures a real process, prints a table and writes bench/results.json. Nothing is asserted here.

A part whose requirements are missing is shown as `skipped`, and one that breaks as `failed`; the others are measured
anyway. `bench/run.py NAME ...` measures only the parts whose names begin so, and keeps the results of the others.
"""

import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# Run as a file, this folder is on the path and its parent is not.
sys.path.insert(0, str(ROOT))

from bench import (  # noqa: E402 - after the path is set
    adapter,
    agent_signatures,
    decide,
    events,
    gateway,
    instrument,
    rules,
    time_to_token,
)
from bench.group_commit import measure_changes  # noqa: E402
from bench.latency import fill, measure_reads  # noqa: E402
from bench.processor import measure_processor  # noqa: E402
from bench.siteverify import measure as measure_siteverify  # noqa: E402
from tests.support.processes import ServeProcess, serving  # noqa: E402
from tests.support.servers import postgres_server  # noqa: E402

RESULTS = ROOT / "bench" / "results.json"
STARTS = 5
READS = 2_000
CHANGES_S = 4.0
MANY_CLIENTS = 32
BACKTEST_EVENTS = 100_000
INGEST_EVENTS, INGEST_BATCH = 60_000, 4_000
PROCESSOR_ROUNDS, PROCESSOR_REQUESTS = 6, 8_000

Figures = dict[str, Any]


@contextmanager
def temporary_process(**settings: str) -> Iterator[ServeProcess]:
    """Run the service in a folder that is gone afterwards."""
    # Writing a log line for each request is part of the service and is measured with it.
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder, serving(Path(folder), **settings) as process:
        yield process


def start_to_ready() -> Figures:
    """Start on a new folder several times."""
    times_s = []
    for _ in range(STARTS):
        with temporary_process() as process:
            times_s.append(process.ready_s)
    return {"median_s": statistics.median(times_s), "least_s": min(times_s), "most_s": max(times_s)}


def admin_read_sqlite() -> Figures:
    """Read a site on the embedded store."""
    with temporary_process() as process:
        return _admin_read(process)


def admin_read_postgres() -> Figures:
    """Read a site on PostgreSQL."""
    with postgres_server() as server, temporary_process(AGENTGATE_DATABASE_URL=server.url) as process:
        return _admin_read(process)


def _admin_read(process: ServeProcess) -> Figures:
    fill(process)
    measured = measure_reads(process, READS)
    site, health = measured["site"], measured["healthz"]
    return {**site._asdict(), "healthz_p50_ms": health.p50_ms, "ratio_to_healthz": site.p50_ms / health.p50_ms}


def group_commit() -> Figures:
    """Change credentials with one client and with many, on the embedded store."""
    with temporary_process() as process:
        one = measure_changes(process, clients=1, duration_s=CHANGES_S)
        many = measure_changes(process, clients=MANY_CLIENTS, duration_s=CHANGES_S)
    return {"one_client_per_s": one, f"{MANY_CLIENTS}_clients_per_s": many, "ratio": many / one}


def processor_per_request() -> Figures:
    """Compare `/healthz` with nginx."""
    with temporary_process() as process:
        measured = measure_processor(process, rounds=PROCESSOR_ROUNDS, requests=PROCESSOR_REQUESTS)
    if measured is None:
        return {"skipped": "nginx is not installed"}
    agentgate_us, nginx_us = measured["agentgate"], measured["nginx"]
    return {"agentgate_us": agentgate_us, "nginx_us": nginx_us, "ratio_to_nginx": agentgate_us / nginx_us}


def decision() -> Figures:
    """Decide about requests in process: signals, 30 rules, 200 trees."""
    return dict(decide.measure())


def rule_evaluation() -> Figures:
    """Evaluate 30 rules, and compare with a naive evaluator."""
    figures = rules.measure_evaluation()
    ratio = figures["anew"] / figures["reference"]
    return {**{f"{name}_us": value for name, value in figures.items()}, "ratio_to_reference": ratio}


def instrument_program() -> Figures:
    """Generate and check the program of a challenge, and compare with one HMAC."""
    return dict(instrument.measure())


def agent_signature() -> Figures:
    """Identify the signer of a request, and compare with the bare Ed25519 check."""
    return dict(agent_signatures.measure())


def backtest() -> Figures:
    """Decide stored events again on the embedded store."""
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder:
        evaluated, wall_s, processor_s = asyncio.run(rules.measure_backtest(Path(folder), BACKTEST_EVENTS))
    million = 1_000_000 / evaluated
    return {"events": evaluated, "million_s": wall_s * million, "million_processor_s": processor_s * million}


def ingest_sqlite() -> Figures:
    """Keep events on the embedded store."""
    return _ingest(postgres=False)


def ingest_postgres() -> Figures:
    """Keep events on PostgreSQL; the server's CPU time counts as well."""
    return _ingest(postgres=True)


def _ingest(*, postgres: bool) -> Figures:
    speeds = asyncio.run(events.measure(INGEST_EVENTS, INGEST_BATCH, postgres=postgres))
    kept, plain = speeds["events"], speeds["plain insert"]
    return {
        "per_s": kept.wall,
        "per_processor_s": kept.together,
        "plain_per_processor_s": plain.together,
        "ratio_to_plain": kept.together / plain.together,
    }


def gateway_check() -> Figures:
    """Send gateway checks at full load for each population, alternating with nginx; at half and twice the maximum."""
    return dict(gateway.measure())


def site_behind_nginx() -> Figures:
    """Compare sites behind nginx with and without the gate."""
    return dict(adapter.figures())


def siteverify_sqlite() -> Figures:
    """Redeem tokens on the embedded store."""
    return dict(measure_siteverify(postgres=False))


def siteverify_postgres() -> Figures:
    """Redeem tokens on PostgreSQL, which writes to the disk here."""
    return dict(measure_siteverify(postgres=True))


def token_in_browser() -> Figures:
    """Get a token in a real Chromium, and compare with ALTCHA and Cap."""
    return dict(time_to_token.measure())


SECTIONS: dict[str, Callable[[], Figures]] = {
    "start to ready": start_to_ready,
    "admin read, SQLite": admin_read_sqlite,
    "admin read, PostgreSQL": admin_read_postgres,
    "group commit, SQLite": group_commit,
    "CPU time per /healthz": processor_per_request,
    "decision": decision,
    "30 rules": rule_evaluation,
    "instrument": instrument_program,
    "agent signature": agent_signature,
    "backtest, SQLite": backtest,
    "events, SQLite": ingest_sqlite,
    "events, PostgreSQL": ingest_postgres,
    "gateway check": gateway_check,
    "behind nginx": site_behind_nginx,
    "siteverify, SQLite": siteverify_sqlite,
    "siteverify, PostgreSQL": siteverify_postgres,
    "time to token": token_in_browser,
}


def main(wanted: list[str]) -> None:
    """Measure, print as it comes, and write the file after each part: what was measured is not lost with the next."""
    chosen = [name for name in SECTIONS if not wanted or name.startswith(tuple(wanted))]
    results: dict[str, Figures] = _earlier() if wanted else {}
    print(f"{'what':<26}{'figure':<22}{'value':>12}")
    for name in chosen:
        results[name] = _measured(SECTIONS[name])
        for figure, value in results[name].items():
            print(f"{name:<26}{figure:<22}{_shown(value):>12}", flush=True)
        _write(results)
    print(f"written to {RESULTS.relative_to(ROOT)}")
    if any("failed" in results[name] for name in chosen):
        sys.exit(1)


def _earlier() -> dict[str, Figures]:
    return dict(json.loads(RESULTS.read_text())["results"]) if RESULTS.exists() else {}


def _write(results: dict[str, Figures]) -> None:
    machine = {"python": platform.python_version(), "processors": os.cpu_count(), "load": os.getloadavg()}
    ordered = {name: results[name] for name in SECTIONS if name in results}
    RESULTS.write_text(json.dumps({"machine": machine, "results": ordered}, indent=2) + "\n")


def _measured(measure: Callable[[], Figures]) -> Figures:
    try:
        return measure()
    except Exception as error:  # noqa: BLE001 - whatever broke, the other parts can be measured
        return {"failed": f"{type(error).__name__}: {error}"}
    except BaseException as error:
        # What pytest raises for a server that is not there is no Exception, and this is not pytest.
        if type(error).__name__ in {"Skipped", "Failed"}:
            return {"skipped": str(error)}
        raise


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
