"""A short version of the measurement of changed page loads in `python -m bench.population`."""

import pytest

from tests.population.changes import BARRED, CHANGES, UNCHANGED, ChangeOutcomes, changed_page_loads
from tests.population.gate import run_in_process

SEED, PEOPLE = 33, 60
# Of a few people one or two are a large part.
LEAST_ASKED = 0.9


@pytest.fixture(scope="module")
def outcomes():
    found = ChangeOutcomes()
    run_in_process(changed_page_loads(SEED, PEOPLE), found.tell)
    return found


def test_no_unchanged_page_load_is_challenged(outcomes):
    assert outcomes.asked[UNCHANGED, UNCHANGED] == 0
    assert outcomes.total[UNCHANGED, UNCHANGED] == PEOPLE


def test_every_kind_of_change_is_challenged(outcomes):
    kinds = [(kind, name) for kind in (*BARRED, "values") for name in CHANGES[kind]]

    assert {name: outcomes.share(kind, name) for kind, name in kinds if outcomes.share(kind, name) < LEAST_ASKED} == {}
