"""decide(): from the facts of a request to its outcome. Pure and synchronous: no I/O, no clock but the stopwatch.

The steps: signals give labels, models give scores, scores give bands (labels too), rules give a verdict, and the site's
mode determines what applies. Callers do all I/O (tokens, signatures, quotas) before or after.
"""

import functools
from collections.abc import Mapping
from time import perf_counter_ns

from msgspec import Struct

from agentgate.decision.scoring.features import band_labels
from agentgate.decision.scoring.score import ModelView, Scores
from agentgate.decision.signals.facts import AgentFacts, Observation, RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import Intel
from agentgate.lib.enums import AgentVerdict, Mode, Outcome
from agentgate.sites.directory import SiteView
from agentgate.sites.lists.site_lists import stronger
from agentgate.sites.request_matcher import RequestMatcher
from agentgate.sites.rules.evaluate import NO_TRAITS, RuleVerdict, Traits
from agentgate.sites.rules.patterns.predicates import USER_AGENT_HEADER
from agentgate.sites.rules.records import RuleResponse

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


class Ruling(Struct, frozen=True, gc=False):
    """The outcome that applies to a request, its reason, and the outcome that enforce mode would have had."""

    outcome: Outcome
    # A reason of the gateway's table.
    reason: str
    would: Outcome | None = None
    # The reason that is recorded where monitor mode shows another one.
    cause: str | None = None
    response: RuleResponse | None = None
    # A sentence for the person who sets up the adapter or writes the agent.
    hint: str | None = None
    # Headers for an agent: how to sign, the price, the charge.
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Views(Struct, frozen=True, gc=False):
    """The threat data and models of one moment."""

    intel: Intel
    models: ModelView


def decide(facts: RequestFacts, site: SiteView, views: Views) -> EngineDecision:
    started_ns = perf_counter_ns()
    observation = observe(facts, views.intel)
    traits = NO_TRAITS if site.matcher is None else _traits_of_call(facts, site.matcher)
    return conclude(observation, facts, site, views.models, traits=traits, started_ns=started_ns)


def conclude(
    observation: Observation, facts: RequestFacts, site: SiteView, models: ModelView, *, traits: Traits, started_ns: int
) -> EngineDecision:
    """Run models and rules on an observed request, and apply the site's mode.

    `traits` are the results of the site's predicates and lists; `started_ns` is by the stopwatch.
    """
    scores = models.score(observation, content=facts.content)
    labels = with_bands(observation.labels, scores.values)
    verdict = _listed(observation, facts.agent, site, traits) or site.rules.evaluate(
        labels, scores.values, route=facts.route, action=facts.action, traits=traits
    )
    outcome = verdict.outcome
    would, reasons = None, ALLOWED
    if outcome is not Outcome.ALLOW:
        outcome, would = apply_mode(outcome, site.mode)
        reasons = POLICY
        if observation.program is not None:
            labels = _merged(labels, (f"ua.refused.{observation.program}",))
    duration_us = (perf_counter_ns() - started_ns) // 1000
    return EngineDecision(outcome, would, reasons, labels, observation, scores, verdict, duration_us)


def apply_mode(outcome: Outcome, mode: Mode) -> tuple[Outcome, Outcome | None]:
    """Return the outcome that applies and, if monitor mode changes it, the would-decision."""
    if mode is Mode.ENFORCE or outcome is Outcome.ALLOW:
        return outcome, None
    return Outcome.ALLOW, outcome


def _listed(observation: Observation, agent: AgentFacts | None, site: SiteView, traits: Traits) -> RuleVerdict | None:
    """Return the verdict of the site's lists, which go before rules."""
    matcher = site.matcher
    if matcher is None or matcher.lists is None:
        return None
    is_verified = agent is not None and agent.verdict is AgentVerdict.VERIFIED
    verified = agent.agent if agent is not None and is_verified else None
    return stronger(traits, matcher.lists.of_agent(verified, observation.claimed_agent)).listed


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
