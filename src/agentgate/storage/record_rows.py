"""RecordRows: records as rows of a table. The columns are the record's fields, in their order."""

from enum import Enum
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from agentgate.lib.database import Row, Value
from agentgate.lib.records import json_decoder, to_json

S = TypeVar("S", bound=Struct)

_PLAIN = (int, float, str, bytes, bool)


class RecordRows(Generic[S]):
    """How records of one type are written and read. Lists and records within a record are stored as JSON text."""

    def __init__(self, kind: type[S], *, without: tuple[str, ...] = ()) -> None:
        """Take all fields of the record but those that lie elsewhere."""
        self._kind = kind
        types = {field.name: field.type for field in fields(kind) if field.name not in without}
        self.names = tuple(types)
        self.columns = ", ".join(types)
        self._readers = tuple((name, _reader(stored)) for name, stored in types.items())

    def places(self, first: int = 1) -> str:
        """Return `$1, $2, ...`, a place for each column."""
        return ", ".join(f"${number}" for number in range(first, first + len(self.names)))

    def values(self, record: S) -> list[Value]:
        """Return a record's values in the order of the columns."""
        return [_written(getattr(record, name)) for name in self.names]

    def read(self, row: Row, **others: Any) -> S:
        """Return the record of a row; `others` are the fields that lie elsewhere."""
        read = {
            name: reader(value) if reader else value for (name, reader), value in zip(self._readers, row, strict=True)
        }
        return self._kind(**read, **others)


def _reader(stored: Any) -> Any:
    """Return the function from a column's value to the field's; None where they are the same."""
    if isinstance(stored, type) and (stored is bool or issubclass(stored, Enum)):
        return stored
    is_json = (stored not in _PLAIN) if isinstance(stored, type) else hasattr(stored, "__origin__")
    return json_decoder(stored).decode if is_json else None


def _written(value: Any) -> Value:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, _PLAIN) else to_json(value).decode()
