"""Events of an SQLite day as narrow rows, and patterns with the rest of them, each with a number in its day.

A process caches the numbers of the patterns that it wrote, valid while the day's epoch is unchanged: each file has
another, which changes whenever patterns are removed. A process writes a pattern again if it is not cached, so equal
patterns may occur several times. Filters are applied to the patterns first, up to a limit, and then to numbers.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from agentgate.events.storage.encoding import DETAIL_COLUMNS, EVENT_COLUMNS, PATTERN_COLUMNS, EncodedEvents
from agentgate.events.storage.shapes import StoredPattern
from agentgate.lib.database import Reader, Row, Transaction

ROW_TABLE, DETAIL_TABLE = "event_row", "event_detail"
_ROW_COLUMNS = ("site", "id", "visitor", "duration_us", "pattern")
# With more patterns that have a word, the day's events are read instead.
MOST_PATTERNS = 2_000
_NEWEST = f"""SELECT {", ".join(EVENT_COLUMNS)} FROM (
        SELECT id AS found FROM event_row WHERE site = $1 AND id >= $2 AND id < $3
            AND pattern IN (SELECT value FROM json_each($5)) ORDER BY id DESC LIMIT $4)
    CROSS JOIN event WHERE site = $1 AND id = found ORDER BY found DESC"""  # noqa: S608
_pattern = itemgetter(4)
_NUMBERED = "SELECT epoch, (SELECT coalesce(max(number), 0) FROM pattern) FROM pattern_epoch"


class Numbered(NamedTuple):
    """Patterns that were given a number, to be remembered once that is committed."""

    epoch: int
    patterns: dict[StoredPattern, int]

    def remember(self) -> None:
        """Let later batches of this process use the numbers."""
        for pattern, number in self.patterns.items():
            pattern.epoch, pattern.number = self.epoch, number


class FoundPatterns:
    """The patterns of a site's day for which some conditions hold. Implements Narrowed."""

    def __init__(self, session: Reader, site: int, numbers: str) -> None:
        self._session = session
        self._site = site
        self._numbers = numbers

    @property
    def is_empty(self) -> bool:
        return self._numbers == "[]"

    async def newest(self, least: int, end: int, limit: int) -> list[Row]:
        return await self._session.all(_NEWEST, self._site, least, end, limit, self._numbers)


async def find(
    session: Reader, site: int, words: Sequence[int], conditions: Sequence[tuple[str, int]]
) -> FoundPatterns | None:
    """Return the patterns that have one of some words and meet all conditions; None when too many have a word."""
    listed = ", ".join(f"${place}" for place in range(3, 3 + len(words)))
    also = "".join(
        f" AND {condition.format(f'${place}')}" for place, (condition, _) in enumerate(conditions, 3 + len(words))
    )
    row = await session.one(
        f"""WITH led AS MATERIALIZED (
                SELECT DISTINCT pattern AS led_to FROM pattern_word WHERE site = $1 AND word IN ({listed}) LIMIT $2)
            SELECT (SELECT count(*) FROM led), json_group_array(number) FROM led CROSS JOIN pattern
            WHERE number = led_to{also}""",  # noqa: S608
        site,
        MOST_PATTERNS + 1,
        *words,
        *(code for _, code in conditions),
    )
    if row is None:
        return FoundPatterns(session, site, "[]")
    return None if row[0] > MOST_PATTERNS else FoundPatterns(session, site, row[1])


async def write_rows(transaction: Transaction, encoded: EncodedEvents) -> tuple[list[Row], Numbered]:
    """Insert the events of a batch; return their rows, and the numbers of patterns that are new."""
    row = await transaction.one(_NUMBERED)
    assert row is not None, "a day has an epoch from its beginning on"
    epoch, last = row
    distinct = dict.fromkeys(map(_pattern, encoded.events))
    numbers: dict[StoredPattern, int] = {pattern: pattern.number for pattern in distinct if pattern.epoch == epoch}
    new = [pattern for pattern in distinct if pattern not in numbers]
    if new:
        added = dict(zip(new, range(last + 1, last + 1 + len(new)), strict=True))
        numbers |= added
        await _add(transaction, added)
    rows = [
        (site, identifier, visitor, duration_us, numbers[pattern])
        for site, identifier, visitor, duration_us, pattern in encoded.events
    ]
    await transaction.load(ROW_TABLE, _ROW_COLUMNS, rows)
    if encoded.details:
        details = [(*key, *values) for key, values in sorted(encoded.details.items())]
        await transaction.load(DETAIL_TABLE, ("site", "id", *DETAIL_COLUMNS), details)
    return rows, Numbered(epoch, {pattern: numbers[pattern] for pattern in new})


async def forget_site(transaction: Transaction, site: int) -> None:
    """Remove the patterns of a site, and change the epoch so that no process uses their numbers any more."""
    for table in ("pattern_word", "pattern"):
        await transaction.run(f"DELETE FROM {table} WHERE site = $1", site)  # noqa: S608
    await transaction.run("UPDATE pattern_epoch SET epoch = random()")


async def _add(transaction: Transaction, patterns: dict[StoredPattern, int]) -> None:
    rows = [(number, *pattern.columns) for pattern, number in patterns.items()]
    await transaction.load("pattern", ("number", *PATTERN_COLUMNS), rows)
    words = [(pattern.shape.site, word, number) for pattern, number in patterns.items() for word in pattern.words]
    await transaction.load("pattern_word", ("site", "word", "pattern"), sorted(words))
