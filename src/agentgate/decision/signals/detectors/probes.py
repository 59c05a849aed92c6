"""Probe results of a browser check: whether a real engine responded, and whether it is the claimed one.

The browser check itself judges the probes. Its verdict is the part `probes` of the evidence.
"""

from agentgate.decision.signals.evidence import read_evidence
from agentgate.decision.signals.signal_input import Labels, SignalInput

# In the state `drift`, the responses are not evidence in either direction.
LABEL_OF_STATE = {
    "right": "probes.right",
    "wrong": "probes.wrong",
    "missing": "probes.missing",
    **dict.fromkeys(("unproven", "none", "unable", "error"), "probes.unproven"),
}


def probe_labels(request: SignalInput) -> Labels:
    """Return `probes.*`; nothing where no browser check took part."""
    if request.facts.evidence is None:
        return ()
    probes = read_evidence(request.facts.evidence).part("probes")
    label = LABEL_OF_STATE.get(probes.text("state") or "")
    labels = [] if label is None else [label]
    if probes.is_true("engine_mismatch"):
        labels.append("probes.engine_mismatch")
    if probes.is_true("no_layout"):
        labels.append("probes.no_layout")
    return labels
