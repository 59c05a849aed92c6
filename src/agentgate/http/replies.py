"""Replies: the results of a handler besides a plain record, and the form of errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType, structs

from agentgate.lib.errors import ErrorTable, Refused
from agentgate.lib.records import Record, to_json
from agentgate.lib.tasks.off_loop import FEW_ITEMS, consumed, off_loop

T = TypeVar("T")

JSON = "application/json"
JSON_HEADER = (b"content-type", JSON.encode("ascii"))
# The strictest headers are the default; a page may weaken them for itself.
SECURITY_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# For a year, and without subdomains, which may belong to others.
STRICT_TRANSPORT = (b"strict-transport-security", b"max-age=31536000")

# An error's code and message -> its body.
RefusalWriter = Callable[[str, str], Any]


class ErrorBody(Record, frozen=True, kw_only=True):
    """The body of every error. `error` is stable; `message` is for people and may change."""

    error: str
    message: str | UnsetType = UNSET


@dataclass(frozen=True, kw_only=True)
class Reply(Generic[T]):
    """A response with additional headers. `Reply[Site]` in a handler's signature declares the body's type.

    `rest` has further pages of one of the body's lists: the response is sent page by page.
    """

    body: T
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    rest: AsyncIterator[list[Any]] | None = None
    rest_of: str = "items"


@dataclass(frozen=True)
class Text:
    """A response that is not JSON."""

    content: bytes
    media_type: str


@dataclass(frozen=True)
class HttpAnswer:
    """An encoded response: status, headers, bytes; or parts of the body that follow each other, as `parts`."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    parts: AsyncIterator[bytes] | None = None


def encode_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return headers as they go over the wire."""
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]


def answer(status: int, body: Any, *, headers: tuple[tuple[str, str], ...] = ()) -> HttpAnswer:
    """Encode a handler's result."""
    encoded = encode_headers(headers)
    if body is None:
        return HttpAnswer(status, encoded, b"")
    media_type, content = (body.media_type, body.content) if isinstance(body, Text) else (JSON, to_json(body))
    return HttpAnswer(status, [(b"content-type", media_type.encode("ascii")), *encoded], content)


async def answer_in_slices(status: int, result: Any) -> HttpAnswer:
    """Encode a handler's result; its long lists in a thread, so that other requests continue.

    These lists belong to the response and are empty afterwards. Responses share tuples only.
    """
    reply = result if isinstance(result, Reply) else Reply(body=result)
    body, status, headers = reply.body, reply.status or status, reply.headers
    if reply.rest is not None:
        return HttpAnswer(status, [JSON_HEADER, *encode_headers(headers)], b"", _parts(body, reply.rest_of, reply.rest))
    long = {}
    if isinstance(body, Struct):
        long = {name: value for name in body.__struct_fields__ if is_long(value := getattr(body, name))}
    if long:
        raw = {name: await asyncio.to_thread(_raw_list, value) for name, value in long.items()}
        body = structs.replace(body, **raw)
    return answer(status, body, headers=headers)


async def _parts(body: Any, name: str, rest: AsyncIterator[list[Any]]) -> AsyncIterator[bytes]:
    """Yield the JSON of a body of which one list continues in further pages."""
    # JSON escapes this byte, so no text of the body contains it.
    before, after = to_json(structs.replace(body, **{name: Raw(b"\0")})).split(b"\0")
    yield before + b"[" + await _joined(getattr(body, name))
    async for page in rest:
        if page:
            yield b"," + await _joined(page)
    yield b"]" + after


async def _joined(items: list[Any]) -> bytes:
    return await off_loop(len(items), lambda: b",".join(map(to_json, consumed(items))))


def is_long(value: Any) -> bool:
    """Return whether a value is a list that is encoded in a thread."""
    return isinstance(value, list) and len(value) > FEW_ITEMS


def _raw_list(items: list[Any]) -> Raw:
    return Raw(b"[" + b",".join(map(to_json, consumed(items))) + b"]")


def refusal(
    refused: Refused, table: ErrorTable, fields: Mapping[str, Any] | None = None, *, write: RefusalWriter | None = None
) -> HttpAnswer:
    """Turn an error into the surface's own status and body.

    Every error of the surface has `fields`; `write` makes the whole body in another service's format.
    """
    row = table.lookup(refused.code)
    headers = dict(refused.headers)
    if row.retry_after_s is not None:
        headers.setdefault("retry-after", str(row.retry_after_s))
    message = refused.message or row.message
    if write is not None:
        return answer(row.status, write(row.code, message), headers=tuple(headers.items()))
    body = {**(fields or {}), "error": row.code, "message": message, **refused.extra}
    return answer(row.status, body, headers=tuple(headers.items()))


def set_cookie(
    name: str, value: str, *, path: str, same_site: str, secure: bool, max_age_s: int | None = None
) -> tuple[str, str]:
    """Return a `Set-Cookie` header. Every cookie of ours is hidden from scripts."""
    parts = [f"{name}={value}", f"Path={path}", "HttpOnly", f"SameSite={same_site}"]
    if max_age_s is not None:
        parts.append(f"Max-Age={max_age_s}")
    if secure:
        parts.append("Secure")
    return "set-cookie", "; ".join(parts)
