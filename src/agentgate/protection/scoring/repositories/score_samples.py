"""Decisions that a candidate scored in shadow, read from the days of events."""

import asyncio
import json

from agentgate.events.records import Event
from agentgate.events.storage.days.days import EventDays, day_bounds
from agentgate.events.storage.dictionary import KnownWords, WordKind
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import read_events
from agentgate.lib.database import Database, Row
from agentgate.lib.decision_ids import id_day
from agentgate.lib.enums import ModelKind
from agentgate.protection.scoring.records import ScoreSample

# Each time the whole day is looked through, because events lie in the order of sites.
ROWS_PER_READ = 4_000
# So few at a time that turning rows into events never holds up a request for long.
ROWS_AT_ONCE = 500


class ScoreSamples:
    """Decisions that a candidate scored in shadow."""

    def __init__(self, stats: Database, segments: EventDays, words: KnownWords) -> None:
        self._stats = stats
        self._segments = segments
        self._words = words

    async def newest(
        self, kind: ModelKind, *, active_version: str, candidate_version: str, since_id: int, limit: int
    ) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID that these two versions scored."""
        pairs = await self._pairs(kind, active_version, candidate_version)
        found: list[ScoreSample] = []
        for day in reversed(await self._segments.days()):
            if not pairs or day < id_day(since_id) or len(found) >= limit:
                break
            least, end = day_bounds(day)
            found += await self._of_day(day, pairs, max(least, since_id), end, limit - len(found))
        return found

    async def _pairs(self, kind: ModelKind, active_version: str, candidate_version: str) -> list[int]:
        """Return the words under which events say that these two versions of the kind scored them."""
        rows = await self._stats.all("SELECT id, value FROM dictionary WHERE kind = $1", WordKind.MODEL_VERSIONS.value)
        wanted = (active_version, candidate_version)
        return [number for number, text in rows if _versions(text, kind) == wanted]

    async def _of_day(self, day: int, pairs: list[int], least: int, end: int, most: int) -> list[ScoreSample]:
        session = self._segments.session(day)
        places = ", ".join(f"${number}" for number in range(4, len(pairs) + 4))
        sql = f"""SELECT {", ".join(EVENT_COLUMNS)} FROM event
            WHERE id >= $1 AND id < $2 AND kind = 0 AND model_versions IN ({places})
            ORDER BY id DESC LIMIT $3"""  # noqa: S608 - columns are constants, places are numbers of values
        found: list[ScoreSample] = []
        while len(found) < most:
            asked = min(ROWS_PER_READ, most - len(found))
            rows: list[Row] = await session.all(sql, least, end, asked, *pairs)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                events = await read_events(rows[start : start + ROWS_AT_ONCE], self._words)
                found += [_sample(event) for event in events]
                await asyncio.sleep(0)
            if len(rows) < asked:
                break
            end = rows[-1][0]
        return found


def _versions(text: str, kind: ModelKind) -> tuple[str | None, str | None]:
    versions = json.loads(text)
    return versions["active"].get(kind), versions["shadow"].get(kind)


def _sample(event: Event) -> ScoreSample:
    return ScoreSample(
        event.site,
        event.labels,
        dict(event.scores),
        dict(event.shadow_scores),
        event.route,
        event.action,
        event.ruled,
    )
