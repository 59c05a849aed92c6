"""Tokens are spent once: by many at once on two workers, across lost answers, and across crashes of the service."""

import asyncio
import random
import sys
import threading

import pytest

from tests.redemptions import Connection, lose_answers, race, redeem_until_gone, scene

TOKENS, ATTEMPTS_EACH = 1_000, 10
LOST = 100
KILLS = 3
SEED = 20_261_115


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    """The settings of a store."""
    return {} if request.param == "sqlite" else {"AGENTGATE_DATABASE_URL": request.getfixturevalue("postgres_url")}


# A few seconds on a quiet machine.
@pytest.mark.timeout(300)
def test_of_all_who_redeem_a_token_on_two_workers_and_at_the_gateway_one_succeeds(tmp_path, database, capsys):
    with scene(tmp_path, AGENTGATE_WORKERS="2", AGENTGATE_DRAIN_SECONDS="0", **database) as site:
        tokens = site.tokens(TOKENS)
        outcome = asyncio.run(race(site, tokens, attempts_each=ATTEMPTS_EACH, seed=SEED))

    with capsys.disabled():
        sys.stdout.write(f"\nredemptions: {outcome}\n")
    assert outcome.double() == []
    # Whoever was left in doubt may have been the one; of all other tokens somebody was.
    assert [token for token in tokens if not outcome.wins[token] and token not in outcome.doubtful] == []
    assert len(outcome.doubtful) < TOKENS / 20


@pytest.mark.timeout(120)
def test_an_answer_that_its_caller_did_not_wait_for_is_there_when_it_asks_again(tmp_path, database):
    with scene(tmp_path, AGENTGATE_WORKERS="2", AGENTGATE_DRAIN_SECONDS="0", **database) as site:
        tokens = site.tokens(LOST)
        outcome = asyncio.run(lose_answers(site, tokens))

    assert outcome.statuses == {"mine 200": 2 * LOST, "other 409": LOST}
    # One body for each token, however often it was asked for.
    assert set(outcome.wins.values()) == {1}


@pytest.mark.timeout(300)
def test_an_acknowledged_redemption_survives_a_crash_and_an_open_one_happens_once(tmp_path):
    draw = random.Random(SEED)
    told = {}
    for _ in range(KILLS):
        with scene(tmp_path) as site:
            killer = threading.Timer(draw.uniform(0.06, 0.15), site.process.kill)
            tokens = site.tokens(1_000)
            killer.start()
            told |= asyncio.run(redeem_until_gone(site, tokens))
            killer.join()
    with scene(tmp_path) as site:
        assert asyncio.run(problems(site, told)) == []
    assert sum(body is not None for body in told.values()) > KILLS * 5


async def problems(site, told):
    """Return the tokens whose second answer is not the first one, or that another call can still redeem."""
    left = list(told.items())
    found = []

    async def ask():
        connection = Connection(site)
        while left:
            token, body = left.pop()
            status, again = await connection.redeem(token, "mine")
            other, _ = await connection.redeem(token, "other")
            if status != 200 or other != 409 or body not in {None, again}:
                found.append((status, other, body, again))
        await connection.close()

    # Beside each other, because calls that come together share a commit.
    await asyncio.gather(*(ask() for _ in range(32)))
    return found
