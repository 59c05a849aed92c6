"""Many numbers in one row. Counts by value lie so: read as they are and added up here, in a fraction of what a database
takes. SQLite puts what it read into one: it hands over rows one at a time, and for each the thread has to wait for the
interpreter.
"""

from collections.abc import Iterator, Sequence

import msgspec

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
