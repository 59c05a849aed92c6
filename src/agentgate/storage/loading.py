"""The statements behind `load`, `add_up` and `insert_new`."""

import functools
from collections.abc import Iterator, Sequence

from agentgate.lib.database import NewRows, Sums, Value

# With each statement, SQLite's thread lets go of the interpreter and has to get it back from a busy event loop. So a
# statement takes many rows: as many as a power of two allows within so many values.
MOST_TOGETHER = 64
VALUES_TOGETHER = 1_000


def portions(rows: Sequence[Sequence[Value]]) -> Iterator[Sequence[Sequence[Value]]]:
    """Cut rows into portions for one statement each. There are few sizes, hence few statements to prepare."""
    if not rows:
        return
    most = min(MOST_TOGETHER, max(1, VALUES_TOGETHER // len(rows[0])))
    at = 0
    while at < len(rows):
        size = 1 << (min(most, len(rows) - at).bit_length() - 1)
        yield rows[at : at + size]
        at += size


@functools.lru_cache(maxsize=256)
def insert_statement(table: str, columns: tuple[str, ...], rows: int = 1) -> str:
    """Return an INSERT of one row, or of several at once."""
    width = len(columns)
    places = ", ".join(_places(at * width + 1, width) for at in range(rows))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {places}"  # noqa: S608 - names from our own code


@functools.lru_cache(maxsize=256)
def add_up_statement(counters: Sums, rows: int = 1) -> str:
    """Return an upsert of one row, or of several at once."""
    return insert_statement(counters.table, counters.columns, rows) + _on_conflict(counters)


@functools.lru_cache(maxsize=64)
def add_up_arrays_statement(counters: Sums, types: tuple[str, ...]) -> str:
    """Return an upsert of many rows that come as one array for each column (PostgreSQL)."""
    arrays = ", ".join(f"${number}::{name}[]" for number, name in enumerate(types, 1))
    columns = ", ".join(counters.columns)
    insert = f"INSERT INTO {counters.table} ({columns}) SELECT {columns} FROM unnest({arrays}) AS given ({columns})"  # noqa: S608
    return insert + _on_conflict(counters)


@functools.lru_cache(maxsize=256)
def which_are_there_statement(new: NewRows, keys: int) -> str:
    """Return a query for the positions of the keys that exist, in one text: `0,3` (SQLite)."""
    width = len(new.key)
    given = ", ".join(f"({at}, {_places(at * width + 1, width)[1:]}" for at in range(keys))
    names = ", ".join(new.key)
    return f"WITH given (place, {names}) AS (VALUES {given}) SELECT group_concat(place) FROM given JOIN {new.table} USING ({names})"  # noqa: E501, S608 - names from our own code


@functools.lru_cache(maxsize=256)
def insert_missing_statement(new: NewRows, rows: int) -> str:
    """Return an INSERT of the rows whose keys are not there."""
    return f"{insert_statement(new.table, new.columns, rows)} ON CONFLICT ({', '.join(new.key)}) DO NOTHING"


@functools.lru_cache(maxsize=256)
def insert_all_statement(new: NewRows, rows: int) -> str:
    """Return an INSERT of all rows, or of none if one of the keys exists."""
    # Every number of rows occurs here, which would drive the few of the others out of their cache.
    return insert_statement.__wrapped__(new.table, new.columns, rows)


@functools.lru_cache(maxsize=64)
def insert_new_statement(new: NewRows) -> str:
    """Return an INSERT of many rows, all in one JSON text, that returns the number of new rows (PostgreSQL).

    If these are fewer than $2, an array for each column of the key lists them.
    """
    columns, key = ", ".join(new.columns), ", ".join(new.key)
    given = ", ".join(_from_json(place, name) for place, (_, name) in enumerate(new.types))
    insert = f"INSERT INTO {new.table} ({columns}) SELECT {given} FROM jsonb_array_elements($1::text::jsonb) AS given"  # noqa: S608 - names from our own code
    which = ", ".join(f"CASE WHEN count(*) < $2 THEN array_agg({name}) END" for name in new.key)
    return (
        f"WITH inserted AS ({insert} ON CONFLICT ({key}) DO NOTHING RETURNING {key}) "  # noqa: S608
        f"SELECT count(*), {which} FROM inserted"
    )


def _from_json(place: int, name: str) -> str:
    value = f"given->>{place}"
    # In JSON, bytes are base64.
    return f"decode({value}, 'base64')" if name == "bytea" else f"({value})::{name}"


def _places(first: int, width: int) -> str:
    return f"({', '.join(f'${place}' for place in range(first, first + width))})"


def array_types(row: Sequence[Value]) -> tuple[str, ...]:
    """Return the types under which PostgreSQL takes columns of such values."""
    return tuple("text" if isinstance(value, str) else "bigint" for value in row)


def _on_conflict(counters: Sums) -> str:
    table = counters.table
    changes = [f"{name} = {table}.{name} + excluded.{name}" for name in counters.sums]
    # Not max(): of two values that is another function in each dialect.
    changes += [
        f"{name} = CASE WHEN excluded.{name} > {table}.{name} THEN excluded.{name} ELSE {table}.{name} END"
        for name in counters.greatest
    ]
    return f" ON CONFLICT ({', '.join(counters.key)}) DO UPDATE SET {', '.join(changes)}"
