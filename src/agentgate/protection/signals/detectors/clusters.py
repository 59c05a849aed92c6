"""Labels of clusters and private tokens, which the browser check finds."""

from agentgate.protection.signals.signal_input import Labels, SignalInput

# No two people do exactly the same in a page. One computer at many addresses may be a company's laptops, and is
# harmless alone; where these addresses come once each and nobody ever touches anything, it is a farm.
CLUSTER_LABELS = {
    "cluster.evidence": "What was done in the page is exactly what was done from other addresses: it was replayed",
    "cluster.timing": "Keys and presses are timed as from other networks: one recording, perhaps changed a little",
    "cluster.ja4": "The same TLS handshake (JA4) comes from many addresses under the names of different engines",
    "cluster.spent": "A cluster.evidence or cluster.timing that has answered the shown check too often in the hour",
    "cluster.shape": "The same computer and headers come from many addresses and are a large part of the site's checks",
    "privacy_pass.verified": "An issuer of private tokens that the site trusts vouches for the device",
    "cluster.farm": "A cluster.shape of many networks, each address about once, without any input",
}


def cluster_labels(request: SignalInput) -> Labels:
    """Return `cluster.*` and `privacy_pass.*`; nothing where no browser check took part."""
    evidence = request.facts.evidence
    found = () if evidence is None else evidence.get("clusters", ())
    return [label for label in CLUSTER_LABELS if label in found]
