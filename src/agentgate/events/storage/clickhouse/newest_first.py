"""Reads that want the newest rows of a range: the last day first, and the rest only where that has too few.

Each day is a partition, and ClickHouse opens every day of a range before it gives the first row. Most pages are full
after the last day.
"""

from agentgate.events.decision_ids import TIME_SHIFT
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Reader, Row

DAY_OF_IDS = DAY_MS << TIME_SHIFT


async def read_newest(reader: Reader, sql: str, site: int, ids: range, limit: int, *values: int) -> list[Row]:
    """Return up to `limit` rows. The statement has site, first ID, end and limit as $1 to $4, and `values` from $5."""
    day = max(ids.start, ids.stop - DAY_OF_IDS)
    rows = await reader.all(sql, site, day, ids.stop, limit, *values)
    if len(rows) < limit and day > ids.start:
        rows += await reader.all(sql, site, ids.start, day, limit - len(rows), *values)
    return rows
