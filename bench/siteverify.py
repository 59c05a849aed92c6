"""Redemptions a second: siteverify of a real process over HTTP, beside the raw store's group-committed insert.

The reference is the store as siteverify uses it: as many callers as there are connections, each waiting for its own
row, commits shared and as durable. The client is a process of its own, which on busy processors takes its time from the
service and not from the reference. `python -m bench.siteverify [--store sqlite|postgres] [--tokens N]` prints it alone.
"""

import argparse
import asyncio
import json
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
from agentgate.core.ids import new_receipt_id
from agentgate.store.open import open_stores
from agentgate.tokens.ports import Redemption
from tests.processes import environment
from tests.servers import postgres_server

ROOT = Path(__file__).parents[1]
IN_FLIGHT = 64
ROUNDS = 3
TOKENS = 6_000
# What siteverify stores beside a request ID is about as long.
ANSWER = b"x" * 330


def measure(*, postgres: bool, tokens: int = TOKENS) -> dict[str, float]:
    """Return the best of some rounds of each, and their ratio."""
    with _service(postgres=postgres, tokens=tokens) as (port, settings):
        raw, served = [], []
        for number in range(ROUNDS):
            raw.append(uvloop.run(_spend_raw(settings, tokens)))
            served.append(_redeem(port, settings, number, tokens))
    return {"raw_per_s": max(raw), "siteverify_per_s": max(served), "ratio_to_raw": max(served) / max(raw)}


@contextmanager
def _service(*, postgres: bool, tokens: int) -> Iterator[tuple[str, dict[str, str]]]:
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
            yield process.stdout.readline().strip(), settings
            process.communicate(timeout=30)


async def _spend_raw(settings: dict[str, str], count: int) -> float:
    """Spend so many receipts, always 64 at once; return how many a second."""
    stores = await open_stores(read_settings(settings), SystemClock())
    receipts = iter([new_receipt_id() for _ in range(count)])
    kept_until_ms = SystemClock().now_ms() + DAY_MS

    async def spend() -> None:
        for receipt in receipts:
            redemption = Redemption(f"r-{receipt}", ANSWER)
            assert await stores.redemptions.spend("st_bench", receipt, redemption, kept_until_ms=kept_until_ms)

    began_s = time.monotonic()
    await asyncio.gather(*(spend() for _ in range(IN_FLIGHT)))
    seconds = time.monotonic() - began_s
    await stores.close()
    return count / seconds


def _redeem(port: str, settings: dict[str, str], number: int, count: int) -> float:
    """Let the client redeem all prepared tokens on 64 connections; return how many a second."""
    requests = Path(settings["AGENTGATE_DATA_DIR"]) / f"requests-{number}"
    command = [sys.executable, "-m", "bench.redeeming", "127.0.0.1", port, str(IN_FLIGHT), str(requests)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, timeout=300)
    told = json.loads(done.stdout)
    assert told["statuses"] == {"200": count}, told
    return count / float(told["seconds"])


def main() -> None:
    """Print the figures of one store or of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres"])
    parser.add_argument("--tokens", type=int, default=TOKENS)
    chosen = parser.parse_args()
    for store in [chosen.store] if chosen.store else ["sqlite", "postgres"]:
        figures = measure(postgres=store == "postgres", tokens=chosen.tokens)
        print(store, {name: round(value, 3) for name, value in figures.items()}, flush=True)


if __name__ == "__main__":
    main()
