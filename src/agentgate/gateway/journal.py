"""Journal: the event of each check, and what is counted beside."""

from typing import Any

import msgspec

from agentgate.core.decision_ids import DecisionIds
from agentgate.decide.recording import Answered, make_event
from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName, Event
from agentgate.gateway.answers import Ruling
from agentgate.gateway.visit import Visit
from agentgate.sites.directory import SiteCaller, SiteView
from agentgate.tokens.uses import CredentialUses

# Reasons that the rules give. An event with one of these can be decided again from its labels.
BY_RULES = frozenset(("allowed", "monitor", "policy", "agent_unverified"))


class Journal:
    """Records checks. It never waits."""

    def __init__(self, recorder: Recorder, ids: DecisionIds, uses: CredentialUses) -> None:
        self._recorder = recorder
        self._ids = ids
        self._uses = uses

    def note_call(self, caller: SiteCaller, now_ms: int) -> None:
        """Note that a site's server called, with which credential."""
        self._uses.note(caller.credential_id, now_ms)
        self._recorder.count(caller.site.number, CounterName.SERVER_CHECK, now_ms=now_ms)

    def count(self, site: SiteView, name: CounterName, now_ms: int) -> None:
        """Count something of a site."""
        self._recorder.count(site.number, name, now_ms=now_ms)

    def new_id(self) -> int:
        """Return the ID of a decision that is about to be recorded."""
        return self._ids.next()

    def record_again(self, made: tuple[Any, ...], visitor: int, duration_us: int, now_ms: int) -> int:
        """Record a decision like an earlier one, of whose event this is all but the first three fields."""
        decision_id = self._ids.next_at(now_ms)
        self._recorder.put(Event(decision_id, visitor, duration_us, *made))
        return decision_id

    def record(self, visit: Visit, ruling: Ruling, status: int, decision_id: int | None = None) -> int:
        """Record a decision, under an ID that was made before or a new one, and return the ID."""
        decision_id = self._ids.next() if decision_id is None else decision_id
        self._recorder.put(self.event_of(visit, ruling, status, decision_id))
        return decision_id

    def event_of(self, visit: Visit, ruling: Ruling, status: int, decision_id: int) -> Event:
        """Return the event of a decision."""
        answered = Answered(id=decision_id, visitor=visit.visitor, status=status)
        event = make_event(visit.glimpse, visit.site, visit.decision, answered)
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
        return event
