"""Input and output of a fast function, and how its reply becomes bytes.

A fast function is synchronous and responds before an ASGI scope exists. The connection that calls it is `protocol.py`.
"""

import http
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from agentgate.http.connection.loop_budget import LoopBudget
from agentgate.http.request_guard import FIRST_STEP

# Requests with a longer or a chunked body take the ASGI path.
HOT_BODY_BYTES = 4 * 1024
BODILESS = (b"GET", b"HEAD")


class HotRequest(Struct, frozen=True, gc=False):
    """A request without a body or with a small one; nothing of it is decoded.

    Header names are in lower case and in the order of arrival. The values of a name that came more than once are
    joined with `, ` (RFC 9110 5.3); names that must be single never come more than once.
    """

    method: bytes
    path: bytes
    query: bytes
    headers: dict[bytes, bytes]
    peer: tuple[str, int] | None
    body: bytes = b""


class HotReply(Struct, frozen=True, gc=False):
    """A response; `content-length`, `date` and `connection` are added when it is written."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    # The same headers as bytes, if the caller has encoded them once for many responses; else empty.
    written: bytes = b""


# A response that is encoded except for the date: the bytes before and after the line of the date.
DatelessReply = tuple[bytes, bytes]
Reply = HotReply | DatelessReply


class Pending:
    """A response that a callback supplies later: cheaper than a task."""

    __slots__ = ("_reply", "_write")

    def __init__(self) -> None:
        self._reply: Reply | None = None
        self._write: Callable[[Reply], None] | None = None

    def resolve(self, reply: Reply) -> None:
        """Supply the response. The first one counts."""
        if self._reply is None:
            self._reply = reply
            if self._write is not None:
                self._write(reply)

    def then(self, write: Callable[[Reply], None]) -> None:
        """Set the callback for the response; it is called at once if the response exists."""
        self._write = write
        if self._reply is not None:
            write(self._reply)


class Incomplete:
    """A request of which the head is good and the body is still to come."""

    __slots__ = ()


INCOMPLETE = Incomplete()
# None sends the request to the ASGI path; an awaitable is awaited in a task, and the connection keeps its order.
HotAnswer = Reply | Pending | Awaitable[Reply] | None
HotFunction = Callable[[HotRequest], HotAnswer]
# `/path` for GET and HEAD, `POST /path` for another method.
HotPaths = Mapping[bytes, HotFunction]
# Responds to a request as it arrived, before it is parsed; None leaves it to the parser.
Taker = Callable[[bytes], HotAnswer | Incomplete]


@runtime_checkable
class Taking(Protocol):
    """A hot function that may take a request as it arrived."""

    def take(self, data: bytes) -> HotAnswer | Incomplete:
        """Respond, or do nothing: None leaves the request to the parser, INCOMPLETE requests more data."""


@runtime_checkable
class Refusing(Protocol):
    """A fast function for GET that rejects the current request if the loop iteration is out of time (`is_refusing`)."""

    @property
    def budget(self) -> LoopBudget:
        """The loop iterations, for the whole listener."""


_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode("ascii")) for status in http.HTTPStatus
}
_CLOSE = b"connection: close\r\n"


def encode_reply(reply: Reply, date_line: bytes, *, with_body: bool, keep_alive: bool) -> bytes:
    """Return the bytes of a whole response; ValueError if a header contains a line end."""
    if isinstance(reply, tuple):
        return (date_line if keep_alive else date_line + _CLOSE).join(reply)
    status = reply.status
    if reply.written:
        end = b"\r\n" if keep_alive else _CLOSE + b"\r\n"
        if status == 204:
            return b"".join((_STATUS_LINES[204], date_line, reply.written, end))
        length = b"content-length: %d\r\n" % len(reply.body)
        body = reply.body if with_body else b""
        return b"".join((_STATUS_LINES[status], date_line, reply.written, length, end, body))
    parts = [_STATUS_LINES[status], date_line]
    for name, value in reply.headers:
        parts += (name, b": ", value, b"\r\n")
    # A 204 or a 304 has no body by definition, and a length on it confuses intermediaries (RFC 9110 8.6).
    has_length = status not in (204, 304)
    if has_length:
        parts.append(b"content-length: %d\r\n" % len(reply.body))
    if not keep_alive:
        parts.append(_CLOSE)
    parts.append(b"\r\n")
    head = b"".join(parts)
    # Counting the bytes of line ends costs less than looking at each value, and finds the same response splitting.
    line_count = 3 + len(reply.headers) + has_length + (not keep_alive)
    if len(head) - len(head.translate(None, b"\r\n")) != 2 * line_count:
        raise ValueError("a header of a reply contains a line end")
    return head + reply.body if with_body and has_length else head


def write_around(reply: HotReply) -> tuple[bytes, bytes]:
    """Return the bytes before the date, and those between date and headers, of a response on an open connection.

    They are encoded once for many responses with different headers.
    """
    whole = encode_reply(reply, b"", with_body=True, keep_alive=True)
    start = len(_STATUS_LINES[reply.status])
    return whole[:start], whole[start + len(reply.written) :]


def taker_of(hot_paths: HotPaths, method: bytes) -> tuple[Taker, tuple[bytes, ...]]:
    """Return the function that takes requests with this method as they arrive, and how those begin."""
    functions: dict[bytes, object] = dict(hot_paths)
    for path, function in functions.items():
        line = b"GET " + path if path.startswith(b"/") else path
        if isinstance(function, Taking) and line.startswith(method + b" "):
            return function.take, (line + b" ", line + b"?")
    return (lambda _: None), ()


def read_reply(reply: Reply) -> HotReply:
    """Return a response in its parts, for callers that write it in another way."""
    if isinstance(reply, HotReply):
        return reply
    head, _, body = b"".join(reply).partition(b"\r\n\r\n")
    status_line, *lines = head.split(b"\r\n")
    headers = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
    return HotReply(int(status_line[9:12]), [each for each in headers if each[0] != b"content-length"], body)


def budget_of(hot_paths: HotPaths) -> tuple[LoopBudget, tuple[bytes, ...]]:
    """Return the iterations that a listener follows, and the beginnings of requests that may be rejected for lack of
    time."""
    functions: dict[bytes, object] = dict(hot_paths)
    refusing = {path: function.budget for path, function in functions.items() if isinstance(function, Refusing)}
    return next(iter(refusing.values()), LoopBudget()), tuple(b"GET " + path for path in refusing)


def write_headers(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return headers as bytes, for responses that are encoded once; ValueError for one with a line end."""
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    if len(lines) - len(lines.translate(None, b"\r\n")) != 2 * len(headers):
        raise ValueError("a header of a reply contains a line end")
    return lines


def json_reply(status: int, code: str, *, message: str, headers: list[tuple[bytes, bytes]] | None = None) -> HotReply:
    """Return the small JSON response that is used when no handler has run."""
    body = msgspec.json.encode({"error": code, "message": message})
    return HotReply(status, [(b"content-type", b"application/json"), *(headers or [])], body)


def find_hot(hot_paths: HotPaths, method: bytes, path: bytes, headers: Mapping[bytes, bytes]) -> HotFunction | None:
    """Return the function for such a request, unless its body could be too long to await here."""
    if method in BODILESS:
        return hot_paths.get(path)
    length = headers.get(b"content-length")
    # `Expect: 100-continue` is handled by the ASGI path.
    if length is None and b"transfer-encoding" not in headers:
        length = b"0"
    if length is None or int(length) > HOT_BODY_BYTES or b"expect" in headers:
        return None
    return hot_paths.get(method + b" " + path)


def refusal_reply(status: int, code: str, target: bytes) -> HotReply:
    """Return the response to a client whose request is not run."""
    too_large = status in {414, 431}
    message = "The request line or the headers are too large." if too_large else "The request is not valid HTTP."
    # nginx then sends the visitor's request to the second step, which is rejected too and is the final response.
    headers = [(b"x-service-denial", b"none")] if target.startswith(FIRST_STEP) else None
    return json_reply(status, code, message=message, headers=headers)


FAILED = json_reply(500, "internal_error", message="Internal error.")
OVERLOADED = json_reply(
    503, "unavailable", message="AgentGate is overloaded. Try again in 5 seconds.", headers=[(b"retry-after", b"5")]
)
