"""Search crawlers and other programs whose operator is known: whether the address is the operator's, by published
networks or DNS.
"""

from agentgate.decision.signals.detectors.address import view_address
from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.search_operators import SearchOperator
from agentgate.decision.threat_data.search_verification import CrawlerStatus

LABELS_OF_STANDING: dict[CrawlerStatus, tuple[str, ...]] = {
    CrawlerStatus.VERIFIED: ("agent.search_verified",),
    CrawlerStatus.FORGED: ("agent.search_forged",),
    CrawlerStatus.UNCONFIRMED: ("agent.search_unconfirmed",),
    CrawlerStatus.UNKNOWN: ("agent.search_unknown",),
}
PROGRAM_VERIFIED = ("agent.program_verified",)
# Of a User-Agent that names two operators the kinder status counts.
KINDEST = (CrawlerStatus.VERIFIED, CrawlerStatus.UNCONFIRMED, CrawlerStatus.UNKNOWN, CrawlerStatus.FORGED)
# Such an address belongs to a proxy in between, so DNS cannot verify the crawler.
NOT_ASKED = {"net.private", "net.unknown"}


def search_crawler_labels(request: SignalInput) -> Labels:
    """Return `agent.search_*` and `agent.program_verified`; nothing for who claims nothing."""
    claimed = request.user_agent.search
    if not claimed:
        return ()
    view = view_address(request.facts.address, request.intel)
    if not NOT_ASKED.isdisjoint(view.labels):
        return ()
    searches = [operator for operator in claimed if operator.is_search]
    if not searches:
        return PROGRAM_VERIFIED if any(_is_verified(request, view.search, each) for each in claimed) else ()
    if any(view.search & operator.bit for operator in searches):
        return LABELS_OF_STANDING[CrawlerStatus.VERIFIED]
    found = {status_by_address(request, operator) for operator in searches}
    return LABELS_OF_STANDING[next(crawler_status for crawler_status in KINDEST if crawler_status in found)]


def _is_verified(request: SignalInput, networks: int, operator: SearchOperator) -> bool:
    if networks & operator.bit:
        return True
    return bool(operator.domains) and status_by_address(request, operator) is CrawlerStatus.VERIFIED


def status_by_address(request: SignalInput, operator: SearchOperator) -> CrawlerStatus:
    """Return the status of a claim from an address outside the operator's published networks."""
    if not operator.domains:
        # The operator publishes all its addresses, and this is none of them.
        return CrawlerStatus.FORGED if request.intel.published & operator.bit else CrawlerStatus.UNKNOWN
    crawler_statuses = request.intel.crawler_statuses
    return (
        CrawlerStatus.UNKNOWN
        if crawler_statuses is None
        else crawler_statuses.find(request.facts.address, operator, request.facts.now_ms)
    )
