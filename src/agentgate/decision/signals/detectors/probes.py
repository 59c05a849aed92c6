"""What the probes of a browser check found: whether a real engine answered, and whether it is the claimed one.

They are judged by the browser check itself; its verdict comes as the part `probes` of the evidence.
"""

from agentgate.decision.signals.evidence import read_evidence
from agentgate.decision.signals.signal_input import Labels, SignalInput

# In the state `drift`, the answers are no evidence for or against anybody.
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
