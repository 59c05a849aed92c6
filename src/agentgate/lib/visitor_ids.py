"""A visitor's ID: 16 lower-case hex digits on the wire, an unsigned 64-bit number inside, signed in a database."""

import re

_TEXT = re.compile(r"[0-9a-f]{16}\Z", re.ASCII)


def read_visitor(text: str) -> int | None:
    """Return the number, or None for text that no visitor ever had."""
    return int(text, 16) if _TEXT.match(text) else None


def write_visitor(visitor: int) -> str:
    """Return the form that goes over the wire."""
    return f"{visitor:016x}"
