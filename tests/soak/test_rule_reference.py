"""The compiled rules against the reference for long: a hundred thousand random sets, new ones each time."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.rule_reference import new_case
from tests.unit.sites.rules.agreement import check_agreement


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=100_000, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.integers(0, 2**64 - 1))
def test_a_hundred_thousand_sets_decide_as_the_specification_words_it(seed: int) -> None:
    check_agreement(*new_case(seed))
