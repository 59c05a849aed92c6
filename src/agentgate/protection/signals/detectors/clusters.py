"""Labels of clusters and private tokens, which the browser check finds."""

from agentgate.protection.signals.signal_input import Labels, SignalInput

# No two people do exactly the same in a page. One computer at many addresses may be a company's laptops, and is
# harmless alone; where these addresses come once each and nobody ever touches anything, it is a farm.
CLUSTER_LABELS = {
    "cluster.evidence": "The input in the page is identical to input from other addresses: a replay",
    "cluster.timing": "The timing of keys and presses matches other networks: a replay, perhaps slightly changed",
    "cluster.ja4": "The same TLS fingerprint (JA4) comes from many addresses with User-Agents of different engines",
    "cluster.spent": "A cluster.evidence or cluster.timing cluster that passed too many interactive challenges"
    " within an hour",
    "cluster.shape": "The same device and headers come from many addresses and make up a large share of the"
    " site's checks",
    "privacy_pass.verified": "A private token from an issuer that the site trusts vouches for the device",
    "cluster.farm": "A cluster.shape cluster of many networks, with about one check per address and no input",
}


def cluster_labels(request: SignalInput) -> Labels:
    """Return `cluster.*` and `privacy_pass.*`; nothing where no browser check took part."""
    evidence = request.facts.evidence
    found = () if evidence is None else evidence.get("clusters", ())
    return [label for label in CLUSTER_LABELS if label in found]
