"""Decider: rates, models and threat data for the callers of `decide` (gateway, browser check, agents). Synchronous."""

from agentgate.decision.engine import EngineDecision, Views, decide
from agentgate.decision.rates.rule_limits import RuleLimits
from agentgate.decision.rates.windows import RateWindows
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.signals.facts import Rates, RequestFacts
from agentgate.decision.threat_data.intel import IntelDirectory
from agentgate.decision.visitor import Visitors
from agentgate.sites.directory import SiteView


class Decider:
    """Decides with the models and threat data of the moment, and counts rates."""

    def __init__(
        self,
        *,
        models: ModelDirectory,
        intel: IntelDirectory,
        rates: RateWindows,
        visitors: Visitors,
        rule_limits: RuleLimits | None = None,
    ) -> None:
        self.models = models
        self.intel = intel
        self._rates = rates
        # A cached visitor; a navigation; a file; another subresource; a call; a shared budget; an allowed page.
        self.count_again = rates.count_again
        self.count_page = rates.count_page
        self.count_file = rates.count_file
        self.count_part = rates.count_part
        self.count_fetch = rates.count_fetch
        self.has_room = rates.has_room
        self.earn = rates.earn
        # A request that met a rule with a rate.
        self.is_over = (RuleLimits() if rule_limits is None else rule_limits).is_over
        self.visitors = visitors

    def count(self, site: SiteView, visitor: int, address: str, now_ms: int) -> Rates:
        """Count a request of a visitor and return how many there were in this minute."""
        return self._rates.count(site.number, visitor, address, now_ms)

    def rates(self, site: SiteView, visitor: int, address: str, now_ms: int) -> Rates:
        """Return how many requests there were in this minute, without counting one more."""
        return self._rates.read(site.number, visitor, address, now_ms)

    def decide(self, facts: RequestFacts, site: SiteView) -> EngineDecision:
        return decide(facts, site, Views(self.intel.current, self.models.view))
