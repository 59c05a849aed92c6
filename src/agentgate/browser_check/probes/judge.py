"""Judging the results of probes: from the number of right ones to a state. Pure.

A result is right as a whole or not at all: every number within half a pixel. This module rejects nothing.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from agentgate.browser_check.probes.chains import Chain, is_mismatch
from agentgate.browser_check.probes.engines import BrowserClaim
from agentgate.browser_check.probes.generate import DEEP
from agentgate.browser_check.probes.ticket import AskedProgram, ProbeTicket

# In 1/16 px.
TOLERANCE = 8
# Fewer programs give no state.
LEAST_JUDGED = 5
# The most wrong results: of a version that the pool has seen, and of a drift. With more, the state is wrong.
MAY_BE_WRONG = 1
MAY_HAVE_DRIFTED = 3


class ProbeState(StrEnum):
    """State of the results of a draw."""

    RIGHT = "right"
    WRONG = "wrong"
    # No results from a browser that supports probes.
    MISSING = "missing"
    # A version that the pool has seen got too many wrong to be right, and too few to be no engine.
    DRIFT = "drift"
    # A version that the pool has not seen, with results of no known engine: no evidence, and never a reason to block.
    UNPROVEN = "unproven"
    # The page has no layout, or there were too few programs.
    NONE = "none"
    # The claimed browser does not support probes.
    UNABLE = "unable"
    # The page or an extension blocks the programs.
    ERROR = "error"


# Evidence neither of an engine nor against one: an interactive challenge follows, and this alone is not a reason to
# block.
UNKNOWN = frozenset((ProbeState.UNPROVEN, ProbeState.NONE, ProbeState.UNABLE, ProbeState.ERROR))
# States without evidence of an engine: they raise the network's work.
FAILURES = UNKNOWN | {ProbeState.WRONG, ProbeState.MISSING}


class Vote(Struct, frozen=True):
    """A result of a program, judged or fresh, for learning and the drift guard."""

    asked: AskedProgram
    answer: tuple[int, ...] | None
    right: bool


class Judgment(Struct, frozen=True, kw_only=True):
    """Judgment on the results of a draw."""

    state: ProbeState
    right: int = 0
    of: int = 0
    engine_mismatch: bool = False
    # No deep program has a right result, or there are no results.
    no_layout: bool = False
    engine: str | None = None
    version: int | None = None
    votes: tuple[Vote, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """The part of the evidence that signals read."""
        return {
            "state": self.state.value,
            "right": self.right,
            "of": self.of,
            "engine_mismatch": self.engine_mismatch,
            "no_layout": self.no_layout,
        }


Given = Sequence[Sequence[int] | None]


def judge_chains(ticket: ProbeTicket, chains: Sequence[Chain], answers: Given, claim: BrowserClaim) -> Judgment:
    """Judge the results of a ticket's programs, followed by the results of the chains."""
    programs = answers[: len(ticket.asked)]
    votes = tuple(
        _vote(asked, answer) for asked, answer in zip(ticket.asked, programs, strict=True) if _counts(asked, answer)
    )
    judged = [vote for vote in votes if vote.asked.answer is not None]
    right = sum(vote.right for vote in judged)
    state = state_of(right, len(judged), is_seen=ticket.seen)
    if state is ProbeState.WRONG and not claim.is_able:
        # A browser from before 2020 lacks what the programs need.
        state = ProbeState.UNPROVEN
    # A browser does not change between two requests of one check.
    is_other = BrowserClaim(ticket.engine, ticket.version) != claim
    return Judgment(
        state=state,
        right=right,
        of=len(judged),
        engine_mismatch=is_other or is_mismatch(ticket.engine, chains, answers[len(ticket.asked) :]),
        no_layout=state is ProbeState.WRONG and not any(vote.right for vote in judged if vote.asked.family == DEEP),
        engine=ticket.engine,
        version=ticket.version,
        votes=votes,
    )


def state_of(right: int, of: int, *, is_seen: bool) -> ProbeState:
    """Return the state for a number of right results."""
    if of < LEAST_JUDGED:
        return ProbeState.NONE
    wrong = of - right
    if not right:
        # Engines drift by family; without any right result, the client is not an engine of any version.
        return ProbeState.WRONG
    if not is_seen:
        return ProbeState.RIGHT if wrong <= MAY_HAVE_DRIFTED else ProbeState.UNPROVEN
    if wrong <= MAY_BE_WRONG:
        return ProbeState.RIGHT
    return ProbeState.DRIFT if wrong <= MAY_HAVE_DRIFTED else ProbeState.WRONG


def is_right(right: Sequence[int], given: Sequence[int] | None) -> bool:
    """Return whether a result is right: every number, within half a pixel."""
    return (
        given is not None
        and len(given) == len(right)
        and all(abs(one - other) <= TOLERANCE for one, other in zip(right, given, strict=True))
    )


def _counts(asked: AskedProgram, answer: Sequence[int] | None) -> bool:
    """Return whether a program counts: only hit tests may fail because of a small window."""
    return answer is not None or asked.family != "hit"


def _vote(asked: AskedProgram, answer: Sequence[int] | None) -> Vote:
    given = None if answer is None else tuple(answer)
    return Vote(asked, given, asked.answer is not None and is_right(asked.answer, given))
