"""Step-up: the check that a person is shown. Two presses of one button, by whatever means a person presses buttons."""

from agentgate.protection.browser_check.ports import StoredChallenge
from agentgate.protection.browser_check.records import AnswerInput, StepUp
from agentgate.protection.browser_check.work import is_solved, step_up_work

KIND = "confirm"
STEPS = 2
# Long enough to notice that something happens, and to do the work meanwhile; short enough to wait for.
WAIT_MS = 900


def step_up_of(seed: bytes) -> StepUp:
    """Return what a challenge's step-up asks for. It is the same each time it is asked."""
    return StepUp(kind=KIND, steps=STEPS, wait_ms=WAIT_MS, work=step_up_work(seed))


def is_right(answer: AnswerInput, challenge: StoredChallenge, now_ms: int) -> bool:
    """Say whether an answer does what was asked, no earlier than a person could have done it."""
    # The page says how long the person waited; only our own clock says that the time has really passed.
    if challenge.stepped_ms is None or now_ms - challenge.stepped_ms < WAIT_MS:
        return False
    if len(answer.steps) != STEPS or not all(step.trusted for step in answer.steps):
        return False
    if answer.steps[-1].after_ms < WAIT_MS:
        return False
    return is_solved(step_up_work(challenge.seed), answer.work)
