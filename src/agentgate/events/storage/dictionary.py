"""The dictionary of events: each text once, under a small number that is the same in every process.

The number of words of a kind is limited; further words are `other`, number 0. So the dictionary fits into memory, and
attackers cannot fill it with invented names.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from agentgate.lib.database import Database, Row, SqlSession, Transaction

OTHER = 0
OTHER_TEXT = "other"
# In PostgreSQL an index takes 2,700 bytes, and a character up to four.
LONGEST = 600
ROWS_PER_READ = 10_000


class WordKind(StrEnum):
    """The field of an event that a word is a value of."""

    METHOD = "method"
    ROUTE = "route"
    ACTION = "action"
    REASON = "reason"
    LABEL = "label"
    AGENT = "agent"
    RULE = "rule"
    RULE_SET_VERSION = "rule_set_version"
    # Canonical JSON: {"active": {kind: version}, "shadow": {kind: version}}.
    MODEL_VERSIONS = "model_versions"


MOST_WORDS: Mapping[WordKind, int] = {
    WordKind.METHOD: 50,
    WordKind.ROUTE: 20_000,
    WordKind.ACTION: 20_000,
    WordKind.REASON: 2_000,
    WordKind.LABEL: 20_000,
    WordKind.AGENT: 10_000,
    WordKind.RULE: 20_000,
    WordKind.RULE_SET_VERSION: 10_000,
    WordKind.MODEL_VERSIONS: 5_000,
}


class KnownWords:
    """The dictionary as this process knows it. Words are never changed or removed, so it only has to grow."""

    def __init__(self, stats: Database, *, most: Mapping[WordKind, int] = MOST_WORDS) -> None:
        self._stats = stats
        self._most = most
        self._numbers: dict[WordKind, dict[str, int]] = {kind: {} for kind in WordKind}
        self._texts: dict[int, str] = {OTHER: OTHER_TEXT}
        self._newest = 0

    def numbers(self, kind: WordKind) -> Mapping[str, int]:
        """Return text -> number of the words known so far. For the encoder, which runs on another thread."""
        return self._numbers[kind]

    def is_full(self, kind: WordKind) -> bool:
        """Return whether this kind has no numbers left: then an unknown word is `other`."""
        return len(self._numbers[kind]) >= self._most[kind]

    async def find(self, kind: WordKind, text: str) -> int | None:
        """Return the number of a word; None when no event ever had it."""
        number = self._numbers[kind].get(text)
        if number is None and not self.is_full(kind):
            await self._refresh()
            number = self._numbers[kind].get(text)
        return number

    async def texts(self, numbers: Iterable[int]) -> Mapping[int, str]:
        """Return number -> text, for these numbers at least."""
        if any(number not in self._texts for number in numbers):
            await self._refresh()
        return self._texts

    async def add(self, wanted: Iterable[tuple[WordKind, str]]) -> None:
        """Give numbers to words that have none, as far as there are any left; return when that is durable."""
        in_order = sorted(set(wanted))
        await self._refresh()
        if all(text in self._numbers[kind] or self.is_full(kind) for kind, text in in_order):
            return

        async def add(transaction: Transaction) -> list[Row]:
            await transaction.lock("dictionary")
            rows = await _read_after(transaction, self._newest)
            added = self._numbered(in_order, rows)
            await transaction.run_many("INSERT INTO dictionary (id, kind, value) VALUES ($1, $2, $3)", added)
            return rows + added

        self._learn(await self._stats.transaction(add))

    def _numbered(self, wanted: list[tuple[WordKind, str]], others: list[Row]) -> list[Row]:
        """Return rows for the words that are neither known nor among those another process has just added."""
        present = {(kind, text) for _, kind, text in others}
        number = max([self._newest, *(row[0] for row in others)])
        left = {kind: self._most[kind] - len(self._numbers[kind]) for kind in WordKind}
        for kind, _ in present:
            left[WordKind(kind)] -= 1
        added: list[Row] = []
        for kind, text in wanted:
            if text in self._numbers[kind] or (kind, text) in present or left[kind] <= 0:
                continue
            number += 1
            left[kind] -= 1
            added.append((number, kind.value, text))
        return added

    async def _refresh(self) -> None:
        self._learn(await _read_after(self._stats, self._newest))

    def _learn(self, rows: list[Row]) -> None:
        for number, kind, text in rows:
            # A newer release may know kinds that this one does not.
            if kind in self._numbers:
                self._numbers[WordKind(kind)][text] = number
            self._texts[number] = text
            self._newest = max(self._newest, number)


async def _read_after(session: SqlSession, newest: int) -> list[Row]:
    """Return all words after a number. Numbers are given under a lock, so none can appear before a known one."""
    found: list[Row] = []
    while True:
        rows = await session.all(
            f"SELECT id, kind, value FROM dictionary WHERE id > $1 ORDER BY id LIMIT {ROWS_PER_READ}",  # noqa: S608
            newest,
        )
        found += rows
        if len(rows) < ROWS_PER_READ:
            return found
        newest = rows[-1][0]
