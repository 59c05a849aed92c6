"""The read models of events over one set of stores."""

from agentgate.core.database import Session
from agentgate.events.label_ports import LabelStore
from agentgate.store.segments.segments import Segments
from agentgate.store.sql.event_words import Words
from agentgate.store.sql.traffic_counts import SqlCounts
from agentgate.store.sql.traffic_days import TrafficDays
from agentgate.store.sql.traffic_decisions import SqlDecisions
from agentgate.store.sql.traffic_values import SqlValues
from agentgate.store.sql.traffic_visitors import SqlVisitors


class SqlTraffic:
    """Implements TrafficStore. Reads of `stats` take milliseconds, so that session should read on threads."""

    def __init__(self, stats: Session, segments: Segments, words: Words, labels: LabelStore) -> None:
        days = TrafficDays(stats, segments)
        self.counts = SqlCounts(stats, days)
        self.values = SqlValues(stats, days, words)
        self.visitors = SqlVisitors(stats, days, words)
        self.decisions = SqlDecisions(stats, days, words, labels)
