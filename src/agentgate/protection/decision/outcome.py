"""Outcome and mode: what applies, and what would have."""

from agentgate.lib.enums import Mode, Outcome


def apply_mode(outcome: Outcome, mode: Mode) -> tuple[Outcome, Outcome | None]:
    """Return what applies and, where monitor mode lets through what enforce mode would not, the would-decision."""
    if mode is Mode.ENFORCE or outcome is Outcome.ALLOW:
        return outcome, None
    return Outcome.ALLOW, outcome
