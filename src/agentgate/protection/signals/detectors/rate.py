"""How often the visitor and the visitor's network asked within the last minute."""

from agentgate.protection.signals.signal_input import Labels, Look

# A person who opens pages quickly stays well below the first; the second is no person.
VISITOR_HIGH, VISITOR_EXTREME = 60, 240
# A /24 or /64 may be a school or a company.
NETWORK_HIGH, NETWORK_EXTREME = 600, 2_400


def rate_labels(look: Look) -> Labels:
    """Return `rate.*`; `extreme` comes together with `high`."""
    rates = look.facts.rates
    if rates.visitor < VISITOR_HIGH and rates.network < NETWORK_HIGH:
        return ()
    return [
        label
        for count, least, label in (
            (rates.visitor, VISITOR_HIGH, "rate.visitor.high"),
            (rates.visitor, VISITOR_EXTREME, "rate.visitor.extreme"),
            (rates.network, NETWORK_HIGH, "rate.network.high"),
            (rates.network, NETWORK_EXTREME, "rate.network.extreme"),
        )
        if count >= least
    ]
