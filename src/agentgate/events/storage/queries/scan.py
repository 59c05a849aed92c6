"""One scan of a day: the newest events that the leading filter finds, and which of them match all filters.

One statement does both, because reading IDs from a database and passing them back takes longer than the scan itself. On
SQLite, patterns are searched first, up to limits: if nearly every event has its own pattern, a scan is quicker.
"""

from collections.abc import Sequence
from typing import NamedTuple

from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.queries.days import DayPart
from agentgate.events.storage.queries.filters import Filter, Lead
from agentgate.events.storage.queries.joined import joined, numbers
from agentgate.lib.database import Reader, Row

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
    session: Reader, site: int, part: DayPart, *, filters: Sequence[Filter], lead: Filter, limit: int
) -> ScanResult:
    """Scan at most `limit` events of a part of a day."""
    # A leading filter with several indexes also finds events that do not match, so check its condition too.
    others = [each for each in filters if each is not lead or len(each.leads) != 1]
    codes = (*(each.code for each in lead.leads), *(each.code for each in others))
    values = (site, part.least, part.end, limit, *codes)
    looked = _looked(lead.leads)
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


def _looked(leads: Sequence[Lead]) -> str:
    """Return the statement that finds the newest events, with the codes of leads from $5 on."""
    if not leads:
        return _newest("event", "")
    found = []
    for place, lead in enumerate(leads, 5):
        found.append(_newest(lead.table, f"AND {lead.condition.format(f'${place}')} "))
    if len(found) == 1:
        return found[0]
    # Every one of several may have the newest, and an event may be found by more than one.
    together = " UNION ".join(f"SELECT looked_id FROM ({each}) AS by_{place}" for place, each in enumerate(found))  # noqa: S608
    return f"SELECT looked_id FROM ({together}) AS together ORDER BY looked_id DESC LIMIT $4"  # noqa: S608


def _newest(table: str, condition: str) -> str:
    return f"""SELECT id AS looked_id FROM {table}
        WHERE site = $1 {condition}AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4"""  # noqa: S608


# With more patterns of the leading filter, or more events of these patterns, the day's events are scanned instead.
MOST_PATTERNS = 2_000
MOST_EVENTS = 4_000
# Up to this number of patterns, read the newest events of each pattern, however many it has.
FEW = 64

_IDS = f"""SELECT {joined("id")} FROM (
    SELECT id FROM (SELECT value AS listed FROM json_each($4)) CROSS JOIN event_pattern
    WHERE pattern = listed AND id >= $1 AND id < $2 LIMIT $3)"""  # noqa: S608
_LISTED = f"""SELECT {_COLUMNS} FROM (SELECT value AS listed FROM json_each($2)) CROSS JOIN event
    WHERE site = $1 AND id = listed ORDER BY id DESC"""  # noqa: S608
_NEWEST = """SELECT found FROM (
    SELECT id AS found FROM event_pattern WHERE pattern = ${} AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4)"""


async def find_patterns(session: Reader, site: int, filters: Sequence[Filter], lead: Filter) -> list[int] | None:
    """Return the patterns of a site for which all filters hold; None when too many match the leading filter."""
    words = ", ".join(f"${place}" for place in range(3, 3 + len(lead.leads)))
    # A leading filter with several words also finds patterns that do not match, so check its condition too.
    others = [each for each in filters if each is not lead or len(each.leads) > 1]
    after = 3 + len(lead.leads)
    conditions = "".join(f" AND {each.condition.format(f'${place}')}" for place, each in enumerate(others, after))
    row = await session.one(
        f"""WITH led AS MATERIALIZED (
                SELECT DISTINCT pattern AS led_to FROM pattern_word WHERE site = $1 AND word IN ({words}) LIMIT $2)
            SELECT (SELECT count(*) FROM led), {joined("number")} FROM led CROSS JOIN pattern
            WHERE number = led_to{conditions}""",  # noqa: S608
        site,
        MOST_PATTERNS + 1,
        *(each.code for each in lead.leads),
        *(each.code for each in others),
    )
    if row is None:
        return []
    return None if row[0] > MOST_PATTERNS else numbers(row[1])


async def find_newest(
    session: Reader, site: int, part: DayPart, *, patterns: Sequence[int], limit: int
) -> list[Row] | None:
    """Return the newest events of some patterns, newest first; None when there are too many to look at."""
    if not patterns:
        return []
    if len(patterns) <= FEW:
        found = " UNION ALL ".join(_NEWEST.format(place) for place in range(5, 5 + len(patterns)))
        return await session.all(
            f"""SELECT {_COLUMNS} FROM (SELECT found FROM ({found}) ORDER BY found DESC LIMIT $4) CROSS JOIN event
                WHERE site = $1 AND id = found ORDER BY found DESC""",  # noqa: S608
            site,
            part.least,
            part.end,
            limit,
            *patterns,
        )
    row = await session.one(_IDS, part.least, part.end, MOST_EVENTS + 1, _json(patterns))
    identifiers = numbers(row[0]) if row else []
    if len(identifiers) > MOST_EVENTS:
        return None
    return await session.all(_LISTED, site, _json(sorted(identifiers, reverse=True)[:limit]))


def _json(listed: Sequence[int]) -> str:
    return f"[{','.join(map(str, listed))}]"
