"""Redemptions a second: siteverify of a real process over HTTP, beside the raw store's group-committed insert.

The reference is the database alone, in process: as many callers as connections, the same rows, and as durable; all who
wait go with one statement and one commit, one after the other. The service is one worker; wrk, its client, takes some
processor time from it, so that of each is given as well.
`python -m bench.siteverify [--store sqlite|postgres] [--tokens N]` prints it alone.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvloop

from agentgate.config import read_settings
from agentgate.core.clock import DAY_MS, SystemClock
from agentgate.core.database import Row, Value
from agentgate.core.ids import new_receipt_id
from agentgate.store.open import HOT, open_stores
from agentgate.store.sql.redemptions import ROWS
from bench.processor import processor_s
from tests.processes import environment
from tests.servers import postgres_server

ROOT = Path(__file__).parents[1]
IN_FLIGHT = 64
ROUNDS = 5
TOKENS = 6_000
LONGEST_S = 60
# What siteverify stores beside a request ID is about as long.
ANSWER = b"x" * 330


def measure(*, postgres: bool, tokens: int = TOKENS) -> dict[str, float | str]:
    """Return the best of some rounds of each, and their ratio; without wrk, why not."""
    if shutil.which("wrk") is None:
        return {"skipped": "wrk is not installed"}
    raw, served, raw_cpu_s, served_cpu_s = [], [], [], []
    with _service(postgres=postgres, tokens=tokens) as (process_id, port, settings):
        for number in range(ROUNDS):
            used_s = time.process_time()
            raw.append(uvloop.run(_spend_raw(settings, tokens)))
            raw_cpu_s.append(time.process_time() - used_s)
            used_s = processor_s(process_id)
            served.append(_redeem(port, settings, number, tokens))
            served_cpu_s.append(processor_s(process_id) - used_s)
    return {
        "raw_per_s": max(raw),
        "siteverify_per_s": max(served),
        "ratio_to_raw": max(served) / max(raw),
        # Without the server's part where there is one.
        "raw_cpu_us": min(raw_cpu_s) / tokens * 1e6,
        "siteverify_cpu_us": min(served_cpu_s) / tokens * 1e6,
    }


@contextmanager
def _service(*, postgres: bool, tokens: int) -> Iterator[tuple[int, str, dict[str, str]]]:
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder, ExitStack() as opened:
        settings = environment(Path(folder), {})
        if postgres:
            server = opened.enter_context(postgres_server(fsync="on", full_page_writes="on"))
            settings["AGENTGATE_DATABASE_URL"] = server.url
        command = [sys.executable, "-m", "bench.siteverify_service", str(tokens), str(ROUNDS)]
        with subprocess.Popen(
            command, env=settings, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            yield process.pid, process.stdout.readline().strip(), settings
            process.communicate(timeout=30)


async def _spend_raw(settings: dict[str, str], count: int) -> float:
    """Insert so many rows, always 64 at once; return how many a second."""
    stores = await open_stores(read_settings(settings), SystemClock())
    receipts = iter([new_receipt_id() for _ in range(count)])
    kept_until_ms = SystemClock().now_ms() + DAY_MS
    loop, database = asyncio.get_running_loop(), stores.databases[HOT]
    waiting: dict[Row, tuple[tuple[Value, ...], asyncio.Future[None]]] = {}
    something = asyncio.Event()

    async def commit() -> None:
        nonlocal waiting
        while True:
            await something.wait()
            something.clear()
            group, waiting = waiting, {}
            for key in await database.insert_new(ROWS, [group[key][0] for key in sorted(group)]):
                group[key][1].set_result(None)

    async def spend() -> None:
        for receipt in receipts:
            done = loop.create_future()
            row = ("st_bench", receipt, f"r-{receipt}", ANSWER, kept_until_ms)
            waiting[row[:2]] = row, done
            something.set()
            await done

    committing = asyncio.create_task(commit())
    began_s = time.monotonic()
    await asyncio.gather(*(spend() for _ in range(IN_FLIGHT)))
    seconds = time.monotonic() - began_s
    committing.cancel()
    await stores.close()
    return count / seconds


def _redeem(port: str, settings: dict[str, str], number: int, count: int) -> float:
    """Let wrk redeem all prepared tokens on 64 connections; return how many a second."""
    script = Path(settings["AGENTGATE_DATA_DIR"]) / f"requests-{number}.lua"
    command = ["wrk", "-t1", f"-c{IN_FLIGHT}", f"-d{LONGEST_S}s", "-s", str(script), f"http://127.0.0.1:{port}/"]
    # It stops sending when all are answered, and ends when its time is over.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        told = json.loads(next(line for line in client.stdout if line.startswith("{")))
        client.terminate()
    assert told["good"] == count, told
    return count / float(told["seconds"])


def main() -> None:
    """Print the figures of one store or of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres"])
    parser.add_argument("--tokens", type=int, default=TOKENS)
    chosen = parser.parse_args()
    for store in [chosen.store] if chosen.store else ["sqlite", "postgres"]:
        figures = measure(postgres=store == "postgres", tokens=chosen.tokens)
        shown = {name: value if isinstance(value, str) else round(value, 3) for name, value in figures.items()}
        print(store, shown, flush=True)


if __name__ == "__main__":
    main()
