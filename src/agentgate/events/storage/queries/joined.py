"""Many numbers in one row. Counts by value lie so: read as they are and added up here, in a fraction of what a database
takes. SQLite puts what it read into one: it hands over rows one at a time, and for each the thread has to wait for the
interpreter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agentgate.events.storage.encoding import value_key
from agentgate.lib.database import Reader

_OBJECTS = "SELECT string_agg(counts, '') FROM dimension_pack WHERE site = $1 AND hour >= $2 AND hour < $3"
_ARRAYS = "SELECT keys, counts FROM dimension_pack WHERE site = $1 AND hour >= $2 AND hour < $3"

_decode = msgspec.json.Decoder(list[int]).decode


def numbers(text: str | None) -> list[int]:
    """Return the numbers of a list such as `1,2`; none of None."""
    return _decode(f"[{text}]") if text else []


def joined(column: str) -> str:
    """Return the SQL that makes such a list of a column, without NULL."""
    return f"string_agg(CAST({column} AS TEXT), ',')"


def joined_rows(columns: Sequence[str]) -> str:
    """Return the SQL that makes one list of all rows. The columns must not be NULL, because the list omits NULL."""
    return f"string_agg(concat_ws(',', {', '.join(columns)}), ',')"


def rows_of(text: str | None, columns: int) -> Iterator[tuple[int, ...]]:
    """Yield the rows of such a list, with so many columns."""
    listed = iter(numbers(text))
    return zip(*[listed] * columns, strict=True)


async def count_array_values(
    session: Reader, site: int, hours: tuple[int, int], asked: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """Return how often a few values occurred in some hours, by dimension and value (PostgreSQL)."""
    rows = await session.all(_ARRAYS, site, *hours)
    found = dict.fromkeys(asked, 0)
    wanted = {str(value_key(*value)): value for value in found}
    for keys, counts in rows:
        listed = keys[1:-1].split(",")
        for key, value in wanted.items():
            if key in listed:
                found[value] += int(counts[1:-1].split(",")[listed.index(key)])
    return found


async def count_json_values(
    session: Reader, site: int, hours: tuple[int, int], asked: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """Return the same of counts that are JSON (SQLite)."""
    row = await session.one(_OBJECTS, site, *hours)
    text = (row[0] if row else None) or ""
    return {value: sum(map(int, re.findall(rf'"{value_key(*value)}":(\d+)', text))) for value in asked}
