"""What a concept asks of durable storage, and what a database driver offers.

SQL is portable text with `$1`, `$2`, ... for values. Rows are tuples in the order of the selected columns.
A change is a *unit of work*: an `async` function that is handed an open transaction and awaits nothing but that
transaction. So it can run on a writer thread among others (SQLite, one commit for many units) and can be tried again
after a deadlock (PostgreSQL).
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

Row = tuple[Any, ...]
Value = int | float | str | bytes | None

# Told how long a unit of work took, in seconds.
Note = Callable[[float], None]

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)
Stores = TypeVar("Stores", covariant=True)  # noqa: PLC0105 - reads better in every signature


class StoreUnavailable(Exception):  # noqa: N818 - says what happened
    """The store did not answer, or did not say whether it committed. Safe to show as 503; the cause is logged."""


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
        ...

    async def all(self, sql: str, *values: Value) -> list[Row]:
        """Return every row."""
        ...


class SqlSession(Reader, Protocol):
    """Runs statements: inside a transaction, or each on its own."""

    async def run(self, sql: str, *values: Value) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of values."""
        ...

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the rows whose key is not there yet; return the keys of those. All of it is one commit.

        Each key stands there once, in sorted order: two who insert the same rows must not wait for each other.
        """
        ...


class Transaction(SqlSession, Protocol):
    """An open transaction."""

    async def lock(self, *key: str) -> None:
        """Wait until no other transaction holds this key, and hold it to the end.

        Counting and then inserting is only safe between two lines of which this is the first.
        """
        ...

    async def load(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """Insert many rows the fastest way there is. Their values come from our own encoder and are not checked."""
        ...

    async def add_up(self, counters: Sums, rows: Sequence[Sequence[Value]]) -> None:
        """Add rows to counters, making those that are missing. Each key stands there once, in sorted order.

        The order keeps two transactions that add to the same counters from waiting for each other.
        """
        ...


class Database(SqlSession, Protocol):
    """One database. Statements outside a transaction see what is committed."""

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a unit of work and return its result once that is durable; an exception undoes all of it."""
        ...

    def watch(self, note: Note) -> None:
        """Tell how long each unit of work took, from the request to the commit or the answer."""
        ...

    async def ping(self) -> None:
        """Return when the database answers; raise StoreUnavailable when it does not."""
        ...

    async def close(self) -> None:
        """Finish what was accepted, then let go of files and connections."""
        ...


class Store(Protocol[Stores]):
    """The durable store as a concept sees it; `Stores` names the ports the concept uses."""

    @property
    def read(self) -> Stores:
        """The ports, each call on its own."""
        ...

    async def change(self, work: Callable[[Stores], Awaitable[T]]) -> T:
        """Run a unit of work on the ports in one transaction."""
        ...


class Repository:
    """The SQL of one concept, over a transaction or a database."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session


class LockingRepository:
    """The SQL of one concept that takes locks; handed a database, it can only read."""

    def __init__(self, session: Transaction) -> None:
        self._session = session


class RecordTable(Generic[R]):
    """A table with one column for each field of a record, of the same name."""

    def __init__(self, name: str, kind: type[R]) -> None:
        self._kind = kind
        self.columns = ", ".join(kind.__struct_fields__)
        places = ", ".join(f"${number}" for number in range(1, len(kind.__struct_fields__) + 1))
        self.insert = f"INSERT INTO {name} ({self.columns}) VALUES ({places})"  # noqa: S608 - our own names
        self.select = f"SELECT {self.columns} FROM {name}"  # noqa: S608 - likewise

    def values(self, record: R) -> tuple[Value, ...]:
        """Return what `insert` takes: the fields in the order of the columns."""
        fields = msgspec.structs.astuple(record)
        return tuple(value.value if isinstance(value, Enum) else value for value in fields)

    def read(self, row: Sequence[Any]) -> R:
        """Return the record that a row of all columns holds."""
        return msgspec.convert(dict(zip(self._kind.__struct_fields__, row, strict=True)), self._kind)
