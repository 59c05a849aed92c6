"""Decider: what a way in (gateway, browser check, agents) holds to decide with. Synchronous throughout."""

from time import perf_counter_ns

from agentgate.protection.decision.engine import Decision, Observed, conclude, decide
from agentgate.protection.decision.visitor import Visitors
from agentgate.protection.scoring.models import ModelDirectory
from agentgate.protection.scoring.score import ModelView, Reading
from agentgate.protection.signals.facts import Observation, Rates, RequestFacts
from agentgate.protection.signals.rates import RateWindows
from agentgate.protection.sites.directory import SiteView
from agentgate.protection.threat_data.intel import IntelDirectory

# So many decisions are remembered over all sites, then all are forgotten.
MOST_DECISIONS = 8_192

# Labels, figures as the models read them, route, action: all that models and rules look at.
_Key = tuple[tuple[str, ...], Reading, str, str | None]


class Decider:
    """The views that change under way (models, threat data) are read anew for each decision."""

    def __init__(
        self, *, models: ModelDirectory, intel: IntelDirectory, rates: RateWindows, visitors: Visitors
    ) -> None:
        self.models = models
        self.intel = intel
        self._rates = rates
        # Count a request of somebody who was met before.
        self.count_again = rates.count_again
        self.visitors = visitors
        self._decisions = _Decisions(models.view)

    def count(self, site: SiteView, visitor: int, address: str, now_ms: int) -> Rates:
        """Count a request of a visitor and return how many there were in this minute."""
        return self._rates.count(site.number, visitor, address, now_ms)

    def rates(self, site: SiteView, visitor: int, address: str, now_ms: int) -> Rates:
        """Return how many requests there were in this minute, without counting one more."""
        return self._rates.read(site.number, visitor, address, now_ms)

    def decide(self, facts: RequestFacts, site: SiteView) -> Decision:
        """Decide with the models and the threat data of this moment."""
        return decide(facts, site, self.models.view, self.intel.current)

    def decide_observed(
        self, observation: Observation, site: SiteView, *, route: str, action: str | None, started_ns: int
    ) -> Decision:
        """Decide about a request whose signals are there already, with the models of this moment."""
        models, decisions = self.models.view, self._decisions
        if decisions.models is not models or decisions.count > MOST_DECISIONS:
            decisions = self._decisions = _Decisions(models)
        made = decisions.of_site(site)
        key: _Key = (observation.labels, decisions.read(observation.numbers), route, action)
        known = made.get(key)
        if known is None:
            scores = models.score(observation, content=False)
            decisions.count += 1
            known = made[key] = conclude(Observed(observation, scores, route, action, started_ns), site)
            return known
        return Decision(
            known.outcome,
            known.would,
            known.reasons,
            known.labels,
            observation,
            known.scores,
            known.verdict,
            (perf_counter_ns() - started_ns) // 1000,
        )


class _Decisions:
    """What was decided with the same models. All of a site's are forgotten when anything about the site changes."""

    def __init__(self, models: ModelView) -> None:
        self.models = models
        self.read = models.reading.read
        self.count = 0
        # By the site's number.
        self._sites: dict[int, tuple[SiteView, dict[_Key, Decision]]] = {}

    def of_site(self, site: SiteView) -> dict[_Key, Decision]:
        known = self._sites.get(site.number)
        if known is None or known[0] is not site:
            known = self._sites[site.number] = site, {}
        return known[1]
