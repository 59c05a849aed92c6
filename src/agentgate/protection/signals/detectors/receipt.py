"""The state of token and clearance, known before the decision."""

from agentgate.protection.signals.signal_input import Labels, SignalInput

# State -> label. Other states are left out, so that labels stay those of the catalogue.
RECEIPT_STATES = {
    "missing": "The route asks for a token or clearance and none came",
    "valid": "A token came that is genuine, unspent and for this site and action",
    "clearance": "A clearance came that is genuine and not expired",
    "clearance_low": "The clearance was earned without JavaScript",
    "agent": "The token is an agent's receipt",
    "handoff": "The token is a receipt that a person approved for an agent",
    "browser": "The token is of a browser check",
    "invalid": "The token or clearance is forged or cannot be read",
    "expired": "The token or clearance was genuine and has expired",
    "spent": "The token was used before",
    "wrong_site": "The token or clearance is another site's",
    "wrong_action": "The token is for another action",
    "wrong_origin": "The token is for another origin",
    "wrong_visitor": "The token or clearance is another visitor's",
    "test": "The token is one for testing",
}


def receipt_labels(request: SignalInput) -> Labels:
    """Return `receipt.*`."""
    states = request.facts.receipt
    if not states:
        return ()
    return [f"receipt.{state}" for state in dict.fromkeys(states) if state in RECEIPT_STATES]
