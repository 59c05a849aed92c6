"""Postings: which events of an SQLite day are a visitor's.

They are written for many events of one site at once, some time after the events: visitors come in no order, so each
event alone would change another page. A mark records up to which ID events are posted; readers scan the others. An
event that arrives later with an ID before the mark is posted in its own commit.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from agentgate.lib.database import Reader, Row, Transaction

EVERY_SITE = 0
# After every ID.
END = (1 << 63) - 1
# Writing more at once would keep events waiting for longer, and readers would have more to scan.
TOGETHER = 16_000
# The ID before which all events of a site ($1) are posted.
POSTED_BEFORE = "(SELECT coalesce(max(id), 0) FROM posting_mark WHERE site IN ($1, 0))"

_COLUMNS = ("site", "visitor", "id")
_POST = """INSERT OR IGNORE INTO visitor_index (site, visitor, id) SELECT site, visitor, id FROM event_row
    WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IS NOT NULL ORDER BY visitor, id"""
_id = itemgetter(1)


class Postings:
    """How many events of each site this process has written that are not posted yet."""

    def __init__(self) -> None:
        self._events: dict[tuple[int, int], int] = {}

    def take(self, day: int, events_by_site: Mapping[int, int]) -> list[int]:
        """Add a batch; return the sites whose turn it is, few enough that the next batch need not wait for long."""
        for site, events in events_by_site.items():
            self._events[day, site] = self._events.get((day, site), 0) + events
        due = [site for site in events_by_site if self._events[day, site] >= TOGETHER]
        # Twice as fast as they come, hence all of them in the end.
        taken = due[: 1 + sum(events_by_site.values()) // TOGETHER]
        for site in taken:
            self._events[day, site] -= TOGETHER
        return taken

    def forget(self, day: int) -> None:
        """Let go of a day."""
        for key in [key for key in self._events if key[0] == day]:
            del self._events[key]


async def posted_before(session: Reader, site: int) -> int:
    """Return the ID before which all events of a site are posted."""
    row = await session.one(f"SELECT {POSTED_BEFORE}", site)
    return int(row[0]) if row else 0


async def post_some(transaction: Transaction, site: int, *, rest: bool = False) -> bool:
    """Post the next events of a site, if there are enough of them; with `rest`, also when there are fewer.

    Return whether there may be more.
    """
    mark = await posted_before(transaction, site)
    row = await transaction.one(
        f"SELECT id FROM event_row WHERE site = $1 AND id >= $2 ORDER BY id LIMIT 1 OFFSET {TOGETHER}",  # noqa: S608
        site,
        mark,
    )
    if row is None and not rest:
        return False
    end = END if row is None else int(row[0])
    if end > mark:
        await transaction.run(_POST, site, mark, end)
        await _set_mark(transaction, site, end)
    return row is not None


async def post_late(transaction: Transaction, rows: Sequence[Row]) -> None:
    """Post the events whose IDs are before a mark, because everything up to the mark is posted already.

    `rows` are rows of `event_row`, in the order of sites and IDs.
    """
    marks: dict[int, int] = dict(await transaction.all("SELECT site, id FROM posting_mark"))
    # Most batches are newer than whatever is posted, and need no further look.
    if not marks or min(map(_id, rows)) >= max(marks.values()):
        return
    of_all = marks.get(EVERY_SITE, 0)
    late = [row for row in rows if row[1] < max(of_all, marks.get(row[0], 0)) and row[2] is not None]
    visitors = [(site, visitor, identifier) for site, identifier, visitor, *_ in late]
    await transaction.load("visitor_index", _COLUMNS, sorted(visitors))


async def unposted_sites(session: Reader) -> list[int]:
    """Return the sites of a day that may have events without postings."""
    rows = await session.all(f"""SELECT DISTINCT site FROM site_hour
        WHERE site NOT IN (SELECT site FROM posting_mark WHERE id = {END})
            AND NOT EXISTS (SELECT 1 FROM posting_mark WHERE site = {EVERY_SITE}) ORDER BY site""")  # noqa: S608
    return [site for (site,) in rows]


async def finish(transaction: Transaction) -> None:
    """Post the events that came meanwhile, and mark that later events are posted with their own commit."""
    for site in await unposted_sites(transaction):
        while await post_some(transaction, site, rest=True):
            pass
    await _set_mark(transaction, EVERY_SITE, END)
    await transaction.run(f"DELETE FROM posting_mark WHERE site <> {EVERY_SITE}")  # noqa: S608


async def _set_mark(transaction: Transaction, site: int, before: int) -> None:
    await transaction.run(
        "INSERT INTO posting_mark (site, id) VALUES ($1, $2) ON CONFLICT (site) DO UPDATE SET id = excluded.id",
        site,
        before,
    )
