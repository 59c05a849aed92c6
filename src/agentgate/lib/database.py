"""The interface between concepts and durable storage, and the interface of a database driver.

SQL is portable text with `$1`, `$2`, ... for values. Rows are tuples in the order of the selected columns. A change is
a *unit of work*: an `async` function that gets an open transaction and awaits only that transaction. So it can run on a
writer thread among others (SQLite, one commit for many units) and can be tried again after a deadlock (PostgreSQL).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, NamedTuple, Protocol, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentgate.lib.moment import Moment
from agentgate.lib.records import decode_extra, to_json
from agentgate.lib.tasks.off_loop import consumed, off_loop

Row = tuple[Any, ...]
# Types that a column stores as the record has them.
_PLAIN = frozenset((int, float, str, bytes, NoneType, UnsetType))
_TRUTHS = {0: False, 1: True}
Value = int | float | str | bytes | None

# Told how long a unit of work took, in seconds.
Note = Callable[[float], None]

# A store of events that hangs delays a page that also shows events by at most this much.
EVENTS_WAIT_S = 2.0

T = TypeVar("T")
R = TypeVar("R", bound=Struct)
Stores = TypeVar("Stores", covariant=True)  # noqa: PLC0105 - reads better in every signature


class StoreUnavailable(Exception):  # noqa: N818 - says what happened
    """The store did not respond, or it is unknown whether it committed. Safe to show as 503; the cause is logged."""

    # Replaces the message of the surface's error table.
    message: str | None = None


class EventsUnavailable(StoreUnavailable):
    """The store of events did not respond. Configuration and decisions do not need it."""

    message = "Events are unavailable. Try again in 5 seconds. Sites, rules and settings still work."


async def within_events_wait(read: Awaitable[T]) -> T:
    """Return what is read of events; raise EventsUnavailable early enough for a page that shows more than events."""
    try:
        async with asyncio.timeout(EVENTS_WAIT_S):
            return await read
    except TimeoutError as late:
        raise EventsUnavailable(f"events were not read within {EVENTS_WAIT_S} s") from late


class Conflict(Exception):  # noqa: N818 - likewise
    """A statement broke a uniqueness or foreign-key constraint. Nothing of its unit of work was kept."""


class Sums(NamedTuple):
    """A table of counters: the columns of its primary key, those that are added to, those that keep the greatest."""

    table: str
    key: tuple[str, ...]
    sums: tuple[str, ...]
    greatest: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, in the order of a row's values."""
        return self.key + self.sums + self.greatest


class NewRows(NamedTuple):
    """A table into which many put rows of which one may win: the columns of its primary key, and the others.

    Types are PostgreSQL's; it cannot guess them from a column in which every value may be NULL.
    """

    table: str
    key: tuple[str, ...]
    types: tuple[tuple[str, str], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, in the order of a row's values."""
        return tuple(name for name, _ in self.types)


class Reader(Protocol):
    """Answers questions."""

    async def one(self, sql: str, *values: Value) -> Row | None:
        """Return the first row, or None."""

    async def all(self, sql: str, *values: Value) -> list[Row]:
        """Return every row."""


class SqlSession(Reader, Protocol):
    """Runs statements: inside a transaction, or each on its own."""

    async def run(self, sql: str, *values: Value) -> int:
        """Run a statement and return how many rows it changed."""

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of values."""

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the rows whose key is new; return the keys of these rows. All of it is one commit.

        Keys are unique and sorted: two transactions that insert the same rows must not wait for each other. `FirstRows`
        checks values when it collects the rows, so that a row that cannot be stored fails alone.
        """


class Transaction(SqlSession, Protocol):
    """An open transaction."""

    async def lock(self, *key: str) -> None:
        """Wait until no other transaction holds this key, and hold it to the end.

        Counting and then inserting is only safe between two lines of which this is the first.
        """

    async def load(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """Insert many rows the fastest way there is. Their values come from our own encoder and are not checked."""

    async def add_up(self, counters: Sums, rows: Sequence[Sequence[Value]]) -> None:
        """Add rows to counters, making those that are missing. Keys are unique and sorted.

        The order keeps two transactions that add to the same counters from waiting for each other.
        """


class Database(SqlSession, Protocol):
    """One database. Statements outside a transaction see what is committed."""

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a unit of work and return its result once that is durable; an exception undoes all of it."""

    def watch(self, note: Note) -> None:
        """Report the duration of each unit of work, from the request to the commit or the response."""

    async def ping(self) -> None:
        """Return when the database responds; raise StoreUnavailable otherwise."""

    async def close(self) -> None:
        """Finish what was accepted, then let go of files and connections."""


class Store(Protocol[Stores]):
    """The durable store as a concept sees it; `Stores` names the repositories the concept uses."""

    @property
    def read(self) -> Stores:
        """The repositories, each call on its own."""

    async def change(self, work: Callable[[Stores], Awaitable[T]]) -> T:
        """Run a unit of work on the repositories in one transaction."""


def places(values: Sequence[object]) -> str:
    """Return the places of the values of an `IN` list that starts at `$1`."""
    return ", ".join(f"${number}" for number in range(1, len(values) + 1))


class Repository:
    """The SQL of one concept, over a transaction or a database."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session


class LockingRepository:
    """The SQL of one concept that takes locks; handed a database, it can only read."""

    def __init__(self, session: Transaction) -> None:
        self._session = session


class RecordTable(Generic[R]):
    """A table whose columns are the fields of a record, read and written without naming each of them.

    A field `x_at` is the column `x_ms`; `named` gives other names. NULL means an absent field, a truth is 0 or 1, an
    enumeration its value, and a field of `json` its JSON. `absent` lists fields without a column.
    """

    def __init__(
        self,
        name: str,
        kind: type[R],
        *,
        named: Mapping[str, str] | None = None,
        json: tuple[str, ...] = (),
        absent: tuple[str, ...] = (),
    ) -> None:
        self._name = name
        self._kind = kind
        self._json = frozenset(json)
        fields = [field for field in msgspec.structs.fields(kind) if field.name not in absent]
        # What has a default is left to it where the column is NULL.
        optional = {field.name for field in fields if not field.required}
        readers = {field.name: _reader(_unbounded(field.type), is_json=field.name in json) for field in fields}
        # By column: the field, what reads it unless it is plain, and whether its default replaces NULL.
        self._reads = [(name, readers[name], name in optional) for name in readers]
        self._columns = {field.name: (named or {}).get(field.name) or _column(field.name) for field in fields}
        self.names = tuple(self._columns.values())
        self.columns = ", ".join(self.names)
        # With the table's name, for joins.
        self.qualified = ", ".join(f"{name}.{column}" for column in self._columns.values())
        self.places = ", ".join(f"${number}" for number in range(1, len(self._columns) + 1))
        self.select = f"SELECT {self.columns} FROM {name}"  # noqa: S608 - our own names

    def read(self, row: Row, **others: Any) -> R:
        """Return the record of a row of these columns; `others` are the fields without a column."""
        values: dict[str, Any] = dict(others)
        for (field, read, is_optional), value in zip(self._reads, row, strict=True):
            if value is not None or not is_optional:
                values[field] = value if read is None else read(value)
        return self._kind(**values)

    def values(self, record: R) -> tuple[Value, ...]:
        """Return the values of a record, in the order of the columns."""
        return tuple(self._value(record, field) for field in self._columns)

    async def find(self, session: Reader, condition: str, *values: Value) -> R | None:
        """Return the record that a condition finds, or None."""
        row = await session.one(f"{self.select} WHERE {condition}", *values)
        return None if row is None else self.read(row)

    async def find_all(self, session: Reader, condition: str, *values: Value) -> list[R]:
        """Return the records that a condition finds, in the order that it ends with."""
        rows = await session.all(f"{self.select} WHERE {condition}", *values)
        return await off_loop(len(rows), lambda: [self.read(row) for row in consumed(rows)])

    async def count(self, session: Reader, condition: str, *values: Value) -> int:
        """Return how many rows a condition finds."""
        row = await session.one(f"SELECT count(*) FROM {self._name} WHERE {condition}", *values)  # noqa: S608 - our own names
        return int(row[0]) if row else 0

    async def add(self, session: SqlSession, record: R, conflict: str = "", **columns: Value) -> int:
        """Insert a record with further columns, and return 1; `conflict` is the SQL for a key that exists."""
        names = (*self.names, *columns)
        places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
        sql = f"INSERT INTO {self._name} ({', '.join(names)}) VALUES ({places}) {conflict}"  # noqa: S608 - our own names
        return await session.run(sql, *self.values(record), *columns.values())

    async def change(self, session: SqlSession, condition: str, *values: Value, **columns: Value) -> int:
        """Set columns of the rows that a condition finds; return how many those are."""
        sets = ", ".join(f"{column} = ${number}" for number, column in enumerate(columns, start=len(values) + 1))
        sql = f"UPDATE {self._name} SET {sets} WHERE {condition}"  # noqa: S608 - our own names
        return await session.run(sql, *values, *columns.values())

    async def delete(self, session: SqlSession, condition: str, *values: Value) -> int:
        """Delete the rows that a condition finds; return how many those were."""
        return await session.run(f"DELETE FROM {self._name} WHERE {condition}", *values)  # noqa: S608 - our own names

    async def delete_some(self, session: SqlSession, condition: str, *values: Value, most: int, key: str = "id") -> int:
        """Delete at most so many rows that a condition finds; return how many those were. `key` has unique columns."""
        some = f"SELECT {key} FROM {self._name} WHERE {condition} LIMIT ${len(values) + 1}"  # noqa: S608 - our own names
        return await session.run(f"DELETE FROM {self._name} WHERE ({key}) IN ({some})", *values, most)  # noqa: S608

    async def save(self, session: SqlSession, record: R, *key: str, **columns: Value) -> None:
        """Insert a record with further columns, or replace the one with the same key."""
        sets = ", ".join(f"{each} = excluded.{each}" for each in self._columns.values() if each not in key)
        await self.add(session, record, f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {sets}", **columns)

    async def update(
        self, session: SqlSession, record: R, *fields: str, key: tuple[str, ...] = ("id",), **columns: Value
    ) -> None:
        """Save some fields of the record that its key finds, and further columns."""
        found = " AND ".join(f"{self._columns[field]} = ${number}" for number, field in enumerate(key, start=1))
        saved = {self._columns[field]: self._value(record, field) for field in fields}
        await self.change(session, found, *(self._value(record, field) for field in key), **saved, **columns)

    def _value(self, record: R, field: str) -> Value:
        value: Any = getattr(record, field)
        if value is UNSET:
            return None
        if field in self._json:
            return to_json(value).decode()
        plain: Value = value.value if isinstance(value, Enum) else int(value) if isinstance(value, bool) else value
        return plain


def _unbounded(type_: Any) -> Any:
    """Return a type without its bounds: those are for what comes in, and what is stored was in bounds when it came."""
    if get_origin(type_) is Annotated:
        return _unbounded(get_args(type_)[0])
    if get_origin(type_) in {Union, UnionType}:
        return Union[tuple(map(_unbounded, get_args(type_)))]  # noqa: UP007 - made of parts
    return type_


def _reader(type_: Any, *, is_json: bool) -> Callable[[Any], Any] | None:
    """Return what makes a field's value of a column's; None if they are the same.

    Thousands of sites are read at a start, so the usual types have readers that do not look at the type again.
    """
    parts = set(get_args(type_) if get_origin(type_) is Union else (type_,))
    if is_json:
        decode = msgspec.json.Decoder(type_, strict=False, dec_hook=_decode).decode
        return decode if NoneType not in parts else lambda value: None if value is None else decode(value)
    if parts <= _PLAIN:
        return None
    is_nullable = NoneType in parts
    parts -= {NoneType, UnsetType}
    kind = parts.pop()
    if not parts and not is_nullable and isinstance(kind, type):
        if kind is bool:
            return _TRUTHS.__getitem__
        if kind is Moment:
            return Moment
        if issubclass(kind, Enum):
            return {each.value: each for each in kind}.__getitem__
    return partial(msgspec.convert, type=type_, strict=False, dec_hook=_decode)


def _column(field: str) -> str:
    return f"{field.removesuffix('_at')}_ms" if field.endswith("_at") else field


def _decode(kind: type, value: Any) -> Any:
    # A column has a moment as a number, JSON as a text.
    return Moment(value) if kind is Moment and isinstance(value, int) else decode_extra(kind, value)
