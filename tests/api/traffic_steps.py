"""What several tests of the traffic routes do: a site, and decisions that were made for it."""

from typing import Any

from agentgate.events.decision_ids import first_id, id_day, write_id
from agentgate.events.records import Count, CounterName, Event
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS
from agentgate.lib.enums import ChallengeStage, DecisionKind, Mode, Outcome, SolveType
from tests.support.service import NOON_MS, RunningService

SITE = "site_shop0001"
OTHER = "site_mart0001"
VISITOR = 0xFEDCBA9876543210
VISITOR_ID = "fedcba9876543210"


def add_site(service: RunningService, key: str = SITE, **changes: Any) -> str:
    """Create a site as an operator; return its ID."""
    reply = service.operator.post("/v1/admin/sites", json={"siteKey": key, "name": "Shop", **changes})
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


def number_of(service: RunningService, site_id: str) -> int:
    """Return the number under which events know a site."""
    return service.run(service.application.stores.store.read.sites.find_number(site_id))


def record(service: RunningService, site_id: str, *made: dict[str, Any]) -> list[str]:
    """Store decisions, each described by what is unusual about it; return their IDs as on the wire."""
    number = number_of(service, site_id)
    events = []
    for place, changes in enumerate(made):
        usual: dict[str, Any] = {
            "visitor": VISITOR,
            "kind": DecisionKind.REQUEST,
            "mode": Mode.MONITOR,
            "outcome": Outcome.ALLOW,
            "method": "POST",
            "route": "/login",
            "status": 204,
            "duration_us": 20,
        }
        at_ms = changes.get("at_ms", NOON_MS - MINUTE_MS)
        fields = {name: value for name, value in changes.items() if name != "at_ms"}
        events.append(Event(**usual | fields, site=number, id=first_id(at_ms) + place))
    for day in sorted({id_day(event.id) for event in events}):
        batch = [event for event in events if id_day(event.id) == day]
        service.run(service.application.stores.events.write(batch))
    return [write_id(event.id) for event in events]


def count(service: RunningService, site_id: str, name: CounterName, value: str, amount: int) -> None:
    """Count something in the present hour."""
    counted = Count(number_of(service, site_id), NOON_MS // HOUR_MS - 1, name, value, amount)
    service.run(service.application.stores.events.add_counts([counted]))


def challenge(stage: ChallengeStage, **changes: Any) -> dict[str, Any]:
    """Describe an event of a challenge."""
    solved = {"solve_type": SolveType.MANAGED, "solve_ms": 1200} if stage is ChallengeStage.PASSED else {}
    return {"kind": DecisionKind.CHALLENGE, "stage": stage, "action": "login", **solved, **changes}


def roll_up(service: RunningService) -> None:
    """Close the days that have ended."""
    service.run(service.application.stores.events.close_days(now_ms=NOON_MS))


def days_ago(days: int) -> int:
    """Return noon, some days ago."""
    return NOON_MS - days * DAY_MS
