"""A busy hour of a site: people with one popular device pass untouched, and a farm among them has a budget."""

import random
import sys
from typing import Any, NamedTuple

import pytest

from agentgate.browser_check.budgets import CROWD, PER_ADDRESS, PER_CROWDED, PER_HOUR, TokenBudgets
from agentgate.browser_check.clusters import Clusters
from agentgate.browser_check.machines import LEAST
from agentgate.lib.clock import HOUR_MS, SystemClock
from agentgate.storage.shared_cache.memory import MemorySharedCache
from tests.support.browser_client import CHROME, SIGNALS
from tests.support.service import NOON_MS
from tests.unit.browser_check.crowd import ANDROID, IPHONE, NOTHING, PHONE, input_of, request

pytestmark = pytest.mark.anyio
VISITS, NETWORKS = 10_000, 500
# The bars: people who are challenged, and tokens of a farm with 250 addresses in ten networks.
MOST_CHALLENGED, MOST_TOKENS = VISITS // 100, 1_500
ASKED = {"cluster.budget", "cluster.farm"}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "laptop": (CHROME, SIGNALS),
    "Android phone": (ANDROID, {**SIGNALS, "platform": "Linux armv81", "touchPoints": 5}),
    "iPhone": (IPHONE, PHONE),
}


class Clock(SystemClock):
    def __init__(self) -> None:
        self.ms = NOON_MS

    def now_ms(self) -> int:
        return self.ms


class Site:
    """The counters of the browser check, as `Scrutiny` reads them."""

    def __init__(self) -> None:
        self.clock = Clock()
        cache = MemorySharedCache(self.clock)
        self._clusters, self._budgets = Clusters(cache), TokenBudgets(cache)

    async def is_silent(self, address: str, agent: str, signals: dict[str, Any], did: dict[str, Any]) -> bool:
        """Count a check; return whether it passes without a visible challenge."""
        member = await self._clusters.observe(1, request(address, agent), signals, did, self.clock.ms)
        if not ASKED.isdisjoint(member.labels):
            return False
        return not (await self._budgets.count(1, address, self.clock.ms)).is_over()


class People(NamedTuple):
    """Visitors with one kind of device; `silent` of them have no input yet."""

    kind: str
    skew: float
    silent: float

    def visitors(self, draw: random.Random) -> list[tuple[str, dict[str, Any]]]:
        """Return address and input of each visit. With a skew of 1, a few carriers have most visitors (Zipf)."""
        weights = [1 / (rank + 1) ** self.skew for rank in range(NETWORKS)]
        return [
            (
                f"100.{number >> 8}.{number & 255}.{draw.randrange(1, 255)}",
                NOTHING if draw.random() < self.silent else {**input_of(draw), "durationMs": draw.random()},
            )
            for number in draw.choices(range(NETWORKS), weights, k=VISITS)
        ]


def pooled(number: int) -> str:
    """Return an address of a pool of 250 in ten networks."""
    return f"198.18.{number % 10}.{number // 10 % 25 + 1}"


def farm_visit(name: str, number: int) -> tuple[str, dict[str, Any]]:
    """Return the User-Agent and the measurements that a farm claims."""
    if name == "forged":
        return CHROME, {**SIGNALS, "screen": {"width": 800 + number, "height": 600 + number}}
    if name in KINDS:
        return KINDS[name]
    return (IPHONE if name == "iPhone by name" else ANDROID if name == "Android by name" else CHROME), {
        **SIGNALS,
        "renderer": "the farm's",
    }


async def tokens_of(site: Site, farm: str, numbers: range, draw: random.Random) -> int:
    """Return how many of a farm's visits pass silently. One in ten moves a pointer."""
    passed = 0
    for number in numbers:
        did = {**NOTHING, "pointerMoves": number, "variation": draw.random()} if number % 10 == 0 else NOTHING
        passed += await site.is_silent(pooled(number), *farm_visit(farm, number), did)
    return passed


@pytest.mark.parametrize(
    "people",
    [
        People("laptop", 0, 1),
        People("laptop", 1, 1),
        People("laptop", 1, 0.5),
        People("Android phone", 1, 0.9),
        People("iPhone", 0, 0.5),
        People("iPhone", 1, 1),
    ],
)
async def test_people_with_one_popular_device_pass_whatever_their_networks(people: People) -> None:
    draw, site = random.Random(59), Site()
    agent, signals = KINDS[people.kind]
    silent = [await site.is_silent(address, agent, signals, did) for address, did in people.visitors(draw)]

    assert silent.count(False) <= MOST_CHALLENGED


@pytest.mark.parametrize("skew", [0, 1])
async def test_a_farm_among_people_takes_its_share_and_none_of_theirs(
    skew: int, capsys: pytest.CaptureFixture[str]
) -> None:
    draw, site, challenged, tokens = random.Random(60), Site(), 0, 0
    agent, signals = KINDS["laptop"]
    for number, (address, did) in enumerate(People("laptop", skew, 0.5).visitors(draw)):
        challenged += not await site.is_silent(address, agent, signals, did)
        # It claims the people's own laptop.
        tokens += await tokens_of(site, "laptop", range(number, number + 1), draw)
    with capsys.disabled():
        sys.stdout.write(
            f"\nskew {skew}: {challenged} of {VISITS} people challenged, {tokens} tokens of the farm among them\n"
        )

    assert challenged <= MOST_CHALLENGED
    assert 1_000 < tokens <= MOST_TOKENS


@pytest.mark.parametrize("farm", ["stock", "Android by name", "iPhone by name", "Android phone", "iPhone", "forged"])
async def test_no_claim_of_a_farm_is_worth_more_than_its_addresses(
    farm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = await tokens_of(Site(), farm, range(4_000), random.Random(61))
    with capsys.disabled():
        sys.stdout.write(f"\nfarm, {farm}: {tokens} tokens\n")

    # Another name of the browser or device is worth nothing: the hardware has the budget.
    assert tokens <= (LEAST if farm != "forged" else MOST_TOKENS)


async def test_a_farm_that_begins_before_the_hour_ends_has_one_budget() -> None:
    draw, site = random.Random(62), Site()
    site.clock.ms += HOUR_MS - 60_000
    tokens = await tokens_of(site, "forged", range(2_000), draw)
    site.clock.ms += 120_000
    tokens += await tokens_of(site, "forged", range(2_000, 4_000), draw)

    assert tokens <= MOST_TOKENS


async def test_a_network_has_what_its_visiting_addresses_bring() -> None:
    budgets, got = TokenBudgets(MemorySharedCache(SystemClock())), {}
    for addresses in (1, 6, 50, CROWD, 254):
        passed = 0
        for number in range(3_000):
            address = f"198.18.{addresses}.{number % addresses + 1}"
            passed += not (await budgets.count(1, address, NOON_MS)).is_over()
        got[addresses] = passed

    assert got == {
        1: PER_HOUR,
        6: PER_HOUR,
        50: 50 * PER_ADDRESS,
        CROWD: CROWD * PER_CROWDED,
        254: 254 * PER_CROWDED,
    }


async def test_an_ipv6_network_brings_no_more_addresses_than_an_ipv4_one() -> None:
    budgets, passed = TokenBudgets(MemorySharedCache(SystemClock())), 0
    for number in range(5_000):
        passed += not (await budgets.count(1, f"2001:db8:1:{number:x}::1", NOON_MS)).is_over()

    assert passed == 254 * PER_CROWDED


async def test_workers_without_redis_count_the_addresses_of_a_network() -> None:
    budgets = TokenBudgets(MemorySharedCache(Clock(), workers=2))
    for number in range(CROWD):
        found = await budgets.count(1, f"198.18.7.{number}", NOON_MS)
        found = await budgets.count(1, f"198.18.7.{number}", NOON_MS)

    # Each of two workers counts for both, addresses too.
    assert found == (4, 4 * CROWD, 2 * CROWD * PER_CROWDED)
    assert not found.is_over()
