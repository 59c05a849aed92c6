"""Labels of clusters and private tokens, which the browser check finds."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.sites.rules.labels import CLUSTER_LABELS


def cluster_labels(request: SignalInput) -> Labels:
    """Return `cluster.*` and `privacy_pass.*`; nothing where no browser check took part."""
    evidence = request.facts.evidence
    found = () if evidence is None else evidence.get("clusters", ())
    return [label for label in CLUSTER_LABELS if label in found]
