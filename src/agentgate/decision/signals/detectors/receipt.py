"""The state of token and clearance, known before the decision."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.sites.rules.labels import RECEIPT_STATES


def receipt_labels(request: SignalInput) -> Labels:
    """Return `receipt.*`."""
    states = request.facts.receipt
    if not states:
        return ()
    return [f"receipt.{state}" for state in dict.fromkeys(states) if state in RECEIPT_STATES]
