"""How many credential changes a second are acknowledged, by one client and by many: what group commit is worth."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

from bench.wire import connected, request
from tests.support.processes import ServeProcess

SITES = "/v1/admin/sites"


def measure_changes(process: ServeProcess, *, clients: int, duration_s: float) -> float:
    """Return acknowledged changes per second. Each client creates and revokes on a separate site."""
    keys = [f"site_commit_{clients}_{number}" for number in range(clients)]
    with process.admin() as operator:
        for key in keys:
            assert operator.call("POST", SITES, {"name": key, "siteKey": key}).status == 201
    with ThreadPoolExecutor(clients) as threads:
        began_s = time.monotonic()
        counts = list(threads.map(lambda key: _change(process.admin_url, key, began_s + duration_s), keys))
        return sum(counts) / (time.monotonic() - began_s)


def _change(url: str, key: str, until_s: float) -> int:
    count = 0
    create = request("POST", f"{SITES}/{key}/credentials")
    with connected(url) as wire:
        while time.monotonic() < until_s:
            status, body = wire.ask(create)
            assert status == 201, body
            credential = json.loads(body)["credential"]["id"]
            status, body = wire.ask(request("POST", f"{SITES}/{key}/credentials/{credential}/revoke"))
            assert status == 200, body
            count += 2
    return count
