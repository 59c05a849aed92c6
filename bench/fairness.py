"""Delays of a customer by another one: `python -m bench.growth_http fairness`."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agentgate.events.webhooks.editing import WEBHOOKS_PER_SITE
from bench.large_installation import EVENTS, Installation, check_of, install, rules_of, served
from bench.probe import HEAD, Probe
from bench.wire import connected
from tests.support.http_receiver import Answering, Received, Receiver, receiver
from tests.support.processes import AdminConnection, ServeProcess

# Of one customer: requests of each kind at a time, webhooks, and how long these take to respond.
FLOOD, HOOKS, HANG_S = 20, 100, 30.0
# Pages that the other customer reads, in how many parts, and how long a part lasts at the least.
PAGES, PARTS, PART_S = 20, 5, 2.0
# No more pages are read after this time.
LONGEST_MS = 20_000


def read(connection: AdminConnection, path: str) -> None:
    """Read a path, and fail unless the status is 200."""
    answer = connection.call("GET", path)
    assert answer.status == 200, (path, answer.body)


class Delays(Struct, frozen=True):
    """What another customer and the gateway's checks waited for, in milliseconds."""

    page_ms: list[float]
    # The 99th percentile of the checks of each part of the run, so that one moment of a busy machine is one part of it.
    checks_ms: list[float]
    longest_check_ms: float
    longest_health_ms: float
    webhook_ms: float = 0.0

    def line(self, name: str) -> str:
        figures = (max(self.page_ms), min(self.checks_ms), self.longest_check_ms, self.longest_health_ms)
        columns = " | ".join(f"{figure:,.1f}" for figure in figures)
        return f"| {name}: page, worst of {len(self.page_ms)} (median {median(self.page_ms):,.0f} ms) | {columns} |"


def fairness(folder: Path, *, events: int = EVENTS) -> tuple[Delays, Delays]:
    """Let one customer do everything at once; return the delays of another one before and during that."""
    with receiver() as slow, receiver() as fast:
        arrivals: list[float] = []
        slow.answer = lambda _request: Answering(hold_s=HANG_S)

        def note_arrival(_request: Received) -> Answering:
            arrivals.append(time.monotonic())
            return Answering()

        fast.answer = note_arrival
        installation = install(folder / "fairness", events=events)
        with served(installation) as (process, probe):
            print(f"\n{FLOOD} of each kind at once, {HOOKS} hanging webhooks\n\n{HEAD}")
            alone = _delays(process, installation, probe)
            print(alone.line("other customer alone"), flush=True)
            secrets = _add_webhooks(process, installation, slow, fast)
            with _flood(process, installation, secrets) as counts:
                arrivals[:] = [time.monotonic()]
                time.sleep(1)
                meanwhile = _delays(process, installation, probe)
                arrivals.append(time.monotonic())
            meanwhile = replace(meanwhile, webhook_ms=_longest_pause_ms(arrivals))
            print(meanwhile.line("other customer meanwhile"))
            print(f"| longest pause of the other customer's webhook | {meanwhile.webhook_ms:,.0f} | | | |")
            print(
                f"| requests to hanging webhooks: {len(slow.received)}; responses: {dict(counts)} | | | | |", flush=True
            )
            assert slow.received, "no webhook of the first customer was called"
    return alone, meanwhile


def _delays(process: ServeProcess, installation: Installation, probe: Probe) -> Delays:
    """Read the other customer's console page several times, and take the times of concurrent checks."""
    site = f"/v1/console/sites/{installation.other_key}"
    paths = (
        site,
        f"{site}/analytics",
        f"/v1/console/decisions?siteKey={installation.other_key}&limit=50",
        f"{site}/rules",
        "/v1/console/sites?limit=50",
    )
    took_ms, parts = [], []
    probe.take()
    with AdminConnection(process.public_url, installation.other_owner) as other:
        for _ in range(PARTS):
            part_began_s = time.perf_counter()
            for _ in range(PAGES // PARTS):
                if sum(took_ms) > LONGEST_MS:
                    break
                began_s = time.perf_counter()
                for path in paths:
                    read(other, path)
                took_ms.append((time.perf_counter() - began_s) * 1000)
            time.sleep(max(0.0, part_began_s + PART_S - time.perf_counter()))
            parts.append(probe.take())
    worst = [part.worst for part in parts]
    return Delays(took_ms, [part.p99 for part in parts], max(each[0] for each in worst), max(each[1] for each in worst))


def _add_webhooks(process: ServeProcess, installation: Installation, slow: Receiver, fast: Receiver) -> list[str]:
    """Give the first customer hanging webhooks on new sites, and the other one a webhook; return the sites' secrets."""
    secrets = []
    with process.admin() as operator:

        def create(path: str, body: Any) -> Any:
            made = operator.call("POST", path, body)
            assert made.status == 201, made.body
            return made.body

        for number in range(HOOKS):
            if number % WEBHOOKS_PER_SITE == 0:
                site_key = create(f"/v1/admin/customers/{installation.acme}/sites", {"name": "Hooks"})["siteKey"]
                secrets.append(create(f"/v1/admin/sites/{site_key}/credentials", {"name": "gate"})["secret"])
            body = {"url": slow.url(path=f"/{number}"), "events": ["decisions"]}
            create(f"/v1/admin/sites/{site_key}/webhooks", body)
        create(f"/v1/admin/sites/{installation.other_key}/webhooks", {"url": fast.url(), "events": ["decisions"]})
    return secrets


@contextmanager
def _flood(process: ServeProcess, installation: Installation, secrets: Sequence[str]) -> Iterator[Counter[str]]:
    """Send exports, validations and backtests of the first customer, each kind from many connections."""
    site = f"/v1/console/sites/{installation.site_key}"
    rules = {"ruleSet": rules_of(200)}
    kinds = (
        ("export", "GET", f"/v1/console/decisions/export?siteKey={installation.site_key}&format=csv", None),
        ("validation", "POST", f"{site}/rules/validate", rules),
        ("backtest", "POST", f"{site}/rules/backtest", rules),
    )
    counts: Counter[str] = Counter()
    ended = threading.Event()

    def send(kind: tuple[str, str, str, Any]) -> None:
        name, method, path, body = kind
        while not ended.is_set():
            with (
                contextlib.suppress(OSError, HTTPException),
                AdminConnection(process.public_url, installation.owner) as own,
            ):
                while not ended.is_set():
                    status = own.call(method, path, body).status
                    counts[f"{name} {status}"] += 1
                    if status == 429:
                        ended.wait(0.2)

    with ThreadPoolExecutor(FLOOD * len(kinds) + 1) as threads:
        for kind in kinds:
            for _ in range(FLOOD):
                threads.submit(send, kind)
        # Its sites have new decisions all the time, so its webhooks have deliveries.
        threads.submit(_ask_forever, process.public_url, secrets, ended)
        try:
            yield counts
        finally:
            ended.set()


def _ask_forever(url: str, secrets: Sequence[str], ended: threading.Event) -> None:
    with connected(url) as wire:
        while not ended.wait(0.1):
            for secret in secrets:
                wire.ask(check_of(secret))


def _longest_pause_ms(arrivals: Sequence[float]) -> float:
    """Return how long the other customer's webhook was without a delivery. Its site always has new decisions."""
    return max(after - before for before, after in pairwise(arrivals)) * 1000
