"""Guessing at handoffs reveals nothing: responses do not depend on how near the guess was."""

from agentgate.lib.settings.schema import Settings
from tests.support.handoff_guesses import check_guesses
from tests.support.service import running_service

GUESSES = 150


def test_guesses_from_everywhere_find_no_handoff(settings: Settings) -> None:
    with running_service(settings) as service:
        check_guesses(service, GUESSES)
