"""Draws: what is in one, by whose secret, and what a network does not get twice."""

from collections import Counter

from agentgate.browser_check.probes.draw import HOUR_MS, MOST_NETWORKS, RecentPrograms, draw_programs
from agentgate.browser_check.probes.generate import SIMPLE
from agentgate.browser_check.probes.pool import Pools

POOL = Pools(None).shipped


def draw(number, **fields):
    return draw_programs([POOL], number.to_bytes(16, "big"), **{"engine": "blink", **fields})


def test_a_draw_has_four_deep_programs_and_four_of_different_families():
    for number in range(200):
        families = Counter(one.known.family for one in draw(number))

        assert families.pop("deep") == 4
        assert set(families.values()) == {1}
        assert len(families) == 4


def test_the_secret_draws():
    assert [one.key for one in draw(5)] == [one.key for one in draw(5)]
    assert len({tuple(one.key for one in draw(number)) for number in range(300)}) == 300


def test_every_family_and_most_programs_are_drawn():
    drawn = Counter(one.key for number in range(1500) for one in draw(number))

    assert len(drawn) > 0.9 * len(POOL.programs)
    assert max(drawn.values()) < 60


def test_a_network_does_not_get_a_program_twice_within_the_hour():
    recent, seen = RecentPrograms(), Counter()
    for number in range(60):
        drawn = draw(number, had=recent.had("192.0.2", 1_000 * number))
        recent.note("192.0.2", drawn, 1_000 * number)
        seen.update(one.key for one in drawn)

    assert set(seen.values()) == {1}
    assert all(key in recent.had("192.0.2", 60_000) for key in seen)
    assert not list(recent.had("192.0.2", 60_000 + HOUR_MS))
    assert recent.had("198.51.100", 60_000) == ()


def test_what_is_remembered_of_networks_is_bounded():
    recent, drawn = RecentPrograms(), draw(1)
    for number in range(MOST_NETWORKS + 50):
        recent.note(str(number), drawn, 0)

    assert len(recent) == MOST_NETWORKS
    assert recent.had("0", 0) == ()


def test_an_exhausted_family_gives_what_the_network_has_had():
    class All:
        def __contains__(self, key: object) -> bool:
            return True

    assert len(draw(1, had=All())) == 8


def test_families_that_drifted_are_omitted():
    families = {one.known.family for number in range(50) for one in draw(number, left_out={"mix", "svg", "anim"})}
    without_deep = [one.known.family for one in draw(1, left_out={"deep"})]

    assert families == {"deep", *SIMPLE} - {"mix", "svg", "anim"}
    assert sorted(without_deep) == sorted(SIMPLE)
