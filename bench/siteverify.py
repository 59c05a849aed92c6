"""Cost of a siteverify call: CPU time of a real process, all threads, compared with a raw insert of such rows.

The tokens are signed by this process and not by the one that redeems them, as with several workers. Calls are sent in
one piece, or with the body apart from the request headers, as most clients send it. The raw insert is the service's own
group commit with the same number of callers; below it is the driver alone (`raw_store.py`). All of them alternate.
`python -m bench.siteverify [--store sqlite|postgres] [--in-flight N] [--tokens N]` prints it alone.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import asyncpg
import uvloop

from agentgate.browser_check.tokens.receipts import SigningKeys
from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.server.stores.open import open_stores
from bench.processor import keep_on, one_and_others, processor_s, processor_ticks, stolen_share
from bench.raw_store import Driver, PostgresDriver, SqliteDriver, spend_in_driver, spend_in_store
from bench.wire import Wire
from tests.support.processes import ServeProcess, environment, serving
from tests.support.servers import postgres_server
from tests.support.tokens import ORIGIN, keys_of_process, mint

ROUNDS = 6
TOKENS = 6_000
# Calls at a time, and callers of the raw store.
IN_FLIGHT = 64
SITE_KEY = "site_bench"
SITE = {
    "name": "Bench",
    "siteKey": SITE_KEY,
    "allowedOrigins": [ORIGIN],
    "actions": {"login": {"browserRequired": True}},
}
TOKEN_S = 3600
# By then the service has read the heads, and waits for the bodies.
APART_S = 0.003


class Bench(NamedTuple):
    """A running service, what opens its store, what signs its tokens, and the secret of its site."""

    process: ServeProcess
    settings: dict[str, str]
    keys: SigningKeys
    secret: str


def measure(*, postgres: bool, tokens: int = TOKENS, in_flight: int = IN_FLIGHT) -> dict[str, float]:
    """Return microseconds of CPU time for a call, for a raw insert, and for a row of the driver alone."""
    mine, others = one_and_others()
    # PostgreSQL is started here and remains on these cores.
    keep_on(os.getpid(), others)
    try:
        with _service(postgres=postgres) as bench:
            keep_on(bench.process.process_id, mine)
            return uvloop.run(_take_turns(bench, tokens, in_flight))
    finally:
        keep_on(os.getpid(), mine | others)


async def _take_turns(bench: Bench, tokens: int, in_flight: int) -> dict[str, float]:
    process_id = bench.process.process_id
    raw_us, driver_us, call_us, apart_us, per_s = [], [], [], [], []
    ticks = processor_ticks()
    stores, driver = await open_stores(read_settings(bench.settings), SystemClock()), await _open_driver(bench.settings)
    mine, others = os.sched_getaffinity(process_id), os.sched_getaffinity(0)
    for number in range(ROUNDS):
        keep_on(os.getpid(), mine)
        raw_us.append(await _own_us(lambda: spend_in_store(stores.redemptions, tokens, in_flight=in_flight), tokens))
        driver_us.append(await _own_us(lambda: spend_in_driver(driver, tokens, in_flight=in_flight), tokens))
        keep_on(os.getpid(), others)
        for used_us, apart_s in ((call_us, 0.0), (apart_us, APART_S)):
            requests = [_request(bench, f"r{number}-{apart_s}-{each}") for each in range(tokens)]
            before_s, before = processor_s(process_id), await driver.count_redeemed()
            began_s = time.monotonic()
            _redeem(bench.process.public_url, requests, in_flight, apart_s=apart_s)
            if not apart_s:
                per_s.append(tokens / (time.monotonic() - began_s))
            used_us.append((processor_s(process_id) - before_s) / tokens * 1e6)
            assert await driver.count_redeemed() - before == tokens
    await driver.close()
    await stores.close()
    return {
        # Without the server's part where there is one.
        "siteverify_cpu_us": statistics.median(call_us),
        "siteverify_least_cpu_us": min(call_us),
        "siteverify_apart_cpu_us": statistics.median(apart_us),
        "raw_cpu_us": statistics.median(raw_us),
        "driver_cpu_us": statistics.median(driver_us),
        "siteverify_per_s": statistics.median(per_s),
        "stolen": stolen_share(ticks),
    }


async def _own_us(work: Callable[[], Awaitable[float]], count: int) -> float:
    before_s = time.process_time()
    await work()
    return (time.process_time() - before_s) / count * 1e6


def _redeem(url: str, requests: list[bytes], in_flight: int, *, apart_s: float) -> None:
    """Send `in_flight` calls at a time, each on a separate connection that remains open; all must succeed."""
    wires = [Wire(url) for _ in range(in_flight)]
    try:
        for start in range(0, len(requests), in_flight):
            together = list(zip(wires, requests[start : start + in_flight], strict=False))
            for wire, request in together:
                wire.send(request[: request.index(b"{")] if apart_s else request)
            if apart_s:
                time.sleep(apart_s)
                for wire, request in together:
                    wire.send(request[request.index(b"{") :])
            for wire, _ in together:
                status, body = wire.receive()
                assert status == 200, body
    finally:
        for wire in wires:
            wire.close()


def _request(bench: Bench, request_id: str) -> bytes:
    token = mint(bench.keys, SITE_KEY, now_ms=SystemClock().now_ms(), lifetime_s=TOKEN_S)
    fields = {"token": token, "expectedAction": "login", "expectedOrigin": ORIGIN, "requestId": request_id}
    payload = json.dumps(fields).encode()
    head = (
        "POST /v1/siteverify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {bench.secret}\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


async def _open_driver(settings: dict[str, str]) -> Driver:
    url = settings.get("AGENTGATE_DATABASE_URL")
    if url:
        return PostgresDriver(await asyncpg.connect(url))
    return SqliteDriver(Path(settings["AGENTGATE_DATA_DIR"]) / "hot.db")


@contextmanager
def _service(*, postgres: bool) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as name, ExitStack() as opened:
        folder, settings = Path(name), dict[str, str]()
        if postgres:
            server = opened.enter_context(postgres_server(fsync="on", full_page_writes="on"))
            settings["AGENTGATE_DATABASE_URL"] = server.url
        process = opened.enter_context(serving(folder, **settings))
        with process.admin() as operator:
            assert operator.call("POST", "/v1/admin/sites", SITE).status == 201
            made = operator.call("POST", f"/v1/admin/sites/{SITE_KEY}/credentials", {"name": "bench"})
        keys = keys_of_process(folder, **settings)
        yield Bench(process, environment(folder, settings), keys, made.body["secret"])


def main() -> None:
    """Print the measurements of one store or of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres"])
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    chosen = parser.parse_args()
    for store in [chosen.store] if chosen.store else ["sqlite", "postgres"]:
        figures = measure(postgres=store == "postgres", tokens=chosen.tokens, in_flight=chosen.in_flight)
        print(store, {name: round(value, 3) for name, value in figures.items()}, flush=True)


if __name__ == "__main__":
    main()
