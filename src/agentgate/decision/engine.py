"""decide(): from the facts of a request to its outcome. Pure and synchronous: no I/O, no clock but the stopwatch.

The steps: signals give labels, models give scores, scores give bands (labels too), rules give a verdict, and the site's
mode determines what applies. Callers do all I/O (tokens, signatures, quotas) before or after.
"""

import functools
from collections.abc import Mapping
from time import perf_counter_ns

from msgspec import Struct

from agentgate.decision.outcome import apply_mode
from agentgate.decision.scoring.features import band_labels
from agentgate.decision.scoring.score import ModelView, Scores
from agentgate.decision.signals.facts import AgentFacts, Observation, RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import Intel
from agentgate.lib.enums import AgentVerdict, Outcome
from agentgate.sites.directory import SiteView
from agentgate.sites.lists.site_lists import stronger
from agentgate.sites.request_matcher import RequestMatcher
from agentgate.sites.rules.evaluate import NO_TRAITS, RuleVerdict, Traits
from agentgate.sites.rules.patterns.predicates import USER_AGENT_HEADER

ALLOWED = ("allowed",)
POLICY = ("policy",)


class EngineDecision(Struct, frozen=True, gc=False):
    """A decision, with its labels, scores and rule."""

    outcome: Outcome
    would: Outcome | None
    # Codes of the gateway's table; never which rule it was.
    reasons: tuple[str, ...]
    labels: tuple[str, ...]
    observation: Observation
    scores: Scores
    verdict: RuleVerdict
    duration_us: int


def decide(facts: RequestFacts, site: SiteView, models: ModelView, intel: Intel) -> EngineDecision:
    """Decide about one request."""
    started_ns = perf_counter_ns()
    observation = observe(facts, intel)
    scores = models.score(observation, content=facts.content)
    traits = NO_TRAITS if site.matcher is None else _traits_of_call(facts, site.matcher)
    return conclude(
        ObservedRequest(observation, scores, facts.route, facts.action, started_ns, traits, facts.agent), site
    )


class ObservedRequest(Struct, frozen=True, gc=False):
    """A request after signals and models, before the rules."""

    observation: Observation
    scores: Scores
    route: str
    action: str | None
    # By the stopwatch.
    started_ns: int
    # Results of the site's predicates and lists.
    traits: Traits = NO_TRAITS
    agent: AgentFacts | None = None


def conclude(observed: ObservedRequest, site: SiteView) -> EngineDecision:
    """Ask the rules, and apply the site's mode."""
    observation, scores = observed.observation, observed.scores
    labels = with_bands(observation.labels, scores.values)
    verdict = _listed(observed, site) or site.rules.evaluate(
        labels, scores.values, route=observed.route, action=observed.action, traits=observed.traits
    )
    outcome = verdict.outcome
    would, reasons = None, ALLOWED
    if outcome is not Outcome.ALLOW:
        outcome, would = apply_mode(outcome, site.mode)
        reasons = POLICY
        if observation.program is not None:
            labels = _merged(labels, (f"ua.refused.{observation.program}",))
    duration_us = (perf_counter_ns() - observed.started_ns) // 1000
    return EngineDecision(outcome, would, reasons, labels, observation, scores, verdict, duration_us)


def _listed(observed: ObservedRequest, site: SiteView) -> RuleVerdict | None:
    """Return the verdict of the site's lists, which go before rules."""
    matcher = site.matcher
    if matcher is None or matcher.lists is None:
        return None
    agent, claimed = observed.agent, observed.observation.claimed_agent
    is_verified = agent is not None and agent.verdict is AgentVerdict.VERIFIED
    of_agent = matcher.lists.of_agent(agent.agent if agent is not None and is_verified else None, claimed)
    return stronger(observed.traits, of_agent).listed


def _traits_of_call(facts: RequestFacts, matcher: RequestMatcher) -> Traits:
    user_agent = next((value for name, value in facts.headers if name == USER_AGENT_HEADER), None)
    return matcher.of_call(facts.address, facts.visitor, user_agent)


def with_bands(labels: tuple[str, ...], scores: Mapping[str, float]) -> tuple[str, ...]:
    """Return the labels together with the score bands' labels, sorted again."""
    bands = band_labels(scores)
    return _merged(labels, bands) if bands else labels


# A few thousand sets of labels make up most requests.
@functools.lru_cache(maxsize=4_096)
def _merged(labels: tuple[str, ...], bands: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted((*labels, *bands)))
