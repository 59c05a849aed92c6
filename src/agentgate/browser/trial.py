"""Trial: one attempt at a challenge, and everything that its verdict follows from."""

from msgspec import Struct

from agentgate.browser.door import Visit
from agentgate.browser.judge import Verdict
from agentgate.browser.ports import StoredChallenge
from agentgate.core.enums import Mode, SolveType, WidgetMode
from agentgate.decide.engine import Decision
from agentgate.detect.facts import RequestFacts
from agentgate.limits import VERIFY_ATTEMPTS_PER_CHALLENGE
from agentgate.web.call import Call


class Trial(Struct, frozen=True, kw_only=True):
    """What was tried, by whom, and what came of it."""

    call: Call
    visit: Visit
    # After the attempt was counted.
    challenge: StoredChallenge
    facts: RequestFacts
    decision: Decision
    # What enforce mode does.
    verdict: Verdict
    # A person has answered the check.
    answered: bool

    @property
    def applied(self) -> Verdict:
        """What is done: monitor mode stands in nobody's way."""
        return Verdict.PASSED if self.visit.site.mode is Mode.MONITOR else self.verdict

    @property
    def attempts_left(self) -> int:
        """How often the challenge can still be tried."""
        return VERIFY_ATTEMPTS_PER_CHALLENGE - self.challenge.attempts

    @property
    def solve_type(self) -> SolveType:
        """How the check was solved, if it was."""
        widget = self.challenge.widget
        if self.challenge.stepped_ms is not None and widget is not WidgetMode.INTERACTIVE:
            return SolveType.STEP_UP
        return SolveType(widget.value)
