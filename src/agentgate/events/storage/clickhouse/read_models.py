"""The read models of events in ClickHouse."""

from agentgate.events.label_repository import LabelStore
from agentgate.events.storage.clickhouse.counts import ClickhouseCounts
from agentgate.events.storage.clickhouse.decisions import ClickhouseDecisions
from agentgate.events.storage.clickhouse.values import ClickhouseValues
from agentgate.events.storage.clickhouse.visitors import ClickhouseVisitors
from agentgate.events.storage.dictionary import KnownWords
from agentgate.lib.database import Reader
from agentgate.storage.clickhouse.client import ClickhouseClient


class ClickhouseTraffic:
    """Implements TrafficStore. The dictionary and the hourly counters stay in the statistics."""

    def __init__(self, stats: Reader, client: ClickhouseClient, words: KnownWords, labels: LabelStore) -> None:
        self.counts = ClickhouseCounts(client)
        self.values = ClickhouseValues(stats, client, words)
        self.visitors = ClickhouseVisitors(client, words)
        self.decisions = ClickhouseDecisions(client, words, labels)
