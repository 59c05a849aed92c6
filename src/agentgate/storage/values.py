"""The values that a statement may contain: the same on every database, checked before anything is sent."""

from collections.abc import Sequence

from agentgate.lib.database import Value

INTEGER_MINIMUM = -(2**63)
INTEGER_MAXIMUM = 2**63 - 1
TOO_LARGE = "an integer for the database must fit into 64 bits with its sign"


def check_values(values: Sequence[Value]) -> None:
    """Raise ValueError for a value that one of the databases would reject, change or cut off."""
    for value in values:
        # Every row of every group goes through here, so the usual types are checked first and by little.
        if type(value) is str:
            if not value.isascii() or "\0" in value:
                _check_text(value)
        elif type(value) is int:
            if not INTEGER_MINIMUM <= value <= INTEGER_MAXIMUM:
                raise ValueError(TOO_LARGE)
        elif value is not None and type(value) is not bytes:
            _check_unusual(value)


def _check_unusual(value: Value) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, int):
        if not INTEGER_MINIMUM <= value <= INTEGER_MAXIMUM:
            raise ValueError(TOO_LARGE)
    elif isinstance(value, float):
        # SQLite would store NaN as NULL, PostgreSQL as a number greater than all others.
        if value != value:  # noqa: PLR0124 - only NaN differs from itself
            raise ValueError("NaN cannot be stored")
    elif not isinstance(value, bytes):
        raise ValueError(f"a value of type {type(value).__name__} cannot be stored")  # noqa: TRY004 - as all of these


def _check_text(text: str) -> None:
    # PostgreSQL rejects NUL in text, and SQLite's own functions stop reading at it.
    if "\0" in text:
        raise ValueError("text for the database must not contain NUL")
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("text for the database must be valid Unicode, without lone surrogates") from error
