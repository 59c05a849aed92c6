"""How the visitor moved, typed and waited during the browser check: statistics only, no positions and no keys.

People who use a keyboard, a switch or a screen reader move no pointer: none of these labels means a bot on its own.
"""

from agentgate.decision.signals.evidence import EvidencePart, read_evidence
from agentgate.decision.signals.signal_input import Labels, SignalInput

# Faster than a hand can do it.
FAST_MS = 150
# A pointer's path divided by the distance between its ends: a hand always makes a detour.
STRAIGHT_RATIO = 1.001
STRAIGHT_MOVES = 10
# Standard deviation of the times between events, divided by their mean.
UNIFORM_RATIO = 0.05
UNIFORM_EVENTS = 10


def behavior_labels(request: SignalInput) -> Labels:
    """Return `behavior.*`; nothing where no browser check took part."""
    if request.facts.evidence is None:
        return ()
    evidence = read_evidence(request.facts.evidence)
    if not evidence.has("interaction"):
        return ()
    return interaction_labels(evidence.part("interaction"))


def interaction_labels(interaction: EvidencePart) -> list[str]:
    moves = interaction.number("pointerMoves") or 0
    touches = interaction.number("touches") or 0
    keys = interaction.number("keys") or 0
    scrolls = interaction.number("scrolls") or 0
    clicks = interaction.number("clicks") or 0
    events = moves + touches + keys + scrolls
    labels = []
    if events + clicks <= 0:
        labels.append("behavior.none")
    if (interaction.number("untrusted") or 0) > 0:
        labels.append("behavior.untrusted_events")
    if clicks > 0 and events <= 0:
        labels.append("behavior.click_only")
    if keys > 0 and moves + touches <= 0:
        labels.append("behavior.keyboard_only")
    labels += _timing(interaction, events=events + clicks, moves=moves)
    return labels


def _timing(interaction: EvidencePart, *, events: float, moves: float) -> list[str]:
    labels = []
    duration_ms = interaction.number("durationMs")
    if events > 0 and duration_ms is not None and 0 <= duration_ms < FAST_MS:
        labels.append("behavior.too_fast")
    straightness = interaction.number("straightness")
    if moves >= STRAIGHT_MOVES and straightness is not None and 0 < straightness < STRAIGHT_RATIO:
        labels.append("behavior.straight_pointer")
    variation = interaction.number("variation")
    if events >= UNIFORM_EVENTS and variation is not None and 0 <= variation < UNIFORM_RATIO:
        labels.append("behavior.uniform_timing")
    return labels
