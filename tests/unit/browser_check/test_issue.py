"""IDs and seeds: each is issued once, and the next one cannot be predicted."""

import asyncio

import pytest

from agentgate.browser_check.issue import CHALLENGE_ID, new_seed
from agentgate.lib.ids import new_challenge_id
from agentgate.lib.tasks.turns import KeyedLocks

pytestmark = pytest.mark.anyio
MANY = 100_000


def test_no_challenge_id_comes_twice():
    made = {new_challenge_id() for _ in range(MANY)}

    assert len(made) == MANY
    assert all(CHALLENGE_ID.match(each) for each in made)


def test_seeds_are_128_random_bits():
    made = [new_seed() for _ in range(MANY)]
    ones = [0] * 128
    for seed in made:
        number = int.from_bytes(seed, "big")
        for place in range(0, 128, 8):
            ones[place] += number >> place & 1

    assert len(set(made)) == MANY
    # Six standard deviations of a fair coin.
    assert all(abs(count - MANY / 2) < 6 * (MANY / 4) ** 0.5 for count in ones[::8])


@pytest.mark.parametrize(
    "text", ["", "ch_", "ch_" + "0" * 25, "ch_" + "0" * 27, "ch_8" + "0" * 25, "ch_" + "u" * 26, "ch_" + "A" * 26]
)
def test_what_no_challenge_was_ever_called_is_not_looked_up(text):
    assert not CHALLENGE_ID.match(text)


async def test_users_who_verify_one_challenge_take_turns():
    turns = KeyedLocks()
    order = []

    async def verify(name, challenge_id):
        async with turns.of(challenge_id):
            order.append(f"{name} begins")
            await asyncio.sleep(0.01)
            order.append(f"{name} ends")

    await asyncio.gather(verify("a", "one"), verify("b", "one"), verify("c", "two"))

    assert order.index("a ends") < order.index("b begins")
    assert order.index("c begins") < order.index("a ends")


async def test_a_turn_that_is_over_leaves_nothing_behind():
    turns = KeyedLocks()

    async def verify(number):
        async with turns.of(f"ch_{number % 10}"):
            await asyncio.sleep(0)

    await asyncio.gather(*(verify(number) for number in range(100)))

    assert len(turns) == 0
