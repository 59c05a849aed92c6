"""Postings: which events of an SQLite day have a word, that is a label or an action, and which are a visitor's.

They are written for many events of one site at once, some time after the events. A mark says how far that has come; an
event that comes later with an ID before that is posted with its own commit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from agentgate.events.storage.days.days import Gap
from agentgate.lib.database import Session, Transaction

EVERY_SITE = 0
# After every ID.
END = (1 << 63) - 1
# A word that one event in so many has is common: walking through the events finds a page of them as soon.
COMMON = 4

# An action goes in front of the labels: one list is read sooner than two.
_WORDS = """json_each(
    CASE WHEN action > 0 AND labels <> '[]' THEN '[' || action || ',' || substr(labels, 2)
        WHEN action > 0 THEN '[' || action || ']' ELSE labels END) AS listed"""
_NEXT = "event INDEXED BY event_by_site"
_BETWEEN = "site = $1 AND id >= $2 AND id < $3"
_THESE = "event.id IN (SELECT value FROM json_each($1))"
# Most events share their lists of words with many others, so each list is read once.
_COUNT_WORDS = f"""SELECT listed.value, sum(events) FROM (
        SELECT action, labels, count(*) AS events FROM {_NEXT} WHERE {_BETWEEN} GROUP BY action, labels)
    CROSS JOIN {_WORDS} GROUP BY listed.value"""  # noqa: S608
_POST_RARE = f"""WITH lists AS MATERIALIZED (
        SELECT action, labels FROM {_NEXT} WHERE {_BETWEEN} GROUP BY action, labels),
    rare AS MATERIALIZED (
        SELECT action, labels, listed.value AS word FROM lists CROSS JOIN {_WORDS}
        WHERE listed.value NOT IN (SELECT value FROM json_each($4)))
    INSERT OR IGNORE INTO event_word (site, word, id)
        SELECT event.site, rare.word, event.id FROM {_NEXT}
        CROSS JOIN rare ON rare.labels = event.labels AND rare.action IS event.action
        WHERE {_BETWEEN} ORDER BY 1, 2, 3"""  # noqa: S608


class Postings(ABC):
    """What is posted of one kind, and how many events of each site this process has written without."""

    marks: ClassVar[str]
    # One by one, they would touch nearly a page each. More at once would keep events waiting for longer, and readers
    # would have more to walk through.
    together: ClassVar[int]
    post_these: ClassVar[str]

    def __init__(self) -> None:
        self._events: dict[tuple[int, int], int] = {}

    @abstractmethod
    async def post(self, transaction: Transaction, site: int, bounds: tuple[int, int]) -> None:
        """Post the events of a site between two IDs."""

    def take(self, day: int, events_by_site: Mapping[int, int]) -> list[int]:
        """Add a batch; return the sites whose turn it is, few enough that the next batch need not wait for long."""
        for site, events in events_by_site.items():
            self._events[day, site] = self._events.get((day, site), 0) + events
        due = [site for site in events_by_site if self._events[day, site] >= self.together]
        # Twice as fast as they come, hence all of them in the end.
        taken = due[: 1 + sum(events_by_site.values()) // self.together]
        for site in taken:
            self._events[day, site] -= self.together
        return taken

    def forget(self, day: int) -> None:
        """Let go of a day."""
        for key in [key for key in self._events if key[0] == day]:
            del self._events[key]

    async def posted_before(self, session: Session, site: int) -> int:
        """Return the ID before which all events of a site are posted."""
        row = await session.one(f"SELECT coalesce(max(id), 0) FROM {self.marks} WHERE site IN ($1, 0)", site)  # noqa: S608
        return int(row[0]) if row else 0

    async def post_some(self, transaction: Transaction, site: int, *, rest: bool = False) -> bool:
        """Post the next events of a site, if there are enough of them; with `rest`, also when there are fewer.

        Return whether there may be more.
        """
        mark = await self.posted_before(transaction, site)
        row = await transaction.one(
            f"SELECT id FROM event WHERE site = $1 AND id >= $2 ORDER BY id LIMIT 1 OFFSET {self.together}",  # noqa: S608
            site,
            mark,
        )
        if row is None and not rest:
            return False
        end = END if row is None else int(row[0])
        if end > mark:
            await self.post(transaction, site, (mark or await _first(transaction, site), end))
            await self._set_mark(transaction, site, end)
        return row is not None

    async def unposted_sites(self, session: Session) -> list[int]:
        """Return the sites of a day that may have events without postings."""
        rows = await session.all(f"""SELECT DISTINCT site FROM site_hour
            WHERE site NOT IN (SELECT site FROM {self.marks} WHERE id = {END})
                AND NOT EXISTS (SELECT 1 FROM {self.marks} WHERE site = {EVERY_SITE}) ORDER BY site""")  # noqa: S608
        return [site for (site,) in rows]

    async def finish(self, transaction: Transaction) -> None:
        """Post what has come meanwhile, and say that from now on each event is posted as it comes."""
        for site in await self.unposted_sites(transaction):
            while await self.post_some(transaction, site, rest=True):
                pass
        await self._set_mark(transaction, EVERY_SITE, END)
        await transaction.run(f"DELETE FROM {self.marks} WHERE site <> {EVERY_SITE}")  # noqa: S608

    async def _set_mark(self, transaction: Transaction, site: int, before: int) -> None:
        await transaction.run(
            f"INSERT INTO {self.marks} (site, id) VALUES ($1, $2) ON CONFLICT (site) DO UPDATE SET id = excluded.id",  # noqa: S608
            site,
            before,
        )


class WordPostings(Postings):
    """Labels and actions. Those that are common among the events that are posted together are not."""

    marks = "posted"
    together = 2_000
    post_these = f"""INSERT OR IGNORE INTO event_word (site, word, id)
        SELECT event.site, listed.value, event.id FROM event CROSS JOIN {_WORDS} WHERE {_THESE} ORDER BY 1, 2, 3"""  # noqa: S608

    async def post(self, transaction: Transaction, site: int, bounds: tuple[int, int]) -> None:
        """Post the rare words, and note where the common ones are common."""
        counted = await transaction.all(_COUNT_WORDS, site, *bounds)
        # Of a few events, at the end of a day, each word is worth its row.
        enough = self.together // COMMON
        common = sorted(word for word, events in counted if events >= enough)
        if len(common) < len(counted):
            await transaction.run(_POST_RARE, site, *bounds, f"[{','.join(map(str, common))}]")
        for word in common:
            await _note_stretch(transaction, site, word, bounds)


class VisitorPostings(Postings):
    """Visitors. They come in no order at all, so it takes more of them to have several on a page."""

    marks = "posted_visitor"
    together = 8_000
    post_these = f"""INSERT OR IGNORE INTO event_visitor (site, visitor, id)
        SELECT site, visitor, id FROM event WHERE {_THESE} AND visitor IS NOT NULL ORDER BY 1, 2, 3"""  # noqa: S608

    async def post(self, transaction: Transaction, site: int, bounds: tuple[int, int]) -> None:
        """Post the events that have a visitor."""
        await transaction.run(
            f"""INSERT OR IGNORE INTO event_visitor (site, visitor, id)
                SELECT site, visitor, id FROM {_NEXT} WHERE {_BETWEEN} AND visitor IS NOT NULL ORDER BY 1, 2, 3""",  # noqa: S608
            site,
            *bounds,
        )


async def post_late(transaction: Transaction, events: Callable[[], Iterable[tuple[int, int]]], *, least: int) -> None:
    """Post those of some events, each with ID and site, that come where everything is posted already.

    `least` is the least of these IDs: most batches are newer than whatever is posted, and need no further look.
    """
    for kind in (WordPostings, VisitorPostings):
        marks: dict[int, int] = dict(await transaction.all(f"SELECT site, id FROM {kind.marks}"))  # noqa: S608
        if not marks or least >= max(marks.values()):
            continue
        of_all = marks.get(EVERY_SITE, 0)
        late = [identifier for identifier, site in events() if identifier < max(of_all, marks.get(site, 0))]
        if late:
            await transaction.run(kind.post_these, f"[{','.join(map(str, late))}]")


async def gaps(session: Session, site: int, words: Sequence[int]) -> list[Gap]:
    """Return where some words and all visitors of a site have no postings: not yet, or for being common."""
    places = ", ".join(f"${place}" for place in range(2, 2 + len(words)))
    rows = await session.all(
        f"""SELECT 'word', word, id, before_id FROM common_word WHERE site = $1 AND word IN ({places})
            UNION ALL SELECT 'word', NULL, coalesce(max(id), 0), {END} FROM posted WHERE site IN ($1, {EVERY_SITE})
            UNION ALL SELECT 'visitor', NULL, coalesce(max(id), 0), {END} FROM posted_visitor
                WHERE site IN ($1, {EVERY_SITE})""",  # noqa: S608
        site,
        *words,
    )
    return [Gap(*row) for row in rows]


async def _first(session: Session, site: int) -> int:
    row = await session.one("SELECT coalesce(min(id), 0) FROM event WHERE site = $1", site)
    return int(row[0]) if row else 0


async def _note_stretch(transaction: Transaction, site: int, word: int, bounds: tuple[int, int]) -> None:
    """Lengthen the stretch that ends where these events begin, or begin a new one."""
    longer = "UPDATE common_word SET before_id = $4 WHERE site = $1 AND word = $2 AND before_id = $3"
    if not await transaction.run(longer, site, word, *bounds):
        await transaction.run(
            "INSERT INTO common_word (site, word, id, before_id) VALUES ($1, $2, $3, $4)", site, word, *bounds
        )
