"""Invitations, sign-ins, roles, suspensions and links in any order do what the model says, on either store."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.api.account_machine import AccountMachine
from tests.support.service import RunningService


def run_machine(service: RunningService, *, examples: int, steps: int, fixed: bool) -> None:
    """Take random walks, the same ones each time where they are fixed, each with people of its own."""
    run_state_machine_as_test(
        lambda: AccountMachine(service),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=fixed,
            # Looking for a shorter walk takes minutes, and the long one says where it went wrong, too.
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_no_order_of_steps_leads_where_the_model_does_not(service: RunningService) -> None:
    run_machine(service, examples=10, steps=25, fixed=True)
