"""Events of an SQLite day as narrow rows, and patterns with the rest of them, each with a number in its day.

A process caches the numbers of the patterns that it wrote. They are valid while the day's epoch is unchanged. Each file
has a different epoch, which changes whenever patterns are removed. A process writes a pattern again if it is not
cached, so equal patterns may occur several times.
"""

from typing import NamedTuple

from agentgate.events.storage.encoding import DETAIL_COLUMNS, PATTERN_COLUMNS, EncodedEvents
from agentgate.events.storage.shapes import StoredPattern
from agentgate.lib.database import Row, Transaction

ROW_TABLE, DETAIL_TABLE = "event_row", "event_detail"
_ROW_COLUMNS = ("site", "id", "visitor", "duration_us", "pattern")
_NUMBERED = "SELECT epoch, (SELECT coalesce(max(number), 0) FROM pattern) FROM pattern_epoch"


class Numbered(NamedTuple):
    """Patterns that were given a number, to be remembered once that is committed."""

    epoch: int
    patterns: dict[StoredPattern, int]

    def remember(self) -> None:
        """Let later batches of this process use the numbers."""
        for pattern, number in self.patterns.items():
            pattern.epoch, pattern.number = self.epoch, number


async def write_rows(transaction: Transaction, encoded: EncodedEvents) -> tuple[list[Row], Numbered]:
    """Insert the events of a batch; return their rows, and the numbers of patterns that are new."""
    row = await transaction.one(_NUMBERED)
    assert row is not None, "a day has an epoch from its beginning on"
    epoch, last = row
    *columns, patterns = zip(*encoded.events, strict=True)
    distinct: dict[StoredPattern, None] = dict.fromkeys(patterns)
    numbers = {pattern: pattern.number for pattern in distinct if pattern.epoch == epoch}
    new = [pattern for pattern in distinct if pattern not in numbers]
    if new:
        added = dict(zip(new, range(last + 1, last + 1 + len(new)), strict=True))
        numbers |= added
        await _add(transaction, added)
    rows = list(zip(*columns, map(numbers.__getitem__, patterns), strict=True))
    await transaction.load(ROW_TABLE, _ROW_COLUMNS, rows)
    if encoded.details:
        details = [(*key, *values) for key, values in sorted(encoded.details.items())]
        await transaction.load(DETAIL_TABLE, ("site", "id", *DETAIL_COLUMNS), details)
    return rows, Numbered(epoch, {pattern: numbers[pattern] for pattern in new})


async def forget_site(transaction: Transaction, site: int) -> None:
    """Remove the patterns of a site, and change the epoch so that no process uses their numbers any more."""
    await transaction.run(
        "DELETE FROM event_pattern WHERE pattern IN (SELECT number FROM pattern WHERE site = $1)", site
    )
    for table in ("pattern_word", "pattern"):
        await transaction.run(f"DELETE FROM {table} WHERE site = $1", site)  # noqa: S608
    await transaction.run("UPDATE pattern_epoch SET epoch = random()")


async def _add(transaction: Transaction, patterns: dict[StoredPattern, int]) -> None:
    rows = [(number, *pattern.columns) for pattern, number in patterns.items()]
    await transaction.load("pattern", ("number", *PATTERN_COLUMNS), rows)
    words = [(pattern.shape.site, word, number) for pattern, number in patterns.items() for word in pattern.words]
    await transaction.load("pattern_word", ("site", "word", "pattern"), sorted(words))
