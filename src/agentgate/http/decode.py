"""Bytes to typed input: JSON records, or the raw body. Error messages state what would be right."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import UNSET

from agentgate.lib.errors import Refused
from agentgate.lib.records import Input, Query, convert, json_decoder

Receive = Callable[[], Awaitable[dict[str, Any]]]

_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`(?: - at `\$(.*)`)?")
# Errors of shape, not of value: another JSON type, a member that is missing or duplicated.
_SHAPE = re.compile(r"Expected `[^`]+`, got `|Object missing required|An object contains a property")
_INTEGER = re.compile(r"-?[0-9]+\Z", re.ASCII)
_PROBLEM = re.compile(r"(.*?)(?: - at `(?:key in )?\$\.?(.*)`)?\Z", re.DOTALL)

# Levels of arrays and objects. How deep an interpreter can read depends on its version and on the size of its stack.
DEEPEST = 64
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - set(_STEPS))

# Error codes by query parameter; all others are filters.
QUERY_CODES = {
    "limit": "invalid_limit",
    "from": "invalid_range",
    "to": "invalid_range",
    "cursor": "invalid_cursor",
    "siteKey": "invalid_site",
}


class Disconnected(Exception):  # noqa: N818 - says what happened
    """The client went away before its request was whole."""


async def read_body(receive: Receive, *, declared: str | None, limit: int, too_large: str) -> bytes:
    """Read a request's body; reject one over the limit before it is in memory."""
    if declared is not None and int(declared) > limit:
        raise _too_large(limit, too_large)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit, too_large)
        if not message.get("more_body", False):
            return bytes(body)


class BodyDecoder:
    """Decodes one kind of body."""

    def __init__(self, kind: type[Input], *, malformed: str, texts_only: bool = False) -> None:
        """Prepare for a type; `texts_only`: every member is a string, which allows a faster check for duplicates."""
        self._texts_only = texts_only
        self._kind = kind
        self._malformed = malformed
        self._decoder = json_decoder(kind)

    def decode(self, body: bytes) -> Any:
        """Return the typed input, or reject it with the surface's code."""
        try:
            decoded = self._decoder.decode(body)
            if self._texts_only and _has_each_once(decoded, body):
                return decoded
            # Numbers are left as text: Python rejects very long ones, and only the keys matter here.
            read = _strict_reader.decode(body.decode())
            _check_depth(body)
            if rb"\u0000" in body:
                _check_text(read)
        except msgspec.ValidationError as problem:
            raise self._other_version(body) or self._refusal(str(problem)) from None
        except msgspec.DecodeError as problem:
            raise Refused(self._malformed, f"The body is not valid JSON: {problem}.") from None
        except UnicodeDecodeError:
            raise Refused(self._malformed, "The body is not valid JSON: text must be UTF-8.") from None
        except RecursionError:
            raise Refused(self._malformed, f"The body has more than {DEEPEST} levels of arrays and objects.") from None
        return decoded

    def _other_version(self, body: bytes) -> Refused | None:
        """Return the error for a body with another version of the format; None otherwise."""
        if self._kind.shape_version is None:
            return None
        name, known, code = self._kind.shape_version
        try:
            read = _strict_reader.decode(body.decode())
        except (msgspec.ValidationError, ValueError, RecursionError):
            return None
        if not isinstance(read, dict) or read.get(name, str(known)) == str(known):
            return None
        return Refused(code)

    def _refusal(self, problem: str) -> Refused:
        unknown = _UNKNOWN.match(problem)
        if unknown is None:
            is_shape = _SHAPE.match(problem) is not None
            return Refused(self._malformed if is_shape else self._kind.value_code or self._malformed, explain(problem))
        name, place = unknown.groups()
        code = self._kind.refused_fields.get(name) if not place else None
        if code == "immutable_field":
            return Refused(code, f"{name} cannot be changed. Omit it.")
        if code is not None:
            return Refused(code, f"{name} is set by the server. Omit it.")
        fields = ", ".join(self._kind.__struct_encode_fields__)
        where = f" in {place.lstrip('.')}" if place else f"; this body takes: {fields}"
        return Refused(self._malformed, f"{name} is not a known property{where}.")


def decode_query(kind: type[Query] | None, parameters: Mapping[str, str]) -> Query | None:
    """Return the typed query, or reject it with the code of the parameter."""
    known = kind.__struct_encode_fields__ if kind else ()
    for name in parameters:
        if name not in known:
            takes = f"takes: {', '.join(known)}" if known else "takes no query parameters"
            raise Refused("invalid_filter", f"{name} is not a parameter of this route. The route {takes}.")
    if kind is None:
        return None
    try:
        query = convert(dict(parameters), kind, strict=False)
    except msgspec.ValidationError as problem:
        text = str(problem)
        name = next((name for name in known if f"`$.{name}`" in text or f"field `{name}`" in text), "")
        raise Refused(QUERY_CODES.get(name, "invalid_filter"), explain(text)) from None
    for field, name in zip(kind.__struct_fields__, known, strict=True):
        # msgspec reads `1e2` and ` 7` as integers; people and caches would not.
        if type(getattr(query, field)) is int and not _INTEGER.match(parameters.get(name, "0")):
            raise Refused(QUERY_CODES.get(name, "invalid_filter"), f"{name}: Expected an integer in plain digits.")
    return query


def explain(problem: str) -> str:
    """Turn a msgspec message into ours: the position, then the problem."""
    match = _PROBLEM.match(problem)
    assert match is not None  # the pattern matches every text
    text, place = match.groups()
    text = text.replace("`", "").replace(r"\\Z", "$").replace(r"\Z", "$")
    text = text.replace("Object missing required field", "missing required property")
    return f"{place}: {text}." if place else f"{text[0].upper()}{text[1:]}."


def _check_depth(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return
    # The body is JSON: in other text, the pattern takes quadratic time.
    brackets = _STRINGS.sub(b"", body).translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEEPEST:
        raise RecursionError


def _has_each_once(decoded: Any, body: bytes) -> bool:
    """Return True if quotation marks alone prove that no member is duplicated; False proves nothing."""
    # Not `in`, which takes four times as long to find a single byte.
    if body.find(b"\\") >= 0 or not body.isascii():
        return False
    values = msgspec.structs.astuple(decoded)
    given = len(values) - values.count(UNSET)
    # Every member is a name and a string, and no string contains a quotation mark.
    return body.count(b'"') == 4 * given


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Parsers disagree on which of two equal keys counts.
    names = dict(pairs)
    if len(names) != len(pairs):
        raise msgspec.ValidationError("An object contains a property twice")
    return names


_strict_reader = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_int=str, parse_float=str)


def _check_text(value: Any) -> None:
    # PostgreSQL cannot store NUL, and C code stops reading at it.
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for part in value:
            _check_text(part)
    elif isinstance(value, str) and "\0" in value:
        raise msgspec.ValidationError("Text must not contain the character NUL (U+0000)")


def _too_large(limit: int, code: str) -> Refused:
    return Refused(code, f"The body is too large. Send at most {limit // 1024} KiB.")


# A body that is too large is read up to here and dropped, so that a proxy that is still sending gets the response.
MOST_DISCARDED_BYTES = 1024 * 1024


class RawBody(Input, frozen=True, kw_only=True):
    """A body. `content` is None when it was larger than the route takes."""

    content: bytes | None
    content_type: str


async def read_raw(receive: Receive, *, content_type: str | None, limit: int) -> RawBody:
    content: bytearray | None = bytearray()
    count = 0
    while True:
        message: dict[str, Any] = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece = message.get("body", b"")
        count += len(piece)
        if content is not None:
            content += piece
            if count > limit:
                content = None
        if not message.get("more_body", False) or count > MOST_DISCARDED_BYTES:
            return RawBody(content=None if content is None else bytes(content), content_type=content_type or "")
