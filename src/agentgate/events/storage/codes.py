"""The numbers under which events keep enumerations. A place in one of these lists never changes its meaning."""

from agentgate.lib.enums import ChallengeStage, DecisionKind, Mode, Outcome, SolveType

KINDS = (DecisionKind.REQUEST, DecisionKind.CHALLENGE)
MODES = (Mode.MONITOR, Mode.ENFORCE)
# `allow` is 0: the index of outcomes leaves it out.
OUTCOMES = (Outcome.ALLOW, Outcome.CHALLENGE, Outcome.BLOCK, Outcome.DROP)
STAGES = (ChallengeStage.ISSUED, ChallengeStage.PASSED, ChallengeStage.FAILED)
# A value of a dimension as well, where 0 means all others together: so these begin at 1.
SOLVE_TYPES = (None, SolveType.INVISIBLE, SolveType.MANAGED, SolveType.INTERACTIVE, SolveType.STEP_UP)

KIND_CODES = {kind: code for code, kind in enumerate(KINDS)}
MODE_CODES = {mode: code for code, mode in enumerate(MODES)}
OUTCOME_CODES = {outcome: code for code, outcome in enumerate(OUTCOMES)}
STAGE_CODES = {stage: code for code, stage in enumerate(STAGES)}
SOLVE_TYPE_CODES = {solve_type: code for code, solve_type in enumerate(SOLVE_TYPES) if solve_type is not None}


def signed(visitor: int) -> int:
    """Return a visitor's unsigned number as the signed one that is stored."""
    return visitor - (1 << 64) if visitor >= 1 << 63 else visitor


def unsigned(stored: int) -> int:
    """Return the visitor's number of a stored one."""
    return stored + (1 << 64) if stored < 0 else stored
