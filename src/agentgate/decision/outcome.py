"""Outcome and would-decision under the site's mode."""

from agentgate.lib.enums import Mode, Outcome


def apply_mode(outcome: Outcome, mode: Mode) -> tuple[Outcome, Outcome | None]:
    """Return the outcome that applies and, if monitor mode changes it, the would-decision."""
    if mode is Mode.ENFORCE or outcome is Outcome.ALLOW:
        return outcome, None
    return Outcome.ALLOW, outcome
