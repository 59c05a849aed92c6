"""Invitations, sign-ins, roles, suspensions and links in any order match the model, on either store."""

from tests.api.account_machine import run_machine
from tests.support.service import RunningService


def test_no_order_of_steps_leads_where_the_model_does_not(service: RunningService) -> None:
    run_machine(service, examples=10, steps=25, fixed=True)
