"""The gateway's caches: each is bounded, and a change of one site keeps the cache entries of other sites."""

import pytest

from agentgate.gateway import snapshot as snapshots
from agentgate.people.installation.own_changes import EVERY_SITE
from tests.api.public.cached_gateway import Proxy, Side, models_of, plain_request
from tests.support.gateway import Gate
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


def ids_of(service: RunningService, gate: Gate) -> tuple[str, str]:
    view = service.application.refresher.sites.find(gate.site_key)
    assert view is not None
    return view.id, view.account_id


def test_a_change_of_another_site_is_not_waited_for(service: RunningService, gate: Gate) -> None:
    other = Gate(service)
    side, sites = Side(service.application, models_of()), service.application.refresher.sites
    known = plain_request(gate, "a=b", "/")
    unknown = known.replace(gate.secret.encode(), b"ags_new")

    async def answers() -> list[bool]:
        await sites.await_refresh()
        sites.expect_change([ids_of(service, other)[0]])
        found = [side.gate.take(data) is not None for data in (known, unknown)]
        await sites.await_refresh()
        return found

    # An unknown secret may be a part of the change.
    assert service.run(answers()) == [True, False]


@pytest.mark.parametrize("kind", ["site", "account", "models"])
def test_a_change_by_this_worker_is_waited_for_though_its_turn_continues(
    service: RunningService, gate: Gate, kind: str
) -> None:
    site_id, account_id = ids_of(service, gate)
    changed = [{"site": site_id, "account": account_id, "models": EVERY_SITE}[kind]]
    side, data = Side(service.application, models_of()), plain_request(gate, "a=b", "/")
    sites = service.application.refresher.sites

    async def answers() -> list[bool]:
        await sites.await_refresh()
        found = [side.gate.take(data) is not None for _ in range(2)]
        assert side.gate.budget.is_refreshed
        sites.expect_change(changed)
        found.append(side.gate.take(data) is not None)
        await sites.await_refresh()
        return [*found, side.gate.take(data) is not None]

    # Not decided by what was read before the change, and decided again once that is read.
    assert service.run(answers()) == [True, True, False, True]
