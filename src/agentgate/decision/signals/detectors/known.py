"""Labels of what was found before the decision: paths, settings of the site, tokens, clusters."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.sites.rules.labels import EXACT_NAMES, LABELS

CLUSTER_LABELS = tuple(label.name for label in LABELS if label.source in {"cluster", "privacy_pass"})


def standard_path_labels(request: SignalInput) -> Labels:
    """Return `path.*`, which the gateway reads with the site's feeds, and `site.*` of the site's load."""
    return request.facts.path + request.facts.load


def site_labels(request: SignalInput) -> Labels:
    """Return `http.host_unknown`, `http.plain_origin` and `ua.wanted`."""
    labels = ["http.host_unknown"] if request.facts.is_foreign_host else []
    if request.facts.is_plain:
        labels.append("http.plain_origin")
    wanted = request.facts.wanted
    if wanted and not wanted.isdisjoint(request.user_agent.programs):
        labels.append("ua.wanted")
    return labels


def receipt_labels(request: SignalInput) -> Labels:
    """Return `receipt.*` of the states that have a label."""
    states = request.facts.receipt
    if not states:
        return ()
    return [label for state in dict.fromkeys(states) if (label := f"receipt.{state}") in EXACT_NAMES]


def cluster_labels(request: SignalInput) -> Labels:
    """Return `cluster.*` and `privacy_pass.*`; nothing if no browser check took part."""
    evidence = request.facts.evidence
    found = () if evidence is None else evidence.get("clusters", ())
    return [label for label in CLUSTER_LABELS if label in found]
