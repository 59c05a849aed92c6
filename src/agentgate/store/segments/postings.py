"""Postings: which events of an SQLite day have a word, that is a label or an action.

They are written for many events of one site at once, some time after the events. `posted` says how far that has come;
an event that comes later with an ID before that is posted with its own commit.
"""

from collections.abc import Iterable, Mapping

from agentgate.core.database import Session, Transaction

# One by one, they would touch nearly a page each. More at once cost no less, but keep events waiting for longer.
POSTED_TOGETHER = 2_000
EVERY_SITE = 0
# After every ID.
END = (1 << 63) - 1

# An action goes in front of the labels: one list is read sooner than two.
_POST = """INSERT OR IGNORE INTO event_word (site, word, id)
    SELECT event.site, listed.value, event.id FROM event {index} CROSS JOIN json_each(
        CASE WHEN action > 0 AND labels <> '[]' THEN '[' || action || ',' || substr(labels, 2)
            WHEN action > 0 THEN '[' || action || ']' ELSE labels END) AS listed
    WHERE {condition} ORDER BY 1, 2, 3"""
_POST_OF_SITE = _POST.format(
    index="INDEXED BY event_by_site", condition="event.site = $1 AND event.id >= $2 AND event.id < $3"
)
_POST_THESE = _POST.format(index="", condition="event.id IN (SELECT value FROM json_each($1))")
_MARK = "SELECT coalesce(max(id), 0) FROM posted WHERE site IN ($1, 0)"
_SET_MARK = "INSERT INTO posted (site, id) VALUES ($1, $2) ON CONFLICT (site) DO UPDATE SET id = excluded.id"


class Unposted:
    """How many events of each site were written by this process and not posted."""

    def __init__(self) -> None:
        self._events: dict[tuple[int, int], int] = {}

    def take(self, day: int, events_by_site: Mapping[int, int]) -> list[int]:
        """Add a batch; return the sites whose turn it is, few enough that the next batch need not wait for long."""
        for site, events in events_by_site.items():
            self._events[day, site] = self._events.get((day, site), 0) + events
        due = [site for site in events_by_site if self._events[day, site] >= POSTED_TOGETHER]
        # Twice as fast as they come, hence all of them in the end.
        taken = due[: 1 + sum(events_by_site.values()) // POSTED_TOGETHER]
        for site in taken:
            self._events[day, site] -= POSTED_TOGETHER
        return taken

    def forget(self, day: int) -> None:
        """Let go of a day."""
        for key in [key for key in self._events if key[0] == day]:
            del self._events[key]


async def posted_before(session: Session, site: int) -> int:
    """Return the ID before which all events of a site are posted."""
    row = await session.one(_MARK, site)
    return int(row[0]) if row else 0


async def post_late(transaction: Transaction, events: Iterable[tuple[int, int]], *, least: int) -> None:
    """Post those of some events, each with ID and site, that come where everything is posted already.

    `least` is the least of these IDs: most batches are newer than whatever is posted, and need no further look.
    """
    marks: dict[int, int] = dict(await transaction.all("SELECT site, id FROM posted"))
    if not marks or least >= max(marks.values()):
        return
    of_all = marks.get(EVERY_SITE, 0)
    late = [identifier for identifier, site in events if identifier < max(of_all, marks.get(site, 0))]
    if late:
        await transaction.run(_POST_THESE, f"[{','.join(map(str, late))}]")


async def post_some(transaction: Transaction, site: int, *, rest: bool = False) -> bool:
    """Post the next events of a site, if there are enough of them; with `rest`, also when there are fewer.

    Return whether there may be more.
    """
    mark = await posted_before(transaction, site)
    row = await transaction.one(
        f"SELECT id FROM event WHERE site = $1 AND id >= $2 ORDER BY id LIMIT 1 OFFSET {POSTED_TOGETHER}",  # noqa: S608
        site,
        mark,
    )
    if row is None and not rest:
        return False
    end = END if row is None else int(row[0])
    if end > mark:
        await transaction.run(_POST_OF_SITE, site, mark, end)
        await transaction.run(_SET_MARK, site, end)
    return row is not None


async def unposted_sites(session: Session) -> list[int]:
    """Return the sites of a day that may have events without postings."""
    rows = await session.all("""SELECT DISTINCT site FROM site_hour
        WHERE site NOT IN (SELECT site FROM posted WHERE id = 9223372036854775807)
            AND NOT EXISTS (SELECT 1 FROM posted WHERE site = 0) ORDER BY site""")
    return [site for (site,) in rows]


async def finish(transaction: Transaction) -> None:
    """Post what has come meanwhile, and say that from now on each event is posted as it comes."""
    for site in await unposted_sites(transaction):
        while await post_some(transaction, site, rest=True):
            pass
    await transaction.run(_SET_MARK, EVERY_SITE, END)
    await transaction.run("DELETE FROM posted WHERE site <> 0")
