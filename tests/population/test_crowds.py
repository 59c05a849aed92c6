"""People behind one address are challenged once, and reach their pages."""

import sys

import pytest

from tests.population.crowds import run_crowd

pytestmark = pytest.mark.timeout(300)

MOST_CHALLENGED = 0.05


@pytest.mark.parametrize(
    ("people", "minutes", "pages", "alike", "most"),
    [
        (300, 30, 5, False, MOST_CHALLENGED),
        (200, 2, 3, False, 1.0),
        (400, 2, 5, False, 1.0),
        (300, 2, 5, True, 1.0),
    ],
)
def test_each_browser_behind_one_address_is_challenged_at_most_once_and_reaches_its_pages(
    people: int, minutes: int, pages: int, most: float, capsys: pytest.CaptureFixture[str], *, alike: bool
) -> None:
    crowd = run_crowd(people, minutes=minutes, pages=pages, alike=alike)

    with capsys.disabled():
        sys.stdout.write(f"\n{people} people, {minutes} minutes, {pages} pages each: {crowd.share:.1%} challenged\n")
    assert crowd.pages == people * pages
    assert crowd.share <= most
    assert crowd.most_of_a_browser <= 1
    assert crowd.broken == 0
    assert crowd.parts_refused == 0
