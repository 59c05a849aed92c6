"""Guesses at memory-hard proof of work pass less often than with one attempt, although a challenge has four."""

from bench.guesses import measure

CHALLENGES = 300
# Three standard deviations of a share at 300 challenges.
CHANCE = 0.09


def test_four_attempts_let_fewer_guesses_pass_than_one_did():
    rows = list(measure(CHALLENGES))

    assert rows[0].now == 0
    assert rows[-1].now == 1
    for row in rows[1:-1]:
        assert row.now <= row.one_attempt + CHANCE
        assert row.now < row.redrawn
        assert row.cost > 0.9
