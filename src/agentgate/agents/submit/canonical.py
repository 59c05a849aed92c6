"""Content in its canonical form, over which the content digest is computed, and the text in it.

Text is its UTF-8 bytes. Everything else is JSON as RFC 8785 writes it, which every language can make again.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

# Deeper nesting than any form has.
DEEPEST = 32
# Every whole number up to here is exact in every language.
LARGEST_INTEGER = 2**53 - 1


class NotCanonical(ValueError):  # noqa: N818 - says what is wrong
    """The content has no canonical form; the message gives the reason and what would be right."""


def content_bytes(content: Any) -> bytes:
    """Return the bytes of a content that its digest covers."""
    text = content if isinstance(content, str) else _write(content, 0)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NotCanonical("content has half of a surrogate pair. Send valid Unicode.") from None


def submission_hash(site_key: str, action: str, tool: str | None, content: Any) -> bytes:
    """Return the digest that identifies a submission."""
    return hashlib.sha256(content_bytes([site_key, action, tool, content])).digest()


def texts(content: Any) -> Iterator[str]:
    """Return the texts in a content, in their order; names of properties are not among them."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from texts(value)


def _write(value: Any, depth: int) -> str:
    if depth > DEEPEST:
        raise NotCanonical(f"content is nested too deeply. Send at most {DEEPEST} levels.")
    if isinstance(value, dict):
        # By UTF-16 code units, as RFC 8785 3.2.3 has it.
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        members = ",".join(f"{_quoted(name)}:{_write(value[name], depth + 1)}" for name in names)
        return f"{{{members}}}"
    if isinstance(value, list):
        return f"[{','.join(_write(part, depth + 1) for part in value)}]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return _number(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """Return a number as ECMAScript writes it."""
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise NotCanonical("content has a whole number beyond 2^53 - 1. Send it as text.")
        return str(value)
    if not math.isfinite(value):
        raise NotCanonical("content has a number that does not fit in a double. Send it as text.")
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    shown = "".join(map(str, digits))
    # The number of digits before the point.
    whole = len(shown) + int(exponent)
    return "-" * sign + _placed(shown, whole)


def _placed(digits: str, whole: int) -> str:
    if len(digits) <= whole <= 21:
        return digits + "0" * (whole - len(digits))
    if 0 < whole <= 21:
        return f"{digits[:whole]}.{digits[whole:]}"
    if -6 < whole <= 0:
        return f"0.{'0' * -whole}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{whole - 1:+d}"
