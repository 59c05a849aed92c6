"""Programs that sites want to hear from, such as feed readers and monitors: whether more than the name speaks for it.

Anybody may write "Feedly" in a User-Agent. A name counts where such programs are found: monitors and previews run on
servers, feed readers and git ask for paths of their own. Operators' own networks are in `search_crawler.py`.
"""

from agentgate.protection.signals.detectors.address import view_address
from agentgate.protection.signals.paths import path_labels
from agentgate.protection.signals.signal_input import Labels, SignalInput

LIKELY = ("agent.program_likely",)
# Class -> the labels of which one makes it likely. Servers are in data centres or in the owner's own network.
_SERVERS = frozenset({"net.datacenter", "net.private"})
PLACES = {
    "ua.uptime": _SERVERS,
    "ua.preview": _SERVERS,
    "ua.checker": _SERVERS,
    "ua.feed_reader": _SERVERS | {"path.feed", "path.media", "path.standard"},
    "ua.git": frozenset({"path.git"}),
}


def low_harm_labels(request: SignalInput) -> Labels:
    """Return `agent.program_likely`."""
    labels, facts = request.user_agent.labels, request.facts
    named = [label for label in labels if label in PLACES]
    if not named:
        return ()
    # Messengers fetch a preview from the sender's own phone.
    if "ua.phone_preview" in labels:
        return LIKELY
    found = {*view_address(facts.address, request.intel).labels}
    if facts.target:
        found.update(path_labels(facts.method, facts.target))
    return LIKELY if any(not PLACES[label].isdisjoint(found) for label in named) else ()
