"""Trial: one attempt at a challenge, and everything that its verdict follows from."""

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.lib.enums import Mode, SolveType, WidgetMode
from agentgate.lib.limits import VERIFY_ATTEMPTS_PER_CHALLENGE
from agentgate.protection.browser_check.admission import Visit
from agentgate.protection.browser_check.judge import CheckVerdict
from agentgate.protection.browser_check.ports import StoredChallenge
from agentgate.protection.decision.engine import EngineDecision
from agentgate.protection.signals.facts import RequestFacts


class Trial(Struct, frozen=True, kw_only=True):
    """One verification: the call, the challenge, the decision and the verdict."""

    call: Call
    visit: Visit
    # After the attempt was counted.
    challenge: StoredChallenge
    facts: RequestFacts
    decision: EngineDecision
    # The verdict of enforce mode.
    verdict: CheckVerdict
    # Whether the answer to the check is right; None when there is none.
    answered: bool | None

    @property
    def applied(self) -> CheckVerdict:
        """The verdict that applies: monitor mode lets every visitor pass."""
        return CheckVerdict.PASSED if self.visit.site.mode is Mode.MONITOR else self.verdict

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
