"""Each token is redeemed once, with many attempts at once on two workers. Across faults: tests/faults."""

import asyncio
import sys

import pytest

from tests.support.redemptions import race, scene

TOKENS, ATTEMPTS_EACH = 1_000, 10
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
    # A caller in doubt may have won its token. All other tokens have a known winner.
    assert [token for token in tokens if not outcome.wins[token] and token not in outcome.doubtful] == []
    assert len(outcome.doubtful) < TOKENS / 20
