"""Judging: how many answers are right, and what that says. Pure, and by a table.

A program is right as a whole or not at all: every number within half a pixel. Nothing here refuses anybody.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from agentgate.protection.browser_check.probes.chains import Chain, is_mismatch
from agentgate.protection.browser_check.probes.engines import BrowserClaim
from agentgate.protection.browser_check.probes.generate import DEEP
from agentgate.protection.browser_check.probes.ticket import AskedProgram, ProbeTicket

# In 1/16 px.
TOLERANCE = 8
# With fewer programs than this nothing is said.
LEAST_JUDGED = 5
# So many may be wrong: of a version that the pool has seen, and before drift becomes a wrong answer.
MAY_BE_WRONG = 1
MAY_HAVE_DRIFTED = 3


class State(StrEnum):
    """What the answers say."""

    RIGHT = "right"
    WRONG = "wrong"
    # Nothing came from a browser that can answer.
    MISSING = "missing"
    # A version that the pool has seen got too many wrong to be right, and too few to be no engine.
    DRIFT = "drift"
    # A version that the pool has not seen, with answers of no known engine: no evidence, and never a refusal.
    UNPROVEN = "unproven"
    # Nothing is laid out there, or too little was asked.
    NONE = "none"
    # No browser that can answer was claimed.
    UNABLE = "unable"
    # The page lets no program run: something of it or of an extension throws.
    ERROR = "error"


# Neither evidence of an engine nor evidence against one: the check is shown, and nobody is refused for it alone.
UNKNOWN = frozenset((State.UNPROVEN, State.NONE, State.UNABLE, State.ERROR))
# What is no evidence of an engine: it raises the work of the network.
FAILURES = UNKNOWN | {State.WRONG, State.MISSING}


class Vote(Struct, frozen=True):
    """An answer to a program, judged or fresh: what learning and the drift guard look at."""

    asked: AskedProgram
    answer: tuple[int, ...] | None
    right: bool


class Judgement(Struct, frozen=True, kw_only=True):
    """What the answers to a draw say."""

    state: State
    right: int = 0
    of: int = 0
    engine_mismatch: bool = False
    # None of the programs that nest every layout was answered as an engine does, or nothing was.
    no_layout: bool = False
    engine: str | None = None
    version: int | None = None
    votes: tuple[Vote, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """The part of the evidence that signals look at."""
        return {
            "state": self.state.value,
            "right": self.right,
            "of": self.of,
            "engine_mismatch": self.engine_mismatch,
            "no_layout": self.no_layout,
        }


Given = Sequence[Sequence[int] | None]


def judge(ticket: ProbeTicket, chains: Sequence[Chain], answers: Given, claim: BrowserClaim) -> Judgement:
    """Judge the answers to the programs of a ticket, followed by those to the chains."""
    programs = answers[: len(ticket.asked)]
    votes = tuple(
        _vote(asked, answer) for asked, answer in zip(ticket.asked, programs, strict=True) if _counts(asked, answer)
    )
    judged = [vote for vote in votes if vote.asked.answer is not None]
    right = sum(vote.right for vote in judged)
    state = state_of(right, len(judged), is_seen=ticket.seen)
    if state is State.WRONG and not claim.is_able:
        # A browser from before 2020 lacks what the programs need.
        state = State.UNPROVEN
    # A browser does not change between two requests of one check.
    is_other = BrowserClaim(ticket.engine, ticket.version) != claim
    return Judgement(
        state=state,
        right=right,
        of=len(judged),
        engine_mismatch=is_other or is_mismatch(ticket.engine, chains, answers[len(ticket.asked) :]),
        no_layout=state is State.WRONG and not any(vote.right for vote in judged if vote.asked.family == DEEP),
        engine=ticket.engine,
        version=ticket.version,
        votes=votes,
    )


def state_of(right: int, of: int, *, is_seen: bool) -> State:
    """Return what so many right answers say."""
    if of < LEAST_JUDGED:
        return State.NONE
    wrong = of - right
    if not right:
        # Engines drift by family; one that is right about none of them is none, of whatever version.
        return State.WRONG
    if not is_seen:
        return State.RIGHT if wrong <= MAY_HAVE_DRIFTED else State.UNPROVEN
    if wrong <= MAY_BE_WRONG:
        return State.RIGHT
    return State.DRIFT if wrong <= MAY_HAVE_DRIFTED else State.WRONG


def is_right(right: Sequence[int], given: Sequence[int] | None) -> bool:
    """Say whether an answer is right: every number, within half a pixel."""
    return (
        given is not None
        and len(given) == len(right)
        and all(abs(one - other) <= TOLERANCE for one, other in zip(right, given, strict=True))
    )


def _counts(asked: AskedProgram, answer: Sequence[int] | None) -> bool:
    """Say whether a program was really asked: a window may be too small for hit tests, and for nothing else."""
    return answer is not None or asked.family != "hit"


def _vote(asked: AskedProgram, answer: Sequence[int] | None) -> Vote:
    given = None if answer is None else tuple(answer)
    return Vote(asked, given, asked.answer is not None and is_right(asked.answer, given))
