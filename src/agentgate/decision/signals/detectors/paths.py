"""The path: what standards and protocols of tools define."""

from agentgate.decision.signals.signal_input import Labels, SignalInput


def standard_path_labels(request: SignalInput) -> Labels:
    """Return `path.*`, which the gateway reads with the site's feeds."""
    return request.facts.path
