"""One decision with the rule that made it, as it goes over the wire."""

from msgspec import UNSET, UnsetType

from agentgate.events.queries.records import Decision
from agentgate.lib.records import Record
from agentgate.protection.rules.records import Rule


class DecisionDetail(Record, frozen=True, kw_only=True):
    """A decision with what explains it. `ruleCurrent`: the site still has the rule set that decided."""

    decision: Decision
    labels_by_source: dict[str, list[str]]
    rule_current: bool
    monitored: bool
    rule: Rule | UnsetType = UNSET
    trace_url: str | UnsetType = UNSET
