"""The path: what programs ask for by a standard or by custom."""

from agentgate.protection.signals.paths import path_labels
from agentgate.protection.signals.signal_input import Labels, SignalInput


def standard_path_labels(request: SignalInput) -> Labels:
    """Return `path.*`."""
    facts = request.facts
    return path_labels(facts.method, facts.target) if facts.target else ()
