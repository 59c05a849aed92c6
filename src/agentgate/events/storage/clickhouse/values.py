"""Counts of values in ClickHouse, and solve times. The counters without events are in the statistics."""

from agentgate.events.queries.ports import ValueCounts, ValueStore
from agentgate.events.storage.clickhouse.counts import whole_and_ends
from agentgate.events.storage.clickhouse.newest_first import read_newest
from agentgate.events.storage.clickhouse.schema import PAIRS
from agentgate.events.storage.codes import STAGE_CODES
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.queries.values import SqlCounters, name_values
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Reader
from agentgate.lib.decision_ids import first_id
from agentgate.lib.enums import ChallengeStage
from agentgate.lib.time_ranges import TimeRange

_VALUES = f"""SELECT dimension, value, sum(counted) FROM (
    SELECT dimension, value, sum(part.events) AS counted FROM dimension_part AS part
        WHERE site = $1 AND hour >= $2 AND hour < $3 GROUP BY dimension, value
    UNION ALL SELECT toUInt8(pair.1) AS dimension, toInt32(pair.2) AS value, toInt64(count()) AS counted FROM event
        ARRAY JOIN {PAIRS} AS pair
        WHERE site = $1 AND ((id >= $4 AND id < $5) OR (id >= $6 AND id < $7)) GROUP BY dimension, value)
    GROUP BY dimension, value"""  # noqa: S608
_SOLVED = f"""SELECT solve_ms FROM event WHERE site = $1 AND id >= $2 AND id < $3
    AND stage = {STAGE_CODES[ChallengeStage.PASSED]} AND isNotNull(solve_ms)
    ORDER BY site DESC, id DESC LIMIT $4"""  # noqa: S608


class ClickhouseValues(SqlCounters, ValueStore):
    """Values in ClickHouse."""

    def __init__(self, stats: Reader, reader: Reader, words: KnownWords) -> None:
        super().__init__(stats)
        self._reader = reader
        self._words = words

    async def count_values(self, site: int, span: TimeRange) -> ValueCounts:
        rows = await self._reader.all(_VALUES, site, *whole_and_ends(span, HOUR_MS))
        return await name_values([(dimension, value, int(count)) for dimension, value, count in rows], self._words)

    async def list_solve_times_ms(self, site: int, span: TimeRange, limit: int) -> list[int]:
        ids = range(first_id(span.from_ms), first_id(span.to_ms))
        rows = await read_newest(self._reader, _SOLVED, site, ids, limit)
        return [solve_ms for (solve_ms,) in rows]
