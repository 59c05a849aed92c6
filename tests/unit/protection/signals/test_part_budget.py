"""PartBudget: a page earns its parts, within bounds and for as long as it may be open."""

from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.protection.signals.part_budget import (
    FREE,
    MOST,
    PER_PAGE,
    PartBudget,
    PartState,
)

NOW_MS = 1_700_000_000_000


def spend_all(budget: PartBudget, now_ms: int) -> list[PartState]:
    """Take parts until there are no more."""
    states = []
    while len(states) <= MOST + PER_PAGE:
        state = budget.spend(now_ms)
        if state is PartState.OVER:
            break
        states.append(state)
    return states


def test_without_a_page_there_are_a_few_parts_and_no_page_pays_for_them():
    budget = PartBudget(FREE, FREE, NOW_MS)

    assert spend_all(budget, NOW_MS) == [PartState.ORPHAN] * FREE
    assert budget.spend(NOW_MS) is PartState.OVER


def test_a_page_pays_for_its_parts_and_for_no_more():
    budget = PartBudget(FREE, 0, NOW_MS)

    budget.earn(NOW_MS)

    assert spend_all(budget, NOW_MS) == [PartState.PAID] * PER_PAGE


def test_however_many_pages_are_opened_the_budget_has_a_bound():
    budget = PartBudget(FREE, 0, NOW_MS)

    for _ in range(10 * MOST // PER_PAGE):
        budget.earn(NOW_MS)

    assert budget.left <= MOST + PER_PAGE


def test_a_page_is_open_for_an_hour():
    budget = PartBudget(FREE, 0, NOW_MS)
    budget.earn(NOW_MS)

    assert budget.has_page(NOW_MS + HOUR_MS - 1)
    assert not budget.has_page(NOW_MS + HOUR_MS)
    assert budget.spend(NOW_MS + HOUR_MS) is PartState.ORPHAN


def test_what_pages_left_over_is_gone_after_some_minutes():
    budget = PartBudget(FREE, 0, NOW_MS)
    for _ in range(20):
        budget.earn(NOW_MS)

    assert len(spend_all(budget, NOW_MS + 10 * MINUTE_MS)) <= PER_PAGE


def test_a_page_that_another_worker_allowed_pays_for_its_parts_once():
    budget = PartBudget(6, 6, NOW_MS)

    budget.earn_elsewhere(1, NOW_MS)
    budget.earn_elsewhere(1, NOW_MS)

    assert spend_all(budget, NOW_MS) == [PartState.PAID] * (6 + PER_PAGE)
