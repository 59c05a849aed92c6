"""A hundred thousand guesses at the IDs of handoffs, from as many addresses: none finds one."""

import pytest

from agentgate.lib.settings.schema import Settings
from tests.support.handoff_guesses import check_guesses
from tests.support.service import running_service

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_200)]

GUESSES = 100_000


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_a_hundred_thousand_guesses_find_no_handoff(settings: Settings) -> None:
    with running_service(settings) as service:
        check_guesses(service, GUESSES)
