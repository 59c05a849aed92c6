"""What the site adds to a request: whether it was reached without TLS, and whether it wants the program that asks."""

from agentgate.protection.signals.signal_input import Labels, SignalInput


def site_labels(look: SignalInput) -> Labels:
    """Return `http.plain_origin` and `ua.wanted`."""
    labels = []
    if look.facts.is_plain:
        labels.append("http.plain_origin")
    wanted = look.facts.wanted
    if wanted and not wanted.isdisjoint(look.user_agent.programs):
        labels.append("ua.wanted")
    return labels
