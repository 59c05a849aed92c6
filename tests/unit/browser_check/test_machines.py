"""Machines: one computer with many addresses uses its hour up, people with its model do not, and others do not pay."""

import random
from typing import Any

import pytest

from agentgate.browser_check.clusters import Clusters
from agentgate.browser_check.machines import LEAST, PER_NETWORK, USUAL_TIMES
from agentgate.lib.clock import DAY_MS, HOUR_MS, SystemClock
from agentgate.storage.shared_cache.memory import MemorySharedCache
from tests.support.browser_client import INTERACTION, SIGNALS
from tests.support.service import NOON_MS
from tests.unit.browser_check.crowd import CHROME, NOTHING, computer, input_of, request, somewhere

pytestmark = pytest.mark.anyio
MIDNIGHT_MS = NOON_MS // DAY_MS * DAY_MS
NETWORKS = 10
ASKED = {"cluster.budget", "cluster.farm"}


def counted(clock: Any = None) -> Clusters:
    return Clusters(MemorySharedCache(clock or SystemClock()))


def pooled(number: int) -> str:
    """Return an address of a pool of 250 in ten networks."""
    return f"198.18.{number % NETWORKS}.{number // NETWORKS % 25 + 1}"


def moved(draw: random.Random) -> dict[str, float]:
    """Return a visit of the farm: one in ten moves a pointer, which is enough to be no `cluster.farm`."""
    if draw.random() < 0.1:
        return {**NOTHING, "pointerMoves": draw.randrange(5, 300), "variation": draw.uniform(0.3, 3)}
    return NOTHING


async def silent(clusters: Clusters, visits: int, now_ms: int, **options: int) -> int:
    """Return how many of the farm's visits have no label that asks."""
    draw, passed = random.Random(1), 0
    for number in range(visits):
        member = await clusters.observe(1, request(pooled(number)), SIGNALS, moved(draw), now_ms, **options)
        passed += ASKED.isdisjoint(member.labels)
    return passed


async def test_one_machine_with_a_pool_of_addresses_uses_its_hour_up() -> None:
    assert await silent(counted(), 13_000, NOON_MS) <= LEAST + NETWORKS * PER_NETWORK


async def test_a_farm_that_varies_its_headers_windows_and_languages_has_one_budget() -> None:
    clusters, passed = counted(), 0
    for number in range(3_000):
        window = {"innerWidth": 800 + number, "outerWidth": 820 + number, "screenX": number, "ratio": number / 1000}
        told = {**SIGNALS, "languages": [f"de-{number}"], "timezone": f"Etc/{number}", "userAgent": str(number)}
        told |= {"screen": {**SIGNALS["screen"], **window}}
        member = await clusters.observe(1, request(pooled(number), f"{CHROME} {number}"), told, NOTHING, NOON_MS)
        passed += "cluster.budget" not in member.labels

    assert passed <= LEAST + NETWORKS * PER_NETWORK


async def test_a_farm_cannot_raise_its_own_budget_hour_by_hour() -> None:
    class Later(SystemClock):
        def __init__(self) -> None:
            self.ms = MIDNIGHT_MS

        def now_ms(self) -> int:
            return self.ms

    clock = Later()
    clusters = counted(clock)
    for hour in range(6):
        clock.ms = MIDNIGHT_MS + hour * HOUR_MS
        most = max(LEAST, USUAL_TIMES * NETWORKS * PER_NETWORK) + NETWORKS * PER_NETWORK
        assert await silent(clusters, 3_000, clock.ms) <= most


async def test_people_elsewhere_do_not_pay_for_a_farm_with_their_computer() -> None:
    draw, clusters, labelled = random.Random(3), counted(), []
    await silent(clusters, 3_000, NOON_MS)
    for _ in range(200):
        member = await clusters.observe(1, request(somewhere(draw)), SIGNALS, input_of(draw), NOON_MS)
        labelled += [label for label in member.labels if label == "cluster.budget"]

    assert labelled == []


async def test_a_budget_that_is_used_up_does_not_slow_others_down() -> None:
    clusters = counted()
    for number in range(40):
        member = await clusters.observe(
            1, request(pooled(number % 20)), SIGNALS, INTERACTION | {"n": number}, NOON_MS, machine_tokens=10
        )

    assert "cluster.budget" in member.labels
    assert not clusters.is_suspected(1, request("203.0.113.1"))


async def test_a_site_sets_its_own_budget() -> None:
    assert await silent(counted(), 300, NOON_MS, machine_tokens=50) == 50


async def test_the_workers_count_one_hour_together() -> None:
    shared = MemorySharedCache(SystemClock())
    workers = [Clusters(shared) for _ in range(4)]
    seen = [
        await workers[number % 4].observe(1, request(pooled(number)), SIGNALS, NOTHING, NOON_MS, machine_tokens=50)
        for number in range(100)
    ]

    assert sum("cluster.budget" not in member.labels for member in seen) == 50


async def test_debuggers_on_one_shape_from_many_networks_are_a_cluster() -> None:
    draw, clusters = random.Random(4), counted()
    inspected = {**SIGNALS, "debugger": True}
    seen = [
        (await clusters.observe(1, request(somewhere(draw)), inspected, NOTHING, NOON_MS)).labels for _ in range(12)
    ]

    assert "cluster.debugged" not in seen[4]
    assert "cluster.debugged" in seen[-1]
    plain = await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS)
    assert "cluster.debugged" not in plain.labels


async def test_developers_among_people_with_their_laptop_are_not_a_cluster() -> None:
    draw, clusters, labelled = random.Random(5), counted(), []
    for number in range(2_000):
        told = {**SIGNALS, "debugger": number % 25 == 0 and number > 100}
        labelled += (await clusters.observe(1, request(somewhere(draw)), told, input_of(draw), NOON_MS)).labels

    assert "cluster.debugged" not in labelled


async def test_a_companys_developers_in_one_network_are_not_a_cluster() -> None:
    clusters, labelled = counted(), []
    for number in range(100):
        told = {**computer(random.Random(6)), "debugger": True}
        labelled += (await clusters.observe(1, request(f"203.0.113.{number}"), told, NOTHING, NOON_MS)).labels

    assert "cluster.debugged" not in labelled
