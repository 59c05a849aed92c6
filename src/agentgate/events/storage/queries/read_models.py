"""The read models of events over one set of stores."""

from agentgate.events.labels.repository import LabelStore
from agentgate.events.storage.days.days import SegmentDays
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.queries.counts import SqlCounts
from agentgate.events.storage.queries.days import TrafficDays
from agentgate.events.storage.queries.decisions import SqlDecisions
from agentgate.events.storage.queries.values import SqlValues
from agentgate.events.storage.queries.visitors import SqlVisitors
from agentgate.lib.database import Reader


class SqlTraffic:
    """Implements TrafficStore. Reads of `stats` take milliseconds, so that session should read on threads."""

    def __init__(self, stats: Reader, segments: SegmentDays, words: KnownWords, labels: LabelStore) -> None:
        days = TrafficDays(stats, segments)
        self.counts = SqlCounts(stats, days)
        self.values = SqlValues(stats, days, words)
        self.visitors = SqlVisitors(stats, days, words)
        self.decisions = SqlDecisions(stats, days, words, labels)
