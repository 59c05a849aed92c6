"""What the visitor and the visitor's network did within the last minute, and the parts of pages that they loaded."""

from agentgate.protection.signals.part_budget import PartState
from agentgate.protection.signals.signal_input import Labels, SignalInput

# Behind one address may be a class of thirty who open five tabs each; pages whose parts were loaded count for less
# (`rates.py`). With a clearance the visitor is one browser.
VISITOR_HIGH, VISITOR_EXTREME = 180, 600
# A /24 or /64 may be a school or a company.
NETWORK_HIGH, NETWORK_EXTREME = 1_500, 6_000


def rate_labels(request: SignalInput) -> Labels:
    """Return `rate.*`; `extreme` comes together with `high`."""
    rates = request.facts.rates
    if rates.visitor < VISITOR_HIGH and rates.network < NETWORK_HIGH:
        return ("rate.parts.high",) if rates.parts == PartState.OVER else ()
    labels = ["rate.parts.high"] if rates.parts == PartState.OVER else []
    return labels + [
        label
        for count, least, label in (
            (rates.visitor, VISITOR_HIGH, "rate.visitor.high"),
            (rates.visitor, VISITOR_EXTREME, "rate.visitor.extreme"),
            (rates.network, NETWORK_HIGH, "rate.network.high"),
            (rates.network, NETWORK_EXTREME, "rate.network.extreme"),
        )
        if count >= least
    ]
