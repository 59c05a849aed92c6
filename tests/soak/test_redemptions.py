"""A million attempts to redeem a hundred thousand tokens on each store."""

import asyncio
import os
import secrets
import sys

import pytest

from tests.support.redemptions import race, scene

# Fewer for a first look: REDEMPTION_ATTEMPTS=100000.
ATTEMPTS = int(os.environ.get("REDEMPTION_ATTEMPTS") or 1_000_000)
ATTEMPTS_EACH = 10

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]


@pytest.fixture(params=["sqlite", "postgres"])
def settings_of(request):
    """Two workers on either store."""
    two = {"AGENTGATE_WORKERS": "2", "AGENTGATE_DRAIN_SECONDS": "0"}
    if request.param == "postgres":
        two["AGENTGATE_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    return two


def test_a_million_attempts_redeem_no_token_twice(tmp_path, settings_of, capsys):
    seed = int(os.environ.get("RACE_SEED") or secrets.randbelow(2**32))
    with scene(tmp_path, **settings_of) as site:
        tokens = site.tokens(ATTEMPTS // ATTEMPTS_EACH)
        outcome = asyncio.run(race(site, tokens, attempts_each=ATTEMPTS_EACH, seed=seed))

    with capsys.disabled():
        sys.stdout.write(f"\nredemptions: {outcome} (RACE_SEED={seed})\n")
    assert outcome.double() == []
    assert [token for token in tokens if not outcome.wins[token] and token not in outcome.doubtful] == []
