"""A site's decisions in ClickHouse, newest first: the same statement for a page, whatever the filters."""

from agentgate.events.label_repository import LabelStore
from agentgate.events.queries.ports import DecisionFilters, DecisionScan, DecisionStore, SiteNumber
from agentgate.events.queries.records import Decision
from agentgate.events.storage.clickhouse.newest_first import read_newest
from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, signed
from agentgate.events.storage.days.days import day_bounds
from agentgate.events.storage.dictionary import KnownWords, WordKind
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.queries.decisions import DecisionRows
from agentgate.lib.database import Reader, Row
from agentgate.lib.decision_ids import first_id, id_day
from agentgate.lib.enums import DecisionKind, LabelledFilter, Outcome
from agentgate.lib.time_ranges import TimeRange

# Pages that are looked through for decisions without a label before a page may be short.
MOST_PAGES = 20

_COLUMNS = ", ".join(EVENT_COLUMNS)
_CHALLENGE = OUTCOME_CODES[Outcome.CHALLENGE]
_LABELLING = f"kind = {KIND_CODES[DecisionKind.REQUEST]} AND (outcome = {_CHALLENGE} OR would = {_CHALLENGE})"
_ONE = f"SELECT {_COLUMNS} FROM event WHERE id = $1 AND site = $2 AND id >= $3 AND id < $4 LIMIT 1"  # noqa: S608


class ClickhouseDecisions(DecisionRows, DecisionStore):
    """Decisions in ClickHouse."""

    def __init__(self, reader: Reader, words: KnownWords, labels: LabelStore) -> None:
        super().__init__(words, labels)
        self._reader = reader

    async def list_decisions(
        self, site: SiteNumber, span: TimeRange, filters: DecisionFilters, *, before: int | None, limit: int
    ) -> DecisionScan:
        asked = await self._conditions(filters)
        if asked is None:
            return DecisionScan([], None)
        least, end = first_id(span.from_ms), first_id(span.to_ms)
        if before is not None:
            end = min(end, before)
        hides_labelled = filters.labelled is LabelledFilter.NO
        rows: list[Row] = []
        for _ in range(MOST_PAGES):
            # One more than asked for tells whether there is a next page.
            page = await self._page(site.number, least, end, asked, limit + 1)
            rows += await self.unlabelled(site, page) if hides_labelled else page
            end = least if len(page) <= limit else page[-1][0]
            if len(rows) > limit or end <= least:
                break
        shown = rows[:limit]
        more = shown[-1][0] if len(rows) > limit else end if end > least else None
        return DecisionScan(await self.decisions(site, shown), more)

    async def find_decision(self, site: SiteNumber, decision: int) -> Decision | None:
        row = await self._reader.one(_ONE, decision, site.number, *day_bounds(id_day(decision)))
        return (await self.decisions(site, [row]))[0] if row else None

    async def _conditions(self, filters: DecisionFilters) -> list[tuple[str, int]] | None:
        """Return the SQL conditions with their values, `{}` for the place; None when no event can match."""
        found: list[tuple[str, int]] = []
        if filters.visitor is not None:
            found.append(("visitor = {}", signed(filters.visitor)))
        if filters.kind is not None:
            found.append(("kind = {}", KIND_CODES[filters.kind]))
        for column, outcome in (("outcome", filters.outcome), ("would", filters.would)):
            if outcome is not None:
                found.append((f"{column} = {{}}", OUTCOME_CODES[outcome]))
        named = (
            (WordKind.RULE, "rule = {}", filters.rule),
            (WordKind.ACTION, "action = {}", filters.action),
            (WordKind.LABEL, "has(labels, {})", filters.label),
        )
        for kind, condition, text in named:
            if text is not None:
                number = await self._words.find(kind, text)
                if number is None:
                    return None
                found.append((condition, number))
        return [*found, (f"{_LABELLING} AND 0 = {{}}", 0)] if filters.labelling else found

    async def _page(self, site: int, least: int, end: int, asked: list[tuple[str, int]], limit: int) -> list[Row]:
        conditions = "".join(f" AND {text.format(f'${place}')}" for place, (text, _) in enumerate(asked, 5))
        sql = f"""SELECT {_COLUMNS} FROM event WHERE site = $1 AND id >= $2 AND id < $3{conditions}
            ORDER BY site DESC, id DESC LIMIT $4"""  # noqa: S608
        return await read_newest(self._reader, sql, site, range(least, end), limit, *(value for _, value in asked))
