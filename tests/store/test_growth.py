"""What operations cost does not grow with the installation, where it must not: `bench/growth.py` with few rows."""

import pytest

from bench.growth import CASES, SHORT, Measured, measure

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_cost_grows_as_expected(case) -> None:
    found = await measure(case, SHORT)
    if not found.is_right:
        # A busy machine makes a cost appear to grow.
        found = await measure(case, SHORT)

    assert found.is_right, found.line()


def test_a_constant_cost_that_becomes_linear_is_noticed() -> None:
    sizes, stalls = (1_000, 20_000), [0.0, 0.0]

    assert Measured("constant", True, sizes, [0.001, 0.0015], stalls).is_right
    assert not Measured("constant", True, sizes, [0.001, 0.02], stalls).is_right
    assert Measured("linear", False, sizes, [0.001, 0.02], stalls).is_right
    assert not Measured("linear", False, sizes, [0.001, 0.4], stalls).is_right
