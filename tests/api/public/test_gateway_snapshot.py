"""The gateway's caches: each is bounded, and a change of one site keeps the cache entries of other sites."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from agentgate.gateway import snapshot as snapshots
from agentgate.lib.database import Row
from agentgate.people.installation import own_changes
from agentgate.sites.repository import DirectoryStore
from tests.api.public.cached_gateway import Proxy, Side, models_of, plain_request
from tests.support.gateway import Gate, said
from tests.support.service import RunningService


@pytest.mark.parametrize(
    ("bound", "cache"),
    [
        ("HEADER_SETS", "header_sets"),
        ("FINGERPRINTS", "fingerprints"),
        ("PAGES", "pages"),
        ("DECISIONS", "decisions"),
        ("VISITORS", "visitors"),
    ],
)
def test_every_cache_is_bounded(
    service: RunningService, gate: Gate, monkeypatch: pytest.MonkeyPatch, bound: str, cache: str
) -> None:
    monkeypatch.setattr(snapshots, bound, 3)
    side = Side(service.application, models_of())
    proxy = Proxy(gate, side, 4)
    proxy.clear(service.clock.now_ms())

    async def ask_often() -> None:
        for _ in range(300):
            await side.ask(proxy.request().data)
            assert len(getattr(side.gate._snapshot, cache)) <= 6

    service.run(ask_often())

    assert len(getattr(side.gate._snapshot, cache)) > 0


def test_a_change_of_one_site_leaves_what_is_cached_of_others(service: RunningService, gate: Gate) -> None:
    other = Gate(service)
    side = Side(service.application, models_of())

    def ask(whose: Gate) -> None:
        service.run(side.ask(plain_request(whose, "a=b", "/")))

    for _ in range(2):
        ask(gate)
        ask(other)
    parts = dict(side.gate._snapshot.sites)
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"mode": "monitor"})
    service.run(service.application.refresher.sites.await_refresh())
    cached = side.cached
    ask(other)
    ask(gate)

    assert side.cached == cached + 1
    changed = [number for number, part in side.gate._snapshot.sites.items() if parts[number] is not part]
    assert len(changed) == 1


@pytest.mark.parametrize("act", ["mode", "revoke"])
def test_a_check_does_not_wait_for_a_change_and_the_response_to_the_change_does(
    service: RunningService, gate: Gate, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    site = f"/v1/admin/sites/{gate.site_key}"
    [credential] = service.operator.get(site).json()["credentialList"]
    request = {
        "mode": ("PATCH", site, {"mode": "monitor"}),
        "revoke": ("POST", f"{site}/credentials/{credential['id']}/revoke", None),
    }[act]
    reading, released = threading.Event(), threading.Event()
    list_sites = DirectoryStore.list_sites

    async def late(store: DirectoryStore, site_ids: Sequence[str]) -> list[Row]:
        reading.set()
        await asyncio.to_thread(released.wait, 10)
        return await list_sites(store, site_ids)

    monkeypatch.setattr(DirectoryStore, "list_sites", late)
    monkeypatch.setattr(own_changes, "REFRESH_S", 10)
    before = said(gate.check("POST", "/login"))

    with ThreadPoolExecutor(1) as thread:
        method, path, body = request
        change = thread.submit(service.operator.request, method, path, json=body)
        assert reading.wait(10)
        meanwhile = said(gate.check("POST", "/login"))
        # A response to the commit alone arrives much earlier.
        is_answered = bool(wait([change], timeout=1).done)
        released.set()
        assert change.result().is_success

    assert before == meanwhile == (401, "challenge", "receipt_required")
    assert not is_answered
    assert (
        said(gate.check("POST", "/login"))
        == {
            "mode": (204, "allow", "monitor"),
            "revoke": (403, "block", "invalid_credential"),
        }[act]
    )
