"""NotedRequests: collects the requests that a site's suggestions and its feed for firewalls are made of."""

from agentgate.gateway.decisions import CachedDecision
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.header_fingerprints import HeaderFingerprint
from agentgate.gateway.suggestions.collector import RefusedRequest
from agentgate.gateway.visitors import Visitor


class NotedRequests:
    """Accepts a decided request that may be suggested, and every request of a site with a feed."""

    def __init__(self, event_log: GatewayEventLog) -> None:
        self._event_log = event_log
        self._block_feed = event_log.block_feed

    def note(
        self,
        cached: CachedDecision,
        fingerprint: HeaderFingerprint,
        target: str,
        visitor: Visitor,
        *,
        is_cleared: bool,
        now_ms: int,
    ) -> None:
        view = cached.decided.site
        if cached.may_be_suggested and fingerprint.is_nameable:
            who = (fingerprint.observed.user_agent, fingerprint.signatures, visitor.address, visitor.labels)
            self._event_log.suggest(view, RefusedRequest(fingerprint.kind.method, target, *who), now_ms)
        if not view.block_feed:
            return
        if is_cleared or cached.earns:
            self._block_feed.note_person(visitor, fingerprint.tag, now_ms, cleared=is_cleared)
        elif cached.offense is not None:
            self._block_feed.note_offense(visitor, cached.offense, fingerprint.tag, now_ms)
