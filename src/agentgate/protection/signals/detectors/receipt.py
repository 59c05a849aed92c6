"""The state of token and clearance, known before the decision."""

from agentgate.protection.signals.signal_input import Labels, SignalInput

# State -> label. Other states are left out, so that labels stay those of the catalog.
RECEIPT_STATES = {
    "missing": "The route requires a token or clearance cookie, and the request has neither",
    "valid": "The token is valid, not yet redeemed and for this site and action",
    "clearance": "The clearance cookie is valid and not expired",
    "clearance_low": "The clearance cookie was issued by the no-JavaScript fallback",
    "agent": "The token is an agent's receipt",
    "handoff": "The token is a receipt that a person approved for an agent",
    "browser": "The token was issued by a browser check",
    "invalid": "The token or clearance cookie is forged or malformed",
    "expired": "The token or clearance cookie has expired",
    "spent": "The token was already redeemed",
    "wrong_site": "The token or clearance cookie is for another site",
    "wrong_action": "The token is for another action",
    "wrong_origin": "The token is for another origin",
    "wrong_visitor": "The token or clearance cookie belongs to another visitor",
    "test": "The token is a test token",
}


def receipt_labels(request: SignalInput) -> Labels:
    """Return `receipt.*`."""
    states = request.facts.receipt
    if not states:
        return ()
    return [f"receipt.{state}" for state in dict.fromkeys(states) if state in RECEIPT_STATES]
