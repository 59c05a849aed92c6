"""Clusters: a farm is one, people with popular computers are none, and nothing outlives the day."""

import random
import statistics
from typing import Any

import pytest

from agentgate.browser_check import clusters as module
from agentgate.browser_check.clusters import EARLIER, Cluster, Clusters, is_farm
from agentgate.browser_check.rhythm import rhythm_of
from agentgate.decision.signals.detectors.browser_class import browser_class
from agentgate.lib.clock import DAY_MS, SystemClock
from agentgate.storage.shared_cache.memory import MemorySharedCache
from tests.population.visitors import population
from tests.support.browser_client import CHROME, SIGNALS
from tests.support.service import NOON_MS
from tests.unit.browser_check.crowd import IPHONE, NOTHING, PHONE, computer, input_of, request, somewhere

pytestmark = pytest.mark.anyio
PEOPLE = 25_000
# By engine: handshakes of releases that are in use.
HANDSHAKES = {
    "chromium": ("t13d1516h2_8daaf6152771_e5627efa2ab1", "t13d1516h2_8daaf6152771_d8a2da3f94cd"),
    "firefox": ("t13d1715h2_5b57614c22b0_5c2c66f702b0",),
    "safari": ("t13d2014h2_a09f3c656075_14788d8d241b",),
}
# A library that shows itself as no engine, and under any engine's name.
LIBRARY = "t13d1412h2_0123456789ab_0123456789ab"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0"


def quartiles(values: list[float]) -> tuple[int, float]:
    """Return median and spread as the SDK sends them."""
    values = sorted(values)
    low, middle, high = (values[int((len(values) - 1) * share)] for share in (0.25, 0.5, 0.75))
    return round(middle), round((high - low) / middle, 4)


def rhythm(draw: random.Random) -> dict[str, Any]:
    """Return the input of a visitor who types a few words and presses four times; times are whole milliseconds."""
    gap, hold = draw.lognormvariate(5.1, 0.3), draw.lognormvariate(4.5, 0.22)
    keys = draw.randrange(10, 30)
    gaps = quartiles([float(round(gap * draw.lognormvariate(0, 0.35))) for _ in range(keys)])
    holds = quartiles([float(round(hold * draw.lognormvariate(0, 0.25))) for _ in range(keys)])
    presses = [float(round(85 * draw.lognormvariate(0, 0.28))) for _ in range(4)]
    mean = statistics.fmean(presses)
    return {
        **input_of(draw),
        "typed": {
            "presses": keys,
            **dict(zip(("gapMs", "gapSpread"), gaps, strict=True)),
            **dict(zip(("holdMs", "holdSpread"), holds, strict=True)),
        },
        "pointer": {
            "presses": 4,
            "holdMs": round(mean),
            "holdSpread": round(statistics.pstdev(presses) / mean, 4),
        },
    }


def blurred(told: dict[str, Any], draw: random.Random, most: float) -> dict[str, Any]:
    """Return an input whose times were all changed a little, each by itself."""
    parts = {
        name: {
            key: value * draw.uniform(1 - most, 1 + most) if key != "presses" else value for key, value in part.items()
        }
        for name, part in told.items()
        if isinstance(part, dict)
    }
    return {**told, "durationMs": draw.randrange(300, 60_000), **parts}


@pytest.mark.parametrize("phones", [0.3, 1.0])
async def test_people_with_popular_computers_and_phones_are_not_a_cluster(phones: float) -> None:
    draw, clusters, labelled = random.Random(33), Clusters(MemorySharedCache(SystemClock())), []
    for _ in range(PEOPLE if phones < 1 else 2_000):
        has_phone = draw.random() < phones
        sent = request(somewhere(draw), IPHONE if has_phone else CHROME)
        told = await clusters.observe(
            1, sent, PHONE if has_phone else computer(draw), NOTHING if has_phone else input_of(draw), NOON_MS
        )
        labelled += told.labels

    assert labelled == []
    assert not clusters.is_suspected(1, request("203.0.113.1"))


async def test_no_one_of_the_population_who_types_has_a_label() -> None:
    draw, clusters, labelled = random.Random(34), Clusters(MemorySharedCache(SystemClock())), []
    for visitor in population(seed=34, visitors=10_000, pages=1):
        agent = visitor.browser.user_agent
        # One in a hundred lies about the browser.
        engine = "chromium" if draw.random() < 0.01 else browser_class(agent).engine
        sent = request(visitor.address, agent, draw.choice(HANDSHAKES[engine]))
        told = await clusters.observe(1, sent, {**computer(draw), "userAgent": agent}, rhythm(draw), NOON_MS)
        labelled += told.labels

    assert labelled == []


async def test_people_with_one_browser_behind_a_carriers_network_have_no_label() -> None:
    draw, clusters, labelled = random.Random(35), Clusters(MemorySharedCache(SystemClock())), []
    for _ in range(5_000):
        sent = request(f"100.64.7.{draw.randrange(256)}", CHROME, HANDSHAKES["chromium"][0])
        labelled += (await clusters.observe(1, sent, computer(draw), rhythm(draw), NOON_MS)).labels

    assert labelled == []
    assert not clusters.is_suspected(1, request("100.64.7.1"))


@pytest.mark.parametrize(("most", "before"), [(0.0, 5), (0.02, 60), (0.05, 400)])
async def test_one_recording_changed_a_little_is_reported_among_people(most: float, before: int) -> None:
    draw, clusters = random.Random(36), Clusters(MemorySharedCache(SystemClock()))
    recorded, farm, others = rhythm(draw), [], []
    for number in range(1_000):
        if number % 2:
            member = await clusters.observe(1, request(somewhere(draw)), computer(draw), rhythm(draw), NOON_MS)
            others += member.labels
        else:
            told = blurred(recorded, draw, most)
            farm.append(await clusters.observe(1, request(somewhere(draw)), computer(draw), told, NOON_MS))

    assert others == []
    assert next(number for number, member in enumerate(farm) if "cluster.timing" in member.labels) < before
    assert all(member.cluster for member in farm if member.labels)
    assert any(member.is_replayed for member in farm) == (not most)


async def test_a_page_that_stays_open_behind_a_carriers_pool_is_not_a_replay() -> None:
    draw, clusters = random.Random(40), Clusters(MemorySharedCache(SystemClock()))
    typed, labelled = rhythm(draw), []
    for number in range(60):
        # The pointer moves on, nothing is pressed, and the address changes within three networks of the carrier.
        read = {**typed, "pointerMoves": 300 + number, "variation": 0.5 + number / 100}
        sent = request(f"100.64.{number % 3}.{number}")
        labelled += (await clusters.observe(1, sent, SIGNALS, read, NOON_MS)).labels

    assert "cluster.timing" not in labelled


async def test_phones_and_keyboards_alone_have_no_rhythm() -> None:
    told = rhythm(random.Random(37))

    assert rhythm_of(told) is not None
    assert rhythm_of({**told, "pointer": {}}) is None
    assert rhythm_of({**told, "typed": {**told["typed"], "holdMs": 1}}) is None
    assert rhythm_of({**told, "typed": {**told["typed"], "presses": 5}}) is None
    assert rhythm_of({**told, "pointer": {**told["pointer"], "holdSpread": "0.2"}}) is None


async def test_one_handshake_under_the_names_of_two_engines_is_a_cluster() -> None:
    draw, clusters, seen = random.Random(38), Clusters(MemorySharedCache(SystemClock())), []
    for number in range(200):
        sent = request(somewhere(draw), FIREFOX if number % 3 else CHROME, LIBRARY)
        seen.append((await clusters.observe(1, sent, computer(draw), NOTHING, NOON_MS)).labels)

    assert next(number for number, labels in enumerate(seen) if "cluster.ja4" in labels) < 60
    # Behind a proxy that terminates TLS, all visitors have one fingerprint, and many have no input yet.
    assert "cluster.farm" not in seen[-1]
    assert clusters.is_suspected(1, request("203.0.113.1", FIREFOX))


async def test_a_new_release_whose_handshake_no_one_knows_is_none() -> None:
    draw, clusters, seen = random.Random(39), Clusters(MemorySharedCache(SystemClock())), []
    for _ in range(400):
        sent = request(somewhere(draw), CHROME, LIBRARY)
        seen += (await clusters.observe(1, sent, computer(draw), input_of(draw), NOON_MS)).labels

    assert seen == []


async def test_a_farm_among_people_is_one_and_they_stay_none() -> None:
    draw, clusters = random.Random(5), Clusters(MemorySharedCache(SystemClock()))
    farm, others = [], []
    for number in range(1_200):
        if number % 2:
            farm.append((await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS)).labels)
        else:
            member = await clusters.observe(1, request(somewhere(draw)), computer(draw), input_of(draw), NOON_MS)
            others += member.labels

    assert others == []
    assert next(number for number, labels in enumerate(farm) if labels) < 60


async def test_a_farm_that_comes_to_a_sites_people_is_challenged() -> None:
    draw, clusters, people = random.Random(6), Clusters(MemorySharedCache(SystemClock())), []
    for _ in range(EARLIER + module.RECENT):
        member = await clusters.observe(1, request(somewhere(draw)), computer(draw), input_of(draw), NOON_MS)
        people += member.labels
    members = [await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS) for _ in range(300)]
    seen = [member.labels for member in members]

    assert people == []
    assert next(number for number, labels in enumerate(seen) if "cluster.farm" in labels) < 160
    assert clusters.is_suspected(1, request("203.0.113.1"))
    assert not clusters.is_suspected(2, request("203.0.113.1"))


async def test_identical_kiosks_that_are_always_half_of_a_site_are_not_a_farm() -> None:
    draw, clusters, labelled = random.Random(12), Clusters(MemorySharedCache(SystemClock())), set()
    for number in range(4 * EARLIER):
        is_kiosk = number % 5 < 3
        sent = await clusters.observe(
            1, request(somewhere(draw)), SIGNALS if is_kiosk else computer(draw), NOTHING, NOON_MS
        )
        labelled |= set(sent.labels)

    assert "cluster.shape" in labelled
    assert "cluster.farm" not in labelled


async def test_a_companys_laptops_come_again_and_are_not_a_farm() -> None:
    draw, clusters = random.Random(7), Clusters(MemorySharedCache(SystemClock()))
    for _ in range(EARLIER + module.RECENT):
        await clusters.observe(1, request(somewhere(draw)), computer(draw), input_of(draw), NOON_MS)
    homes = [somewhere(draw) for _ in range(120)]
    seen = [
        await clusters.observe(1, request(home), SIGNALS, NOTHING, NOON_MS) for _ in range(8) for home in homes[:40]
    ]
    seen += [await clusters.observe(1, request(home), SIGNALS, NOTHING, NOON_MS) for _ in range(5) for home in homes]

    assert {label for member in seen for label in member.labels} == {"cluster.shape"}
    assert not any(member.is_replayed for member in seen)


async def test_the_day_takes_everything_with_it() -> None:
    draw, clusters = random.Random(8), Clusters(MemorySharedCache(SystemClock()))
    for _ in range(80):
        await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS)

    later = await clusters.observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS + DAY_MS)
    assert later.labels == ()
    assert not clusters.is_suspected(1, request("203.0.113.1"))


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CLUSTERS", 50)
    clusters = Clusters(MemorySharedCache(SystemClock()))
    for number in range(500):
        shape = {**SIGNALS, "timezone": f"Zone/{number}"}
        await clusters.observe(number % 7, request("203.0.113.1"), shape, NOTHING, NOON_MS)

    assert len(clusters._known) == 50
    assert all(len(latest._order) <= module.RECENT for latest in clusters._recent.values())


async def test_workers_count_addresses_together() -> None:
    draw, shared = random.Random(9), MemorySharedCache(SystemClock())
    shared_by_all = type("Shared", (MemorySharedCache,), {"is_alone": property(lambda _: False)})(SystemClock())
    workers = [Clusters(shared_by_all) for _ in range(4)]
    seen = [await workers[n % 4].observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS) for n in range(100)]
    alone = [await Clusters(shared).observe(1, request(somewhere(draw)), SIGNALS, NOTHING, NOON_MS) for _ in range(100)]

    assert next(number for number, member in enumerate(seen) if member.labels) < 80
    assert not any(member.labels for member in alone)


@pytest.mark.parametrize(("with_input", "usual", "expected"), [(0, 0.1, True), (20, 0.1, False), (0, 0.4, False)])
async def test_computers_with_input_or_a_usual_share_are_not_a_farm(
    with_input: int, usual: float, *, expected: bool
) -> None:
    draw = random.Random(10)
    cluster = Cluster(with_input=with_input)
    for _ in range(100):
        cluster.add(draw.getrandbits(64), draw.getrandbits(64))

    assert is_farm(cluster, share=0.9, usual=usual) is expected


async def test_a_computer_that_only_names_itself_a_phone_is_a_shape() -> None:
    draw, labelled = random.Random(11), []
    for signals in (SIGNALS, {**SIGNALS, "platform": "iPhone", "touchPoints": 0}, PHONE):
        clusters = Clusters(MemorySharedCache(SystemClock()))
        for _ in range(60):
            member = await clusters.observe(1, request(somewhere(draw), IPHONE), signals, NOTHING, NOON_MS)
        labelled.append(member.labels)

    assert labelled == [("cluster.shape",), ("cluster.shape",), ()]
