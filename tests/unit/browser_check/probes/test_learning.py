"""Learned programs and the drift guard: who can teach what, and how much is remembered."""

import random

import pytest

from agentgate.browser_check.probes.checker import ProbeChecker, is_odd
from agentgate.browser_check.probes.engines import BrowserClaim
from agentgate.browser_check.probes.generate import family_of
from agentgate.browser_check.probes.judge import Judgment, ProbeState, Vote
from agentgate.browser_check.probes.learning import (
    HOURS,
    MOST_KEYS,
    MOST_VOTES,
    OPEN,
    PROGRAMS,
    DriftGuard,
    Learner,
)
from agentgate.browser_check.probes.pool import Pools
from agentgate.browser_check.probes.ticket import AskedProgram
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.lib.limiter import Limiter
from agentgate.storage.shared_cache.memory import MemorySharedCache

SAFARI = BrowserClaim("webkit", 26)
TRUTH, LIE = (100, 200, 300), (900, 900, 900)


def session(pool, number, answer, **fields):
    vote = Vote(AskedProgram(family_of(number), None, pool, number), answer, right=False)
    given = {"state": ProbeState.RIGHT, "right": 8, "of": 8, "engine": "webkit", "version": 26, "votes": (vote,)}
    return Judgment(**{**given, **fields})


def taught(answers, **fields):
    """Have one network after the other vote on the first program; return what was learned."""
    learner = Learner()
    pool, _ = learner.fresh(SAFARI, b"seed", 0)
    for network, answer in enumerate(answers):
        learner.vote(session(pool.key, 0, answer, **fields), str(network), 0)
    pools = learner.pools(SAFARI, 0)
    return pools[0].programs[0].answer_of("webkit") if pools else None


def test_twenty_voters_who_agree_teach_a_result():
    assert taught([TRUTH] * 19) is None
    assert taught([TRUTH] * 20) == TRUTH
    # Within half a pixel they agree.
    assert taught([TRUTH, (104, 200, 308)] * 10) == TRUTH


def test_10_percent_of_liars_stops_nothing_and_more_only_stop_it():
    assert taught([LIE, LIE, *[TRUTH] * 18]) == TRUTH
    assert taught([LIE, LIE, LIE, *[TRUTH] * 17]) is None


@pytest.mark.parametrize("liars", [0.2, 0.4])
def test_below_half_of_the_voters_no_one_teaches_a_lie(liars):
    drawn = random.Random(7)
    for _ in range(150):
        votes = [LIE if drawn.random() < liars else TRUTH for _ in range(MOST_VOTES)]
        assert taught(votes) in {None, TRUTH}


def test_a_network_has_one_vote():
    learner = Learner()
    pool, _ = learner.fresh(SAFARI, b"seed", 0)
    for _ in range(50):
        learner.vote(session(pool.key, 0, LIE), "192.0.2", 0)

    assert not learner.pools(SAFARI, 0)


@pytest.mark.parametrize(
    "fields",
    [{"right": 6}, {"state": ProbeState.DRIFT}, {"state": ProbeState.WRONG}, {"engine": None}, {"engine": "blink"}],
)
def test_who_is_not_right_about_known_programs_has_no_vote(fields):
    assert taught([TRUTH] * 40, **fields) is None


def test_votes_on_programs_of_another_seed_do_not_count():
    learner = Learner()
    for network in range(40):
        learner.vote(session("other", 0, TRUTH), str(network), 0)

    assert not learner.pools(SAFARI, 0)


def test_what_was_learned_knows_its_voters_versions_and_is_kept_for_a_day():
    learner = Learner()
    pool, _ = learner.fresh(SAFARI, b"seed", 0)
    for network in range(20):
        version = 27 if network < 2 else 26
        learner.vote(session(pool.key, 0, TRUTH, version=version), str(network), 0)

    assert learner.pools(SAFARI, 0)[0].seen == {"webkit": (26,)}
    assert learner.count((HOURS - 1) * HOUR_MS) == {"webkit": 1}
    assert learner.count(HOURS * HOUR_MS) == {}


def test_fresh_programs_are_the_first_that_are_open_and_new_each_hour():
    learner = Learner()
    asked = {learner.fresh(SAFARI, bytes([number]), 0)[1] for number in range(200)}
    now, later = learner.fresh(SAFARI, b"seed", 0)[0], learner.fresh(SAFARI, b"seed", HOUR_MS)[0]

    assert asked == set(range(OPEN))
    assert now.key != later.key
    assert PROGRAMS == 200


def test_a_network_is_challenged_a_fresh_program_again_only_where_there_is_no_other():
    learner, had = Learner(), set()
    for number in range(OPEN):
        pool, fresh = learner.fresh(SAFARI, bytes([number]), 0, had)
        assert (pool.key, fresh) not in had
        had.add((pool.key, fresh))

    assert learner.fresh(SAFARI, b"seed", 0, had)[1] in range(OPEN)


@pytest.mark.parametrize(
    ("label", "odd"),
    [
        ("browser.evidence", False),
        ("behavior.none", False),
        ("probes.right", False),
        ("net.country.de", False),
        ("browser.patched", True),
        ("behavior.uniform_timing", True),
        ("probes.engine_mismatch", True),
        ("net.datacenter", True),
        ("model.bot.possible", True),
        ("rate.visitor.high", True),
        ("cluster.evidence", True),
    ],
)
def test_sessions_that_show_something_odd_are_not_learned_from(label, odd):
    assert is_odd(label) is odd


def test_the_checker_learns_from_sessions_without_anything_odd_only():
    def learned(label):
        clock = FixedClock(0)
        shared_cache = MemorySharedCache(clock)
        checker = ProbeChecker(Pools(None), shared_cache=shared_cache, limiter=Limiter(shared_cache, clock))
        pool, _ = checker.learner.fresh(SAFARI, b"seed", 0)
        for network in range(20):
            checker.learn(session(pool.key, 0, TRUTH), ("ua.browser", label), address=f"82.1.{network}.7", now_ms=0)
        return checker.learner.count(0)

    assert learned("probes.right") == {"webkit": 1}
    assert learned("net.datacenter") == {}


def asked(family, *, right, version=150, state=ProbeState.DRIFT):
    vote = Vote(AskedProgram(family, (1, 2, 3)), (1, 2, 3), right=right)
    return Judgment(state=state, right=6, of=8, engine="blink", version=version, votes=(vote,))


def drifted(families, *, wrong_every, networks=200, **fields):
    guard = DriftGuard()
    for family in families:
        for network in range(networks):
            guard.note(asked(family, right=bool(network % wrong_every), **fields), str(network), 0)
    return guard


def test_a_family_with_more_than_two_percent_wrong_is_omitted_for_its_version():
    guard = drifted(["mix"], wrong_every=40)

    assert guard.left_out("blink", 150) == {"mix"}
    assert guard.left_out("blink", 151) == guard.left_out("gecko", 150) == frozenset()
    assert not drifted(["mix"], wrong_every=50).all_left_out()
    assert not drifted(["mix"], wrong_every=2, networks=199).all_left_out()


def test_sessions_with_wrong_results_and_repeated_networks_do_not_count():
    assert not drifted(["mix"], wrong_every=1, state=ProbeState.WRONG).all_left_out()
    guard = DriftGuard()
    for _ in range(500):
        guard.note(asked("mix", right=False), "192.0.2", 0)
    assert not guard.all_left_out()


def test_at_most_three_families_a_day_are_omitted():
    guard = drifted(["mix", "svg", "anim", "grid"], wrong_every=2)

    assert len(guard.all_left_out()) == 3
    assert guard.waiting == {("grid", "blink", 150)}
    for network in range(200):
        guard.note(asked("floats", right=False), str(network), DAY_MS)
    assert len(guard.all_left_out()) == 4
    assert not guard.waiting


def test_what_the_guard_remembers_is_bounded():
    guard = DriftGuard()
    for version in range(1, MOST_KEYS + 100):
        guard.note(asked("mix", right=True, version=version), "a", 0)

    assert len(guard._tallies) == MOST_KEYS
