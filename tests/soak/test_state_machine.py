"""Longer walks of the accounts' state machine, on either store."""

import pytest

from tests.api.account_machine import run_machine
from tests.support.service import RunningService


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_no_long_order_of_steps_leads_where_the_model_does_not(service: RunningService) -> None:
    run_machine(service, examples=100, steps=50, fixed=False)
