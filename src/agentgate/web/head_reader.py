"""Reads a usual request that is all there in a few operations, and leaves every other one to the parser.

It takes a subset of what parser and guard take together, and gives what they would give: a GET without a body or a POST
with one of the length that it says, no repeated header, nothing that says what becomes of the connection, one spelling
of white space. Lines that come again and again are judged once and remembered.
"""

from agentgate.web.request_guard import (
    MAX_HEADERS,
    MAX_TARGET_BYTES,
    is_plain_name,
    is_usual_value,
    judge_host,
    judge_target,
)

# Whoever sends one of these wants something that only the parser knows how to do.
NOT_HERE = frozenset(
    {
        b"connection",
        b"content-encoding",
        b"expect",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# Different in nearly every request, or nothing that should lie in memory for longer than its request.
NOT_REMEMBERED = frozenset(
    {
        b"authorization",
        b"cookie",
        b"referer",
        b"x-admin-key",
        b"x-agentgate-secret",
        b"x-agentgate-token",
        b"x-original-address",
        b"x-original-url",
    }
)
# Bounds of what is remembered. Clients choose the lines, so all is forgotten when it is full.
MOST_LINES, LONGEST_LINE = 4_096, 256
MOST_NAMES, LONGEST_NAME = 1_024, 64
MOST_TARGETS = 256

# More digits than a request that fits here can say.
LONGEST_LENGTH = 5

Pair = tuple[bytes, bytes]
# Method, path, query.
Target = tuple[bytes, bytes, bytes]
# The same, headers, body.
Read = tuple[bytes, bytes, bytes, dict[bytes, bytes], bytes]


class HeadReader:
    """One for all connections of a listener."""

    def __init__(self) -> None:
        self._lines: dict[bytes, Pair] = {}
        # Names as they are written, of lines that are remembered and of those that are not.
        self._names: dict[bytes, bytes] = {}
        self._changing: dict[bytes, bytes] = {}
        self._targets: dict[bytes, Target] = {}

    def read(self, data: bytes) -> Read | None:
        """Return the request if the data is exactly one usual one; None leaves it to the parser."""
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        target = self._targets.get(lines[0]) or self._read_target(lines[0])
        if target is None or len(lines) > MAX_HEADERS + 1 or not data[len(head) :]:
            return None
        del lines[0]
        known, names = self._lines.get, self._changing.get
        fields: dict[bytes, bytes] = {}
        for line in lines:
            pair = known(line)
            if pair is None:
                written, _, value = line.partition(b": ")
                name = names(written)
                if name is not None and is_usual_value(value):
                    fields[name] = value
                    continue
                pair = self._read_line(line)
                if pair is None:
                    return None
            fields[pair[0]] = pair[1]
        if len(fields) != len(lines) or b"host" not in fields or not _is_whole(target[0], fields, body):
            return None
        return (*target, fields, body)

    def _read_target(self, line: bytes) -> Target | None:
        method, _, rest = line.partition(b" ")
        if method not in (b"GET", b"POST") or rest[-9:] != b" HTTP/1.1" or len(line) > MAX_TARGET_BYTES:
            return None
        target = rest[:-9]
        if judge_target(target) is not None:
            return None
        path, _, query = target.partition(b"?")
        if len(line) <= LONGEST_LINE:
            if len(self._targets) >= MOST_TARGETS:
                self._targets.clear()
            self._targets[line] = method, path, query
        return method, path, query

    def _read_line(self, line: bytes) -> Pair | None:
        written, colon, value = line.partition(b": ")
        name = self._names.get(written) or self._read_name(written)
        if not colon or name is None or not is_usual_value(value):
            return None
        if name == b"host" and judge_host(value) is not None:
            return None
        if name in NOT_REMEMBERED:
            self._changing[written] = name
        elif len(line) <= LONGEST_LINE:
            if len(self._lines) >= MOST_LINES:
                self._lines.clear()
            self._lines[line] = name, value
        return name, value

    def _read_name(self, written: bytes) -> bytes | None:
        name = written.lower()
        if name in NOT_HERE or not is_plain_name(name) or len(name) > LONGEST_NAME:
            return None
        if len(self._names) >= MOST_NAMES:
            self._names.clear()
            self._changing.clear()
        self._names[written] = name
        return name


def _is_whole(method: bytes, fields: dict[bytes, bytes], body: bytes) -> bool:
    """Say whether the body is there, as long as the request says, and nothing after it."""
    length = fields.get(b"content-length")
    if method == b"GET":
        return length is None and not body
    return length is not None and length.isdigit() and len(length) <= LONGEST_LENGTH and int(length) == len(body)
