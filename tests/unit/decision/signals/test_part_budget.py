"""PartBudget: a page earns its parts, within bounds and for as long as it may be open."""

from agentgate.decision.rates.part_budget import MOST, PER_PAGE, PartBudget
from agentgate.lib.clock import HOUR_MS, MINUTE_MS

NOW_MS = 1_700_000_000_000


def spend_all(budget: PartBudget, now_ms: int) -> int:
    """Take parts until there are no more; return how many there were."""
    spent = 0
    while budget.spend(now_ms):
        spent += 1
    return spent


def test_without_a_page_there_are_no_parts():
    budget = PartBudget(0, NOW_MS)

    assert spend_all(budget, NOW_MS + 10 * MINUTE_MS) == 0


def test_a_page_pays_for_its_parts_and_for_no_more():
    budget = PartBudget(0, NOW_MS)

    budget.earn(NOW_MS)

    assert spend_all(budget, NOW_MS) == PER_PAGE == 30


def test_however_many_pages_are_opened_the_budget_has_a_bound():
    budget = PartBudget(0, NOW_MS)

    for _ in range(10 * MOST // PER_PAGE):
        budget.earn(NOW_MS)

    assert budget.left <= MOST + PER_PAGE


def test_a_page_is_open_for_an_hour():
    budget = PartBudget(0, NOW_MS)
    budget.earn(NOW_MS)

    assert budget.has_page(NOW_MS + HOUR_MS - 1)
    assert not budget.has_page(NOW_MS + HOUR_MS)
    assert not budget.spend(NOW_MS + HOUR_MS)


def test_an_open_page_continues_to_load():
    budget = PartBudget(0, NOW_MS)
    budget.earn(NOW_MS)
    spend_all(budget, NOW_MS)

    assert spend_all(budget, NOW_MS + MINUTE_MS) == 18


def test_the_rest_of_earlier_pages_is_gone_after_some_minutes():
    budget = PartBudget(0, NOW_MS)
    for _ in range(20):
        budget.earn(NOW_MS)

    assert spend_all(budget, NOW_MS + 10 * MINUTE_MS) <= PER_PAGE


def test_a_page_that_another_worker_allowed_pays_for_its_parts_once():
    budget = PartBudget(0, NOW_MS)

    budget.earn_elsewhere(1, NOW_MS)
    budget.earn_elsewhere(1, NOW_MS)

    assert spend_all(budget, NOW_MS) == PER_PAGE
