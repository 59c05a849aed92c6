"""Journal: the event of each check, and what is counted beside."""

import msgspec

from agentgate.core.decision_ids import DecisionIds
from agentgate.decide.recording import Answered, make_event
from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.gateway.answers import Ruling
from agentgate.gateway.visit import Visit
from agentgate.sites.directory import SiteView

# Reasons that the rules give. An event with one of these can be decided again from its labels.
BY_RULES = frozenset(("allowed", "monitor", "policy", "agent_unverified"))


class Journal:
    """Records checks. It never waits."""

    def __init__(self, recorder: Recorder, ids: DecisionIds) -> None:
        self._recorder = recorder
        self._ids = ids

    def count(self, site: SiteView, name: CounterName, now_ms: int) -> None:
        """Count something of a site."""
        self._recorder.count(site.number, name, now_ms=now_ms)

    def record(self, visit: Visit, ruling: Ruling, status: int) -> int:
        """Record a decision and return its ID."""
        decision_id = self._ids.next()
        answered = Answered(id=decision_id, visitor=visit.visitor, status=status)
        event = make_event(visit.facts, visit.site, visit.decision, answered)
        if ruling.cause is not None or ruling.reason not in BY_RULES:
            # Something else than the rules decided, so replaying the rules would not show it.
            event = msgspec.structs.replace(
                event,
                outcome=ruling.outcome,
                would=ruling.would,
                reasons=(ruling.cause or ruling.reason,),
                ruled=False,
                rule=None,
                error=ruling.reason == "service_unavailable",
            )
        self._recorder.put(event)
        return decision_id
