"""The statements behind `load`, `add_up` and `insert_new`."""

import functools
from collections.abc import Sequence

from agentgate.core.database import NewRows, Sums, Value

# SQLite takes narrow rows in half the time when many stand in one statement; wide ones take longer then.
NARROW_COLUMNS = 4
ROWS_TOGETHER = 85


@functools.lru_cache(maxsize=64)
def insert_statement(table: str, columns: tuple[str, ...], rows: int = 1) -> str:
    """Return an INSERT of one row, or of several at once."""
    width = len(columns)
    starts = range(1, rows * width + 1, width)
    places = ", ".join(f"({', '.join(f'${start + place}' for place in range(width))})" for start in starts)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {places}"  # noqa: S608 - names from our own code


@functools.lru_cache(maxsize=64)
def add_up_statement(counters: Sums) -> str:
    """Return an upsert of one row."""
    return insert_statement(counters.table, counters.columns) + _on_conflict(counters)


@functools.lru_cache(maxsize=64)
def add_up_arrays_statement(counters: Sums, types: tuple[str, ...]) -> str:
    """Return an upsert of many rows that come as one array for each column (PostgreSQL)."""
    arrays = ", ".join(f"${number}::{name}[]" for number, name in enumerate(types, 1))
    columns = ", ".join(counters.columns)
    insert = f"INSERT INTO {counters.table} ({columns}) SELECT {columns} FROM unnest({arrays}) AS given ({columns})"  # noqa: S608
    return insert + _on_conflict(counters)


@functools.lru_cache(maxsize=64)
def insert_new_statement(new: NewRows) -> str:
    """Return an INSERT of one row that gives back its key, or nothing when the key is there already."""
    return insert_statement(new.table, new.columns) + _unless_there(new)


@functools.lru_cache(maxsize=64)
def insert_new_arrays_statement(new: NewRows) -> str:
    """Return the same for many rows that come as one array for each column (PostgreSQL)."""
    arrays = ", ".join(f"${number}::{name}[]" for number, (_, name) in enumerate(new.types, 1))
    columns = ", ".join(new.columns)
    insert = f"INSERT INTO {new.table} ({columns}) SELECT {columns} FROM unnest({arrays}) AS given ({columns})"  # noqa: S608
    return insert + _unless_there(new)


def _unless_there(new: NewRows) -> str:
    key = ", ".join(new.key)
    return f" ON CONFLICT ({key}) DO NOTHING RETURNING {key}"


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
