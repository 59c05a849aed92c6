"""One scan of a day: the newest events that the leading filter finds, and which of them match all filters.

One statement does both, because reading IDs from a database and passing them back takes longer than the scan itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

from agentgate.events.storage.days.days import SegmentDays
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.queries.days import DayPart
from agentgate.events.storage.queries.filters import Filter, Lead
from agentgate.lib.database import Row

_COLUMNS = ", ".join(EVENT_COLUMNS)
# Replaces all columns of an event except the ID.
_NOTHING = ", ".join("NULL" for _ in EVENT_COLUMNS[1:])
# `looked` comes first in the join: neither database may scan a whole day by another index instead.
_ROWS = "looked CROSS JOIN event WHERE site = $1 AND id = looked_id AND id >= $2 AND id < $3"


class ScanResult(NamedTuple):
    """Number of events scanned, the ID of the last one, and the matching rows, newest first."""

    events: int
    last: int | None
    rows: list[Row]


async def scan_part(
    days: SegmentDays, site: int, part: DayPart, *, filters: Sequence[Filter], lead: Filter, limit: int
) -> ScanResult:
    """Scan at most `limit` events of a part of a day."""
    session = days.session(part.day)
    # A leading filter with several indexes also finds events that do not match, so check its condition too.
    others = [each for each in filters if each is not lead or len(each.leads) != 1]
    codes = (*(each.code for each in lead.leads), *(each.code for each in others))
    values = (site, part.least, part.end, limit, *codes)
    looked = _looked(days, lead.leads)
    if not others:
        rows = await session.all(f"SELECT {_COLUMNS} FROM ({looked}) AS {_ROWS} ORDER BY looked_id DESC", *values)  # noqa: S608
        return ScanResult(len(rows), rows[-1][0] if rows else None, rows)
    after = 5 + len(lead.leads)
    conditions = "".join(f" AND {each.condition.format(f'${place}')}" for place, each in enumerate(others, after))
    # The last row has the number of scanned events, even if few of them match.
    rows = await session.all(
        f"""WITH looked AS MATERIALIZED ({looked})
            SELECT {_COLUMNS}, 0 FROM {_ROWS}{conditions}
            UNION ALL SELECT min(looked_id), {_NOTHING}, count(*) FROM looked""",  # noqa: S608
        *values,
    )
    found = sorted((row[:-1] for row in rows if row[1] is not None), reverse=True)
    [(last, events)] = [(row[0], row[-1]) for row in rows if row[1] is None] or [(None, 0)]
    return ScanResult(events, last, found)


def _looked(days: SegmentDays, leads: Sequence[Lead]) -> str:
    """Return the statement that finds the newest events, with the codes of leads from $5 on."""
    newest = "ORDER BY id DESC LIMIT $4"
    if not leads:
        return f"SELECT id AS looked_id FROM {days.rows} WHERE site = $1 AND id >= $2 AND id < $3 {newest}"  # noqa: S608
    found = [days.met("id", lead.condition.format(f"${place}"), newest) for place, lead in enumerate(leads, 5)]
    # Every one of several may have the newest, and an event may be found by more than one.
    together = " UNION ".join(f"SELECT id FROM {each}" for each in found)  # noqa: S608
    return f"SELECT id AS looked_id FROM ({together}) AS together {newest}"  # noqa: S608
