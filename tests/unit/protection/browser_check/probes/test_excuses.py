"""Excuses: how many shown checks pass without evidence of an engine. The shown check itself is in test_probes.py."""

from agentgate.lib.clock import HOUR_MS
from agentgate.protection.browser_check.probes.excuses import EARNED_BY, Excuses


def test_the_first_of_an_hour_is_excused_and_one_for_each_hundred_with_evidence() -> None:
    excuses = Excuses()
    for _ in range(2 * EARNED_BY):
        excuses.earn(HOUR_MS)

    assert [excuses.give(HOUR_MS) for _ in range(5)] == [True, True, True, False, False]
    assert [excuses.give(2 * HOUR_MS) for _ in range(3)] == [True, False, False]


def test_a_solver_without_an_engine_gets_no_more_than_one_in_fifty() -> None:
    excuses = Excuses()

    assert sum(excuses.give(HOUR_MS) for _ in range(50)) == 1
