"""decide(): from the facts of a request to its outcome. Pure and synchronous: no I/O, no clock but the stopwatch.

The steps: signals give labels, models give scores, scores give bands (labels too), rules give a verdict, the site's
mode says what applies. Callers do what must wait (tokens, signatures, quotas) before or after.
"""

from collections.abc import Mapping
from time import perf_counter_ns

from msgspec import Struct

from agentgate.core.enums import Outcome
from agentgate.decide.outcome import apply_mode
from agentgate.detect.facts import Observation, RequestFacts
from agentgate.detect.intel import Intel
from agentgate.detect.observe import observe
from agentgate.rules.evaluate import Verdict
from agentgate.scoring.bands import band_labels
from agentgate.scoring.score import ModelView, Scores
from agentgate.sites.directory import SiteView

ALLOWED = ("allowed",)
POLICY = ("policy",)


class Decision(Struct, frozen=True, gc=False):
    """What was decided, and everything that led to it."""

    outcome: Outcome
    would: Outcome | None
    # Codes of the gateway's table; never which rule it was.
    reasons: tuple[str, ...]
    labels: tuple[str, ...]
    observation: Observation
    scores: Scores
    verdict: Verdict
    duration_us: int


def decide(facts: RequestFacts, site: SiteView, models: ModelView, intel: Intel) -> Decision:
    """Decide about one request."""
    started = perf_counter_ns()
    observation = observe(facts, intel)
    scores = models.score(observation, content=facts.content is not None)
    labels = with_bands(observation.labels, scores.values)
    verdict = site.rules.evaluate(labels, scores.values, route=facts.route, action=facts.action)
    outcome, would = apply_mode(verdict.outcome, site.mode)
    reasons = ALLOWED if verdict.outcome is Outcome.ALLOW else POLICY
    duration_us = (perf_counter_ns() - started) // 1000
    return Decision(outcome, would, reasons, labels, observation, scores, verdict, duration_us)


def with_bands(labels: tuple[str, ...], scores: Mapping[str, float]) -> tuple[str, ...]:
    """Return the labels with those of the score bands, sorted again."""
    bands = band_labels(scores)
    return tuple(sorted((*labels, *bands))) if bands else labels
