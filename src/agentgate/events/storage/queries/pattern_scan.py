"""Events of an SQLite day by their patterns: the patterns that match all filters, and the newest events of these.

Both have bounds. Where nearly every event has a pattern of its own, and many of them what is asked for, walking through
the events finds a page of them sooner.
"""

from collections.abc import Sequence

from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.queries.days import DayPart
from agentgate.events.storage.queries.filters import Filter
from agentgate.events.storage.queries.packs import joined, numbers
from agentgate.lib.database import Reader, Row

# With more patterns of the leading filter, or more events of these patterns, the day's events are scanned instead.
MOST_PATTERNS = 2_000
MOST_EVENTS = 4_000
# Of so few patterns, each is asked for its newest events, however many it has.
FEW = 64

_EVENTS = ", ".join(EVENT_COLUMNS)
_IDS = f"""SELECT {joined("id")} FROM (
    SELECT id FROM (SELECT value AS listed FROM json_each($4)) CROSS JOIN event_pattern
    WHERE pattern = listed AND id >= $1 AND id < $2 LIMIT $3)"""  # noqa: S608
_ROWS = f"""SELECT {_EVENTS} FROM (SELECT value AS listed FROM json_each($2)) CROSS JOIN event
    WHERE site = $1 AND id = listed ORDER BY id DESC"""  # noqa: S608
_NEWEST = """SELECT found FROM (
    SELECT id AS found FROM event_pattern WHERE pattern = ${} AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4)"""


async def find_patterns(session: Reader, site: int, filters: Sequence[Filter], lead: Filter) -> list[int] | None:
    """Return the patterns of a site for which all filters hold; None when too many match the leading filter."""
    words = ", ".join(f"${place}" for place in range(3, 3 + len(lead.leads)))
    # A leading filter with several words finds more than matches, so its condition is asked too.
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
            f"""SELECT {_EVENTS} FROM (SELECT found FROM ({found}) ORDER BY found DESC LIMIT $4) CROSS JOIN event
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
    return await session.all(_ROWS, site, _json(sorted(identifiers, reverse=True)[:limit]))


def _json(listed: Sequence[int]) -> str:
    return f"[{','.join(map(str, listed))}]"
