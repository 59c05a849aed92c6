"""Clusters: a farm is one, people with popular computers are none, and nothing outlives the day."""

import random

import pytest

from agentgate.http.request import Request
from agentgate.lib.clock import DAY_MS, SystemClock
from agentgate.protection.browser_check import clusters as module
from agentgate.protection.browser_check.clusters import Cluster, Clusters, shape_labels
from agentgate.storage.shared_cache.memory import MemorySharedCache
from tests.support.browser_client import CHROME, SIGNALS
from tests.support.service import NOON_MS

pytestmark = pytest.mark.anyio
NOTHING = {"pointerMoves": 0, "touches": 0, "keys": 0, "scrolls": 0, "clicks": 0, "untrusted": 0, "durationMs": 0}
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.6 Mobile/15E148 Safari/604.1"
)
PHONE = {**SIGNALS, "platform": "iPhone", "renderer": "Apple GPU", "touchPoints": 5, "userAgent": IPHONE, "plugins": 5}
PEOPLE = 25_000
# The computers of visitors of one country.
SCREENS = {(1920, 1080): 40, (1366, 768): 14, (1536, 864): 14, (2560, 1440): 12, (1440, 900): 8, (1280, 720): 12}
GRAPHICS = (
    "UHD Graphics 620",
    "UHD Graphics 630",
    "Iris Xe Graphics",
    "GeForce RTX 3060",
    "Radeon Graphics",
    "UHD 770",
)
CORES = {8: 40, 4: 20, 12: 15, 16: 15, 6: 10}


def request(address: str, agent: str = CHROME) -> Request:
    headers = [
        (b"user-agent", agent.encode()),
        (b"accept-language", b"de-DE,de;q=0.9"),
        (b"origin", b"https://a.example"),
    ]
    return Request(
        method="POST", path="/v1/browser/verify", query_string=b"", headers=headers, address=address, secure=True
    )


def somewhere(draw: random.Random) -> str:
    return ".".join(str(draw.randrange(1, 224)) for _ in range(4))


def input_of(draw: random.Random) -> dict[str, float]:
    if draw.random() < 0.4:
        # The check ran as the page was loaded.
        return NOTHING
    return {
        **NOTHING,
        "pointerMoves": draw.randrange(300),
        "keys": draw.randrange(40),
        "scrolls": draw.randrange(30),
        "clicks": draw.randrange(4),
        "durationMs": draw.randrange(300, 60_000),
        "variation": round(draw.uniform(0.3, 3), 4),
    }


def computer(draw: random.Random) -> dict[str, object]:
    width, height = draw.choices(list(SCREENS), list(SCREENS.values()))[0]
    is_whole = draw.random() < 0.6
    outer = (width, height - 40) if is_whole else (draw.randrange(800, width), draw.randrange(600, height))
    return {
        **SIGNALS,
        "screen": {"width": width, "height": height, "outerWidth": outer[0], "outerHeight": outer[1]},
        "hardwareConcurrency": draw.choices(list(CORES), list(CORES.values()))[0],
        "renderer": f"ANGLE (Intel, {draw.choice(GRAPHICS)} Direct3D11)",
        "timezone": "Europe/Berlin",
    }


@pytest.mark.parametrize("phones", [0.3, 1.0])
async def test_people_with_popular_computers_and_phones_are_no_cluster(phones: float) -> None:
    draw, clusters, labelled = random.Random(33), Clusters(MemorySharedCache(SystemClock())), []
    for _ in range(PEOPLE if phones < 1 else 2_000):
        has_phone = draw.random() < phones
        sent = request(somewhere(draw), IPHONE if has_phone else CHROME)
        labelled += await clusters.observe(
            1, sent, PHONE if has_phone else computer(draw), NOTHING if has_phone else input_of(draw), NOON_MS
        )

    assert labelled == []
    assert not clusters.is_suspected(1, request("203.0.113.1"))


async def test_a_farm_among_people_is_one_and_they_stay_none() -> None:
    draw, clusters = random.Random(5), Clusters(MemorySharedCache(SystemClock()))
    farm, others = [], []
    for number in range(1_200):
        if number % 2:
            farm.append(await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS))
        else:
            others += await clusters.observe(1, request(somewhere(draw)), computer(draw), input_of(draw), NOON_MS)

    assert others == []
    assert next(number for number, labels in enumerate(farm) if labels) < 60


async def test_a_farm_alone_is_asked_before_its_hundredth_token() -> None:
    draw, clusters = random.Random(6), Clusters(MemorySharedCache(SystemClock()))
    seen = [await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS) for _ in range(400)]

    assert next(number for number, labels in enumerate(seen) if "cluster.farm" in labels) < 100
    assert clusters.is_suspected(1, request("203.0.113.1"))
    assert not clusters.is_suspected(2, request("203.0.113.1"))
    assert all("cluster.farm" in labels for labels in seen[120:])


async def test_a_companys_laptops_come_again_and_are_no_farm() -> None:
    draw, clusters = random.Random(7), Clusters(MemorySharedCache(SystemClock()))
    homes = [somewhere(draw) for _ in range(120)]
    seen = [
        await clusters.observe(1, request(home), SIGNALS, NOTHING, NOON_MS) for _ in range(8) for home in homes[:40]
    ]
    seen += [await clusters.observe(1, request(home), SIGNALS, NOTHING, NOON_MS) for _ in range(5) for home in homes]

    assert {label for labels in seen for label in labels} == {"cluster.shape"}


async def test_the_day_takes_everything_with_it() -> None:
    draw, clusters = random.Random(8), Clusters(MemorySharedCache(SystemClock()))
    for _ in range(80):
        await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS)

    assert await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS + DAY_MS) == ()
    assert not clusters.is_suspected(1, request("203.0.113.1"))


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CLUSTERS", 50)
    clusters = Clusters(MemorySharedCache(SystemClock()))
    for number in range(500):
        shape = {**SIGNALS, "timezone": f"Zone/{number}"}
        await clusters.observe(number % 7, request("203.0.113.1"), shape, NOTHING, NOON_MS)

    assert len(clusters._known) == 50
    assert all(len(order) <= module.RECENT for order, _ in clusters._recent.values())


async def test_workers_count_addresses_together() -> None:
    draw, shared = random.Random(9), MemorySharedCache(SystemClock())
    shared_by_all = type("Shared", (MemorySharedCache,), {"is_alone": property(lambda _: False)})(SystemClock())
    workers = [Clusters(shared_by_all) for _ in range(4)]
    seen = [await workers[n % 4].observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS) for n in range(100)]
    alone = [await Clusters(shared).observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS) for _ in range(100)]

    assert next(number for number, labels in enumerate(seen) if labels) < 80
    assert not any(alone)


@pytest.mark.parametrize(("with_input", "labels"), [(0, ["cluster.shape", "cluster.farm"]), (20, ["cluster.shape"])])
async def test_computers_at_which_somebody_types_are_no_farm(with_input: int, labels: list[str]) -> None:
    draw = random.Random(10)
    cluster = Cluster(with_input=with_input)
    for _ in range(100):
        cluster.add(draw.getrandbits(64), draw.getrandbits(64))

    assert shape_labels(cluster, share=0.9) == labels
