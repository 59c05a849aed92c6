"""The compiled rules decide as the specification words it, on random sets and requests."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.rule_reference import new_case
from tests.unit.sites.rules.agreement import check_agreement


@settings(max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.integers(0, 2**64 - 1))
def test_compiled_rules_decide_as_the_specification_words_it(seed: int) -> None:
    check_agreement(*new_case(seed))
