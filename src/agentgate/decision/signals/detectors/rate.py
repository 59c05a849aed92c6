"""Activity of the visitor and its network within the last minute, and the subresources that they loaded."""

from agentgate.decision.signals.facts import NETWORK_EXTREME, NETWORK_HIGH, VISITOR_EXTREME, VISITOR_HIGH, PartState
from agentgate.decision.signals.signal_input import Labels, SignalInput

_LABELS = {int(PartState.OVER): ("rate.parts.high",), int(PartState.NAMED): ("agent.program_named",)}


def rate_labels(request: SignalInput) -> Labels:
    """Return `rate.*`, and `agent.program_named`; `extreme` comes together with `high`."""
    rates = request.facts.rates
    labels = _LABELS.get(rates.parts, ())
    if rates.visitor < VISITOR_HIGH and rates.network < NETWORK_HIGH:
        return labels
    return [*labels] + [
        label
        for count, least, label in (
            (rates.visitor, VISITOR_HIGH, "rate.visitor.high"),
            (rates.visitor, VISITOR_EXTREME, "rate.visitor.extreme"),
            (rates.network, NETWORK_HIGH, "rate.network.high"),
            (rates.network, NETWORK_EXTREME, "rate.network.extreme"),
        )
        if count >= least
    ]
