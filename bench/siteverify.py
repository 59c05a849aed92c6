"""Redemptions a second: siteverify of a real process over HTTP, beside the raw store's group-committed insert.

The raw store is the service's own without the service, with as many callers as connections; the driver alone is given
as well (`raw_store.py`). All take turns on one processor, and a ratio is the median of the rounds. The service is one
worker. Its client and the server have the other processors: where they share one, chance decides who waits for whom.
`python -m bench.siteverify [--store sqlite|postgres] [--in-flight N] [--tokens N]` prints it alone.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import asyncpg
import uvloop

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.server.stores.open import open_stores
from bench.processor import keep_on, one_and_others, processor_s, processor_ticks, stolen_share
from bench.raw_store import Driver, PostgresDriver, SqliteDriver, spend_in_driver, spend_in_store
from tests.processes import environment
from tests.servers import postgres_server

ROOT = Path(__file__).parents[1]
# All their tokens are remembered by the worker that issued them (`MOST_REMEMBERED`), as those of one worker are.
ROUNDS = 6
TOKENS = 6_000
# Calls at a time, and callers of the raw store.
IN_FLIGHT = 64
LONGEST_S = 60


class Service(NamedTuple):
    """A running service: its process, where it listens, what it was started with, and how it is called."""

    process_id: int
    port: str
    settings: dict[str, str]
    tokens: int
    in_flight: int


def measure(*, postgres: bool, tokens: int = TOKENS, in_flight: int = IN_FLIGHT) -> dict[str, float | str]:
    """Return the median of some rounds of each, and of their ratio; without wrk, why not."""
    if shutil.which("wrk") is None:
        return {"skipped": "wrk is not installed"}
    mine, others = one_and_others()
    # What is started here stays on these: the server, and wrk.
    keep_on(os.getpid(), others)
    try:
        with _service(postgres=postgres, tokens=tokens, in_flight=in_flight) as service:
            keep_on(service.process_id, mine)
            return uvloop.run(_take_turns(service))
    finally:
        keep_on(os.getpid(), mine | others)


async def _take_turns(service: Service) -> dict[str, float | str]:
    process_id, _, settings, tokens, in_flight = service
    raw, driven, served, used_s = [], [], [], []
    ticks = processor_ticks()
    stores, driver = await open_stores(read_settings(settings), SystemClock()), await _open_driver(settings)
    mine, others = os.sched_getaffinity(process_id), os.sched_getaffinity(0)
    for number in range(ROUNDS):
        keep_on(os.getpid(), mine)
        raw.append(await spend_in_store(stores.redemptions, tokens, in_flight=in_flight))
        driven.append(await spend_in_driver(driver, tokens, in_flight=in_flight))
        keep_on(os.getpid(), others)
        before_s, before = processor_s(process_id), await driver.count_redeemed()
        served.append(await asyncio.to_thread(_redeem, service, number))
        used_s.append(processor_s(process_id) - before_s)
        assert await driver.count_redeemed() - before == tokens
    await driver.close()
    await stores.close()
    return {
        "raw_per_s": statistics.median(raw),
        "driver_per_s": statistics.median(driven),
        "siteverify_per_s": statistics.median(served),
        "ratio_to_raw": _median_ratio(served, raw),
        "ratio_to_driver": _median_ratio(served, driven),
        # Without the server's part where there is one.
        "siteverify_cpu_us": min(used_s) / tokens * 1e6,
        "stolen": stolen_share(ticks),
    }


def _median_ratio(ours: list[float], others: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(ours, others, strict=True))


async def _open_driver(settings: dict[str, str]) -> Driver:
    url = settings.get("AGENTGATE_DATABASE_URL")
    if url:
        return PostgresDriver(await asyncpg.connect(url))
    return SqliteDriver(Path(settings["AGENTGATE_DATA_DIR"]) / "hot.db")


@contextmanager
def _service(*, postgres: bool, tokens: int, in_flight: int) -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder, ExitStack() as opened:
        settings = environment(Path(folder), {})
        if postgres:
            server = opened.enter_context(postgres_server(fsync="on", full_page_writes="on"))
            settings["AGENTGATE_DATABASE_URL"] = server.url
        command = [sys.executable, "-m", "bench.siteverify_service", str(tokens), str(ROUNDS), str(in_flight)]
        with subprocess.Popen(
            command, env=settings, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            yield Service(process.pid, process.stdout.readline().strip(), settings, tokens, in_flight)
            process.communicate(timeout=30)


def _redeem(service: Service, number: int) -> float:
    """Let wrk redeem all tokens of a round; return how many a second."""
    script = Path(service.settings["AGENTGATE_DATA_DIR"]) / f"requests-{number}.lua"
    command = ["wrk", "-t1", f"-c{service.in_flight}", f"-d{LONGEST_S}s", "-s", str(script)]
    command.append(f"http://127.0.0.1:{service.port}/")
    # It stops sending when all are answered, and would end when its time is over.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        told = json.loads(next(line for line in client.stdout if line.startswith("{")))
        client.terminate()
    return service.tokens / float(told["seconds"])


def main() -> None:
    """Print the figures of one store or of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres"])
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    chosen = parser.parse_args()
    for store in [chosen.store] if chosen.store else ["sqlite", "postgres"]:
        figures = measure(postgres=store == "postgres", tokens=chosen.tokens, in_flight=chosen.in_flight)
        shown = {name: value if isinstance(value, str) else round(value, 3) for name, value in figures.items()}
        print(store, shown, flush=True)


if __name__ == "__main__":
    main()
