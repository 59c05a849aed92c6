"""What many visitors have in common with this one. Counted by the browser check, which alone may say it."""

from agentgate.protection.signals.signal_input import Labels, Look

CLUSTER_LABELS = {
    "cluster.evidence": "What was done in the page is exactly what was done from other addresses: it was replayed",
    "cluster.shape": "The same computer and headers come from many addresses and are a large part of the site's checks",
    "cluster.farm": "A cluster.shape from many networks, each address about once, where nobody touches anything",
}


def cluster_labels(look: Look) -> Labels:
    """Return `cluster.*`; nothing where no browser check took part."""
    evidence = look.facts.evidence
    found = () if evidence is None else evidence.get("clusters", ())
    return [label for label in CLUSTER_LABELS if label in found]
