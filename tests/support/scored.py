"""Stored decisions with scores."""

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Event
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from tests.support.service import RunningService


def add_scores(service: RunningService, site: int, scores: list[float], version: str = "x", ago_ms: int = 0) -> None:
    """Store a decision for each score, all in one millisecond."""
    events = [
        Event(
            id=first_id(service.clock.now_ms() - ago_ms) + place,
            site=site,
            visitor=place,
            kind=DecisionKind.REQUEST,
            mode=Mode.ENFORCE,
            outcome=Outcome.ALLOW,
            method="GET",
            route="*",
            status=204,
            duration_us=10,
            labels=("ua.browser",),
            scores={"bot": score},
            model_versions={"bot": version},
        )
        for place, score in enumerate(scores)
    ]
    service.run(service.application.stores.events.write(events))
