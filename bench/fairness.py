"""Delays of a customer by another one: `python -m bench.growth_http fairness`."""

import contextlib
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

from agentgate.events.webhooks.editing import WEBHOOKS_PER_SITE
from bench.large_installation import EVENTS, Installation, check_of, install, rules_of, served
from bench.probe import HEAD, Probe, measured, show
from bench.wire import Wire
from tests.support.http_receiver import Answering, Receiver, receiver
from tests.support.processes import AdminConnection, ServeProcess

# Of one customer: requests of each kind at a time, webhooks, and how long these take to respond.
FLOOD, HOOKS, HANG_S, LONGEST_PAUSE_S = 20, 100, 30.0, 60.0


def read(connection: AdminConnection, path: str) -> None:
    """Read a path, and fail unless the status is 200."""
    answer = connection.call("GET", path)
    assert answer.status == 200, (path, answer.body)


def fairness(folder: Path) -> None:
    """Let one customer do everything at once, and measure the delays of another one."""
    with receiver() as slow, receiver() as fast:
        slow.answer = lambda _request: Answering(hold_s=HANG_S)
        installation = install(folder / "fairness", events=EVENTS)
        with served(installation) as (process, probe):
            print(f"\n{FLOOD} of each kind at once, {HOOKS} hanging webhooks\n\n{HEAD}")
            measured("nothing", probe, lambda: time.sleep(2), 2)
            _page_times(process, installation, "other customer alone", probe)
            secrets = _add_webhooks(process, installation, slow, fast)
            with _flood(process, installation, secrets) as counts:
                time.sleep(1)
                _page_times(process, installation, "other customer meanwhile", probe)
                _webhook_time(fast)
                print(f"| requests to hanging webhooks: {len(slow.received)} | | | | |")
            print(f"| responses to the first customer: {dict(counts)} | | | | |", flush=True)


def _page_times(process: ServeProcess, installation: Installation, name: str, probe: Probe) -> None:
    """Read the other customer's console page several times."""
    site = f"/v1/console/sites/{installation.other_key}"
    paths = (
        site,
        f"{site}/analytics",
        f"/v1/console/decisions?siteKey={installation.other_key}&limit=50",
        f"{site}/rules",
        "/v1/console/sites?limit=50",
    )
    took_ms = []
    probe.take()
    with AdminConnection(process.public_url, installation.other_owner) as other:
        for _ in range(20):
            began_s = time.perf_counter()
            for path in paths:
                read(other, path)
            took_ms.append((time.perf_counter() - began_s) * 1000)
    show(
        f"{name}: {len(paths)} reads of a page, worst of 20",
        max(took_ms),
        probe.take(),
        f" median {statistics.median(took_ms):.0f} ms",
    )


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
    wire = Wire(url)
    while not ended.wait(0.1):
        for secret in secrets:
            wire.ask(check_of(secret))


def _webhook_time(fast: Receiver) -> None:
    """Print how long the other customer's webhook is without a delivery. Its site always has new decisions."""
    paused_s = []
    for _ in range(5):
        count, began_s = len(fast.received), time.perf_counter()
        while len(fast.received) == count and time.perf_counter() - began_s < LONGEST_PAUSE_S:
            time.sleep(0.02)
        paused_s.append(time.perf_counter() - began_s)
    print(f"| longest pause between deliveries to the other customer's webhook | {max(paused_s) * 1000:,.0f} | | | |")
