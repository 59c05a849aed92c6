"""Excuses: how many interactive challenges pass without evidence of an engine. The rest: test_probes.py."""

import pytest

from agentgate.browser_check.probes.engines import BLINK, GECKO, WEBKIT, BrowserClaim
from agentgate.browser_check.probes.excuses import EARNED_BY, Excuses, may_be_excused
from agentgate.browser_check.probes.judge import Judgment, ProbeState
from agentgate.lib.clock import HOUR_MS


def test_the_first_of_an_hour_is_excused_and_one_for_each_hundred_with_evidence() -> None:
    excuses = Excuses()
    for _ in range(2 * EARNED_BY):
        excuses.earn(HOUR_MS)

    assert [excuses.give(HOUR_MS) for _ in range(5)] == [True, True, True, False, False]
    assert [excuses.give(2 * HOUR_MS) for _ in range(3)] == [True, False, False]


def test_a_solver_without_an_engine_gets_no_more_than_one_in_fifty() -> None:
    excuses = Excuses()

    assert sum(excuses.give(HOUR_MS) for _ in range(50)) == 1


NOTHING = Judgment(state=ProbeState.UNABLE)


@pytest.mark.parametrize(
    ("claim", "state", "right", "excused"),
    [
        # Old phones, whose engine lacks the gaps of flex boxes and lays out all the rest.
        (BrowserClaim(BLINK, 82), ProbeState.UNPROVEN, 3, True),
        (BrowserClaim(WEBKIT, 13), ProbeState.UNPROVEN, 2, True),
        (BrowserClaim(WEBKIT, None), ProbeState.UNPROVEN, 2, True),
        # A solver without an engine has one formula right, or none.
        (BrowserClaim(BLINK, 82), ProbeState.UNPROVEN, 1, False),
        (BrowserClaim(BLINK, 199), ProbeState.UNPROVEN, 1, False),
        (BrowserClaim(WEBKIT, None), ProbeState.UNPROVEN, 0, False),
        (BrowserClaim(BLINK, 82), ProbeState.UNABLE, 0, False),
        # Releases that cannot have run the SDK.
        (BrowserClaim(BLINK, 79), ProbeState.ERROR, 0, False),
        (BrowserClaim(GECKO, 73), ProbeState.UNPROVEN, 4, False),
        (BrowserClaim(WEBKIT, 12), ProbeState.NONE, 0, False),
        # A page that throws, or a name without an engine.
        (BrowserClaim(BLINK, 156), ProbeState.ERROR, 0, True),
        (BrowserClaim(BLINK, 82), ProbeState.ERROR, 0, True),
        (BrowserClaim(), ProbeState.UNABLE, 0, True),
        (BrowserClaim(BLINK, 156), ProbeState.MISSING, 0, False),
    ],
)
def test_who_can_be_without_evidence(claim: BrowserClaim, state: ProbeState, right: int, *, excused: bool) -> None:
    fresh = Judgment(state=state, right=right, of=8)

    assert may_be_excused(claim, fresh, NOTHING) is excused
    assert may_be_excused(claim, fresh, fresh) is excused


def test_either_draw_will_do() -> None:
    first = Judgment(state=ProbeState.UNPROVEN, right=3, of=8)

    assert may_be_excused(BrowserClaim(BLINK, 82), Judgment(state=ProbeState.UNPROVEN, right=1, of=8), first)
