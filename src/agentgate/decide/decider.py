"""Decider: what a way in (gateway, browser check, agents) holds to decide with. Synchronous throughout."""

from agentgate.decide.engine import Decision, Observed, conclude, decide
from agentgate.decide.visitor import Visitors
from agentgate.detect.facts import Observation, Rates, RequestFacts
from agentgate.detect.intel import IntelDirectory
from agentgate.detect.rates import RateWindows
from agentgate.scoring.models import ModelDirectory
from agentgate.sites.directory import SiteView


class Decider:
    """The views that change under way (models, threat data) are read anew for each decision."""

    def __init__(
        self, *, models: ModelDirectory, intel: IntelDirectory, rates: RateWindows, visitors: Visitors
    ) -> None:
        self._models = models
        self.intel = intel
        self._rates = rates
        self.visitors = visitors

    def count(self, site: SiteView, visitor: int, address: str, now_ms: int) -> Rates:
        """Count a request of a visitor and return how many there were in this minute."""
        return self._rates.count(site.number, visitor, address, now_ms)

    def rates(self, site: SiteView, visitor: int, address: str, now_ms: int) -> Rates:
        """Return how many requests there were in this minute, without counting one more."""
        return self._rates.read(site.number, visitor, address, now_ms)

    def decide(self, facts: RequestFacts, site: SiteView) -> Decision:
        """Decide with the models and the threat data of this moment."""
        return decide(facts, site, self._models.view, self.intel.current)

    def decide_observed(
        self, observation: Observation, site: SiteView, *, route: str, action: str | None, started_ns: int
    ) -> Decision:
        """Decide about a request whose signals are there already, with the models of this moment."""
        scores = self._models.view.score(observation, content=False)
        return conclude(Observed(observation, scores, route, action, started_ns), site)
