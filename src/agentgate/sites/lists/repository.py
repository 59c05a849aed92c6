"""Lists in SQL, and stored decisions as backtests of an entry read them."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from agentgate.events.decision_ids import first_id
from agentgate.events.storage.codes import KIND_CODES, OUTCOMES, unsigned
from agentgate.events.storage.days.days import EventDays, read_newest_rows
from agentgate.events.storage.dictionary import OTHER_TEXT, KnownWords
from agentgate.lib.database import Database, LockingRepository, RecordTable, Row, places
from agentgate.lib.enums import DecisionKind, Outcome
from agentgate.people.audit.repository import AuditStores
from agentgate.people.installation.configuration_version import ConfigurationStores
from agentgate.sites.lists.records import StoredEntry


class ClientEvent(Struct, frozen=True, gc=False):
    """The client of a stored decision, and its reason."""

    id: int
    visitor: int | None
    # The outcome of enforce mode, applied or not.
    recorded: Outcome
    agent: str | None
    # Whether a signature proved the agent.
    is_verified: bool
    rule: str | None
    # Whether rules decided, as opposed to a missing token, a bad signature, a price.
    ruled: bool
    reasons: frozenset[str]


ENTRIES = RecordTable("site_list_entry", StoredEntry)


class ListStore(LockingRepository):
    """The lists of sites."""

    async def lock_lists(self, site_id: str) -> None:
        """Keep other units of work from changing the site's lists until this one is done."""
        await self._session.lock("lists", site_id)

    async def list_entries(self, site_id: str) -> list[StoredEntry]:
        """Return a site's entries, newest first, expired ones included."""
        return await ENTRIES.find_all(self._session, "site_id = $1 ORDER BY created_ms DESC, id", site_id)

    async def list_rows(self, site_ids: Sequence[str]) -> list[Row]:
        """Return the rows of some sites' entries, for `ENTRIES`."""
        condition = f"site_id IN ({places(site_ids)}) ORDER BY site_id, id"
        return await self._session.all(f"{ENTRIES.select} WHERE {condition}", *site_ids)

    async def find_entry(self, site_id: str, entry_id: str) -> StoredEntry | None:
        """Return a site's entry; None when the site has none of this ID, even if another site has."""
        return await ENTRIES.find(self._session, "site_id = $1 AND id = $2", site_id, entry_id)

    async def add_entry(self, entry: StoredEntry) -> None:
        await ENTRIES.add(self._session, entry)

    async def delete_entry(self, site_id: str, entry_id: str) -> None:
        await self._session.run("DELETE FROM site_list_entry WHERE site_id = $1 AND id = $2", site_id, entry_id)


_EVENTS = f"""SELECT id, visitor, outcome, would, agent, rule, ruled, reasons, labels FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 AND kind = {KIND_CODES[DecisionKind.REQUEST]}
    ORDER BY id DESC LIMIT $4"""  # noqa: S608 - the code of a kind is a number of ours

_numbers = msgspec.json.Decoder(tuple[int, ...])


class ClientReplay:
    """Stored decisions, with the clients that they were about."""

    def __init__(self, config: Database, segments: EventDays, words: KnownWords) -> None:
        self._config = config
        self._segments = segments
        self._words = words

    async def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ClientEvent]]:
        """Return the newest decisions of a site, in batches, newest first, at most `limit`."""
        row = await self._config.one("SELECT number FROM site WHERE id = $1", site_id)
        if row is None:
            return
        start, end = first_id(from_ms), first_id(to_ms)
        left = limit
        async for rows in read_newest_rows(self._segments, _EVENTS, row[0], range(start, end)):
            batch = await self._decoded(rows[:left])
            left -= len(batch)
            yield batch
            if left <= 0:
                return

    async def _decoded(self, rows: list[Row]) -> list[ClientEvent]:
        lists = await asyncio.to_thread(_decode_lists, rows)
        numbers = {number for row in rows for number in row[4:6] if number is not None}
        numbers.update(number for listed in lists.values() for number in listed)
        return await asyncio.to_thread(_events, rows, lists, await self._words.texts(numbers))


def _decode_lists(rows: list[Row]) -> dict[str, tuple[int, ...]]:
    return {text: _numbers.decode(text) for text in {text for row in rows for text in row[7:9]}}


def _events(rows: list[Row], lists: Mapping[str, tuple[int, ...]], texts: Mapping[int, str]) -> list[ClientEvent]:
    named = {text: frozenset(texts.get(number, OTHER_TEXT) for number in listed) for text, listed in lists.items()}
    return [
        ClientEvent(
            decision,
            None if visitor is None else unsigned(visitor),
            OUTCOMES[outcome if would is None else would],
            None if agent is None else texts.get(agent, OTHER_TEXT),
            "agent.verified" in named[labels],
            None if rule is None else texts.get(rule, OTHER_TEXT),
            bool(ruled),
            named[reasons],
        )
        for decision, visitor, outcome, would, agent, rule, ruled, reasons, labels in rows
    ]


class ListStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on lists uses."""

    lists: ListStore
