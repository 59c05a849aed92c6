"""A check before its decision, and after. `decisions.py` makes the second, and the third, which is cached."""

from collections.abc import Mapping

from msgspec import Struct

from agentgate.decision.engine import EngineDecision, Ruling
from agentgate.decision.rates.windows import Counted
from agentgate.decision.signals.facts import AgentFacts, Rates, RequestFacts
from agentgate.gateway.header_fingerprints import HeaderFingerprint
from agentgate.gateway.pages import SitePage
from agentgate.gateway.receipts import Shown
from agentgate.gateway.request.described_request import LENGTH
from agentgate.gateway.request.original_request import Original
from agentgate.gateway.route_protection import Protection
from agentgate.gateway.visitors import Visitor
from agentgate.lib.enums import Outcome
from agentgate.lib.limits import CARRIED_FORM_BYTES
from agentgate.sites.directory import SiteView
from agentgate.sites.rules.evaluate import NO_TRAITS, Traits
from agentgate.sites.rules.rate import RuleLimit

ALLOWED = Ruling(Outcome.ALLOW, "allowed")


class PendingCheck(Struct, frozen=True, gc=False):
    """A check before the decision: page, visitor, rates, and the token or clearance shown."""

    site: SiteView
    fingerprint: HeaderFingerprint
    page: SitePage
    visitor: Visitor
    # Under what the request was counted, and the result: the address or the clearance.
    counted: Counted
    rates: Rates
    # The state of the clearance or token; None for neither.
    shown: Shown | None
    cookie_count: int
    now_ms: int
    # By the stopwatch.
    started_ns: int
    # All headers, where the fingerprint is not enough.
    fields: Mapping[bytes, bytes]
    # Results of the predicates of the site's rules, and of its lists.
    traits: Traits = NO_TRAITS
    has_opened_decoy: bool = False

    @property
    def method(self) -> str:
        return self.fingerprint.kind.method

    @property
    def original(self) -> Original:
        """The visitor's request."""
        return original_of(self.method, self.page, self.visitor)

    @property
    def form_follows(self) -> bool:
        """Whether the adapter can send a form in a second step, so that the page can repeat it."""
        return self.method == "POST" and 0 < int(self.fields.get(LENGTH, 0)) <= CARRIED_FORM_BYTES

    def facts(self, protection: Protection, shown: Shown, agent: AgentFacts | None) -> RequestFacts:
        """Return the facts for signals, without headers, which were read before."""
        return RequestFacts(
            now_ms=self.now_ms,
            method=self.fingerprint.kind.method,
            target=self.page.target,
            address=self.visitor.address,
            headers=(),
            route=protection.route,
            action=protection.action,
            rates=self.rates,
            agent=agent,
            receipt=shown.states,
            is_plain=self.page.kind.origin.startswith("http:"),
            is_foreign_host=self.page.kind.is_foreign,
            path=self.page.kind.labels,
            load=self.site.load_labels,
            wanted=self.site.wanted_programs,
            ai_use=None if self.site.ai_use is None else self.site.ai_use.choices,
            robots=self.page.kind.robots,
            has_opened_decoy=self.has_opened_decoy,
        )


def original_of(method: str, page: SitePage, visitor: Visitor) -> Original:
    """Return the visitor's request."""
    target = page.target
    return Original(method, page.kind.origin, target, target.partition("?")[0], visitor.address)


class DecidedCheck(Struct, frozen=True, gc=False):
    """A check with the results of signals, models and rules under one of its protections, and the ruling."""

    pending: PendingCheck
    protection: Protection
    shown: Shown
    decision: EngineDecision
    agent: AgentFacts | None = None
    ruling: Ruling = ALLOWED
    # The rates that count the request, whichever protection applies.
    limits: tuple[RuleLimit, ...] = ()

    @property
    def site(self) -> SiteView:
        return self.pending.site

    # The parts of the request that the event records.

    @property
    def method(self) -> str:
        return self.pending.fingerprint.kind.method

    @property
    def route(self) -> str:
        """The route as decisions name it."""
        return self.protection.route

    @property
    def action(self) -> str | None:
        return self.protection.action
