"""A short version of `python -m bench.population`: what becomes of people, programs and what is not wanted."""

from itertools import islice

import pytest

from tests.population.gate import run_in_process
from tests.population.outcomes import Outcomes
from tests.population.people import page_views
from tests.population.sent import Should
from tests.population.traffic import traffic

SEED = 31


@pytest.fixture(scope="module")
def outcomes():
    found = Outcomes()
    run_in_process(traffic(SEED, 40, unwanted=120), found.tell)
    return found


def test_no_page_view_of_people_is_broken(outcomes):
    assert outcomes.broken == {}, outcomes.wrong
    assert len(outcomes.views) >= 40


def test_no_program_is_blocked(outcomes):
    assert outcomes.refused_programs == 0, outcomes.wrong


def test_what_is_not_wanted_is_blocked_or_challenged(outcomes):
    # Fast clients are stopped because of their earlier requests, so a short run stops fewer than a long one.
    assert outcomes.share_stopped >= 0.9, outcomes.wrong
    for kind in (kind for kind, should in outcomes.should.items() if should is Should.STOP):
        if "fast" not in kind and "Sec-Fetch" not in kind:
            assert outcomes.passed[kind] <= 0.1 * outcomes.stopped[kind], kind


def test_the_same_seed_gives_the_same_traffic():
    first, again = (list(islice(traffic(SEED, 5), 500)) for _ in range(2))
    other = list(islice(traffic(SEED + 1, 5), 500))

    assert first == again
    assert first != other


def test_page_views_have_a_navigation_and_twenty_to_a_hundred_and_fifty_parts():
    views = {}
    for group in islice(page_views(SEED, 200), 60):
        for sent in group:
            views.setdefault(sent.view, []).append(sent)

    sizes = [len(view) - 1 for view in views.values()]
    assert max(sizes) <= 165
    assert sum(size >= 20 for size in sizes) > 0.8 * len(sizes)
    destinations = {
        value
        for view in views.values()
        for sent in view
        for name, value in sent.headers
        if name.lower() == "sec-fetch-dest"
    }
    assert destinations >= {"document", "image", "script", "style", "font", "empty"}


def test_everyone_knows_what_should_happens_to_it():
    kinds = {sent.kind: sent.should for sent in traffic(SEED, 40, unwanted=20)}

    assert sum(should is Should.STOP for should in kinds.values()) >= 10
    assert sum(should is Should.PASS for should in kinds.values()) >= 12
