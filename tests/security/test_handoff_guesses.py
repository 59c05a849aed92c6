"""Whoever guesses at handoffs learns nothing: not from the answer, and not from how near the guess was."""

from agentgate.lib.settings.schema import Settings
from tests.support.handoff import HandoffScene
from tests.support.handoff_guesses import guess, guesses
from tests.support.service import RunningService, running_service

GUESSES = 150


def check_guesses(service: RunningService, count: int) -> None:
    """Guess so many times while a handoff is open: nothing may be found, and all answers of a door are the same."""
    scene = HandoffScene(service)
    handoff = scene.open(submission_id="guessed")

    told = guess(scene, guesses(handoff.id, count, seed=count))

    assert sorted((door, status, number) for (door, status, _), number in told.items()) == [
        ("/handoff/", 404, count),
        ("/v1/handoff/", 404, count),
    ]
    # It is there all the time, for those who know it; to another agent it looks like one that is not.
    assert scene.poll(handoff.id).json()["status"] == "pending"
    stranger = scene.poll(handoff.id, scene.other)
    assert ("/v1/handoff/", stranger.status_code, stranger.content) in told


def test_guesses_from_everywhere_find_no_handoff(settings: Settings) -> None:
    with running_service(settings) as service:
        check_guesses(service, GUESSES)
