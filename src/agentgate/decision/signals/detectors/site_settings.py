"""Labels of the site's settings: origin without TLS, unknown host, and wanted programs."""

from agentgate.decision.signals.signal_input import Labels, SignalInput


def site_labels(request: SignalInput) -> Labels:
    """Return `http.host_unknown`, `http.plain_origin` and `ua.wanted`."""
    labels = ["http.host_unknown"] if request.facts.is_foreign_host else []
    if request.facts.is_plain:
        labels.append("http.plain_origin")
    wanted = request.facts.wanted
    if wanted and not wanted.isdisjoint(request.user_agent.programs):
        labels.append("ua.wanted")
    return labels
