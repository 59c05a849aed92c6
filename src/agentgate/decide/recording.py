"""From a decision to the event that is recorded of it."""

from typing import Protocol

from msgspec import Struct

from agentgate.core.enums import ChallengeStage, DecisionKind, SolveType
from agentgate.decide.engine import Decision
from agentgate.detect.facts import AgentFacts
from agentgate.events.records import Event
from agentgate.scoring.features import feature_values
from agentgate.sites.directory import SiteView


class Answered(Struct, frozen=True, kw_only=True, gc=False):
    """What the caller knows and the decision does not: under which ID, for whom, with which answer."""

    id: int
    visitor: int | None
    status: int
    request_id: str | None = None
    trace_id: str | None = None
    kind: DecisionKind = DecisionKind.REQUEST
    stage: ChallengeStage | None = None
    solve_type: SolveType | None = None
    solve_ms: int | None = None


class Asked(Protocol):
    """What is recorded of the request itself."""

    @property
    def method(self) -> str: ...
    @property
    def route(self) -> str: ...
    @property
    def action(self) -> str | None: ...
    @property
    def agent(self) -> AgentFacts | None: ...


def make_event(facts: Asked, site: SiteView, decision: Decision, answered: Answered) -> Event:
    """Return the event of a decision that the rules made."""
    agent = facts.agent.agent if facts.agent is not None else None
    return Event(
        id=answered.id,
        site=site.number,
        visitor=answered.visitor,
        kind=answered.kind,
        mode=site.mode,
        outcome=decision.outcome,
        would=decision.would,
        method=facts.method if facts.method in KNOWN_METHODS else "OTHER",
        route=facts.route,
        action=facts.action,
        status=answered.status,
        duration_us=decision.duration_us,
        reasons=decision.reasons,
        labels=decision.labels,
        rule=decision.verdict.rule,
        rule_set_version=site.rules.version,
        scores=decision.scores.values,
        model_versions=decision.scores.versions,
        shadow_scores=decision.scores.shadow_values,
        shadow_versions=decision.scores.shadow_versions,
        agent=agent or decision.observation.claimed_agent,
        request_id=answered.request_id,
        trace_id=answered.trace_id,
        stage=answered.stage,
        solve_type=answered.solve_type,
        solve_ms=answered.solve_ms,
        features=feature_values(decision.observation) if site.captures_features else None,
    )


# The method is the client's word, and only a bounded number of words is remembered.
KNOWN_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"))
