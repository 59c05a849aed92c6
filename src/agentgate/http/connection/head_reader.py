"""Reads a usual request that is all there in a few operations, and leaves every other one to the parser.

It takes a subset of what parser and guard take together, and gives what they would give: a GET without a body or a POST
with one of the length that it says, no repeated header, nothing that says what becomes of the connection, one spelling
of white space. Lines that come again and again are judged once and remembered. So are whole heads, without the lines
that change: a proxy sends the same ones in the same order, and all of them together are then looked up at once.
"""

import re
from collections.abc import Callable, Sequence

from agentgate.http.request_guard import (
    MAX_HEADERS,
    MAX_TARGET_BYTES,
    are_usual_values,
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
        b"content-length",
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
MOST_HEADS, LONGEST_HEAD = 1_024, 2_048
# A name with more values than this changes too often for its lines to be remembered.
MOST_VALUES = 64
# Names whose lines are cut out of a head; whoever sends more is read line by line.
MOST_MARKS = 16

# Visitors choose the order of their headers, and a new one makes all heads unknown, so it is not followed each time.
NEW_ORDER_EVERY = 16
# After so many requests in a row with one head the next one is first compared with that head, which takes half the
# time. Making the pattern for it takes about a millisecond, so a head without one has to come oftener.
GUESSED_FROM, PATTERN_FROM = 4, 64

LINE_END, HEAD_END = b"\r\n", b"\r\n\r\n"
# More digits than a request that fits here can say.
LONGEST_LENGTH = 5

Pair = tuple[bytes, bytes]
# Method, path, query.
Target = tuple[bytes, bytes, bytes]
# The same, headers, body.
Read = tuple[bytes, bytes, bytes, dict[bytes, bytes], bytes]
# What stands before each mark, None where it is missing, and after the last one.
Rest = tuple[bytes | None, ...]


class KnownHead:
    """A head that came before: what it says, and the names of the values that change, which were cut out of it."""

    __slots__ = ("_longest", "_match", "_pieces", "_place", "fields", "has_body", "hot_path", "names", "target")

    def __init__(
        self, target: Target, fields: dict[bytes, bytes], names: tuple[bytes, ...], pieces: tuple[bytes, ...]
    ) -> None:
        self.target = target
        # As hot paths are written.
        self.hot_path = target[1] if target[0] == b"GET" else b"POST " + target[1]
        self.has_body = target[0] != b"GET"
        self.fields = fields
        self.names = names
        # What stands before, between and after the values, line ends included.
        self._pieces = pieces
        self._longest = max(pieces, key=len)
        self._place = pieces.index(self._longest)
        self._match: Callable[[bytes], re.Match[bytes] | None] | None = None

    @property
    def has_pattern(self) -> bool:
        """Say whether `cut` was called before."""
        return self._match is not None

    def cut(self, data: bytes) -> list[bytes] | None:
        """Return the values if the data is this head, and nothing else or a body, which then is the last of them."""
        found = (self._match or self._make_match())(data)
        if found is None:
            return None
        values: list[bytes] = list(found.groups())
        return values if values.pop(self._place) == self._longest else None

    def _make_match(self) -> Callable[[bytes], re.Match[bytes] | None]:
        # A pattern looks at one byte after the other, so the longest piece is only skipped, and compared as a whole.
        parts = [re.escape(piece) for piece in self._pieces]
        parts[self._place] = b"(.{%d})" % len(self._longest)
        # Possessive: a value ends where its line ends, and nothing shorter is tried.
        pattern = b"([^\r]*+)".join(parts)
        self._match = re.compile(pattern + b"(.*)" if self.has_body else pattern, re.DOTALL).fullmatch
        return self._match

    def fields_with(self, values: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return all headers in the order of arrival, with these values in their places."""
        fields = self.fields.copy()
        fields.update(zip(self.names, values))  # noqa: B905 - both were cut at the same marks
        return fields


# A known head or None, the values that were cut out, the body.
Looked = tuple[KnownHead | None, list[bytes], bytes]


class HeadReader:
    """One for all connections of a listener."""

    def __init__(self) -> None:
        self._lines: dict[bytes, Pair] = {}
        # Names as they are written, of lines that are remembered and of those that are not.
        self._names: dict[bytes, bytes] = {}
        self._changing: dict[bytes, bytes] = {}
        self._value_counts: dict[bytes, int] = {}
        self._targets: dict[bytes, Target] = {}
        # The line feed before a line that changes, and its name: in the order in which they come.
        self._marks: tuple[bytes, ...] = ()
        self._other_orders = 0
        self._heads: dict[Rest, KnownHead] = {}
        # The head that is expected next, and the one that came last, how often in a row.
        self._guess: KnownHead | None = None
        self._last: KnownHead | None = None
        self._in_a_row = 0

    def look(self, data: bytes) -> Looked | None:
        """Say whether the head is known. The values were not looked at, and nor was the body."""
        guess = self._guess
        if guess is not None:
            found = guess.cut(data)
            if found is not None:
                body = found.pop() if guess.has_body else b""
                return guess, found, body
            self._drop_guess()
        if data.endswith(HEAD_END):
            # It may be the end of a body; then what stands before it is no known head.
            head, body = data[:-2], b""
        else:
            head, end, body = data.partition(HEAD_END)
            if not end:
                return None
            head += LINE_END
        rest, values = self._cut(head)
        known = self._heads.get(rest)
        self._expect(known)
        return known, values, body

    def _drop_guess(self) -> None:
        self._guess, self._in_a_row = None, 0

    def _expect(self, known: KnownHead | None) -> None:
        """Guess what comes next."""
        if known is not self._last:
            self._last, self._in_a_row = known, 0
        elif known is not None:
            self._in_a_row += 1
            if self._in_a_row >= (GUESSED_FROM if known.has_pattern else PATTERN_FROM):
                self._guess = known

    def read(self, data: bytes, looked: Looked | None = None) -> Read | None:
        """Return the request if the data is exactly one usual one; None leaves it to the parser."""
        looked = looked or self.look(data)
        if looked is None:
            return None
        known, values, body = looked
        if known is None or not are_usual_values(values):
            return self._read_lines(data)
        fields = known.fields_with(values)
        return (*known.target, fields, body) if _is_whole(known.target[0], fields, body) else None

    def _cut(self, head: bytes) -> tuple[Rest, list[bytes]]:
        """Cut the values that change out of a head, of which each line has its end: what is left is all the rest of it.

        Where a mark comes twice, or not in the usual order, the line stays in the rest, and such a rest is not known.
        """
        rest: list[bytes | None] = []
        values: list[bytes] = []
        for mark in self._marks:
            before, found, after = head.partition(mark)
            if found:
                # The line feed after it is left, because it is the first byte of a mark that may follow at once.
                value, _, head = after.partition(b"\r")
                rest.append(before)
                values.append(value)
            else:
                rest.append(None)
        rest.append(head)
        return tuple(rest), values

    def _read_lines(self, data: bytes) -> Read | None:
        head, _, body = data.partition(HEAD_END)
        lines = head.split(LINE_END)
        target = self._targets.get(lines[0]) or self._read_target(lines[0])
        if target is None or len(lines) > MAX_HEADERS + 1 or not data[len(head) :]:
            return None
        del lines[0]
        known, names = self._lines.get, self._changing.get
        fields: dict[bytes, bytes] = {}
        is_known = True
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
                is_known = False
            fields[pair[0]] = pair[1]
        if len(fields) != len(lines) or b"host" not in fields or not _is_whole(target[0], fields, body):
            return None
        if is_known:
            # Only lines that came before make a known head: what comes once costs nothing more than its own line.
            self._learn(head + LINE_END, lines, (target, fields))
        return (*target, fields, body)

    def _learn(self, head: bytes, lines: list[bytes], read: tuple[Target, dict[bytes, bytes]]) -> None:
        """Remember a head without the lines that change."""
        marks: dict[bytes, bytes] = {}
        for line in lines:
            written = line.partition(b": ")[0]
            name = self._changing.get(written)
            if name is not None:
                marks[b"\n%b: " % written] = name
            elif line not in self._lines:
                return
        if not self._has_order(list(marks)):
            return
        rest, values = self._cut(head)
        if len(values) == len(marks) and len(head) - sum(map(len, values)) <= LONGEST_HEAD:
            if len(self._heads) >= MOST_HEADS:
                self._forget_heads()
            # The values are not kept, only where they stand.
            kept = {**read[1], **dict.fromkeys(marks.values(), b"")}
            self._heads[rest] = KnownHead(read[0], kept, tuple(marks.values()), self._pieces(rest))

    def _pieces(self, rest: Rest) -> tuple[bytes, ...]:
        """Return what a request consists of beside the values that were cut out of it."""
        pieces = [before + mark for before, mark in zip(rest, self._marks, strict=False) if before is not None]
        pieces.append((rest[-1] or b"") + LINE_END)
        # The carriage return that ended a value was cut out with it.
        return pieces[0], *(b"\r" + piece for piece in pieces[1:])

    def _forget_heads(self) -> None:
        self._heads.clear()
        self._last = None
        self._drop_guess()

    def _has_order(self, marks: list[bytes]) -> bool:
        """Say whether the marks come in the order that is cut by, which may be changed for them."""
        if [mark for mark in self._marks if mark in marks] == marks:
            return True
        if self._other_orders % NEW_ORDER_EVERY:
            self._other_orders += 1
            return False
        self._other_orders += 1
        # Other heads may have lines that this one has not.
        self._marks = (*marks, *(mark for mark in self._marks if mark not in marks))[:MOST_MARKS]
        self._forget_heads()
        return len(marks) <= MOST_MARKS

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
        self._remember(line, written, (name, value))
        return name, value

    def _remember(self, line: bytes, written: bytes, pair: Pair) -> None:
        name = pair[0]
        count = self._value_counts[name] = self._value_counts.get(name, 0) + 1
        # Hosts are judged where their line is remembered.
        if name in NOT_REMEMBERED or (count > MOST_VALUES and name != b"host"):
            self._changing[written] = name
        elif len(line) <= LONGEST_LINE:
            if len(self._lines) >= MOST_LINES:
                self._lines.clear()
                self._value_counts.clear()
            self._lines[line] = pair

    def _read_name(self, written: bytes) -> bytes | None:
        name = written.lower()
        if name in NOT_HERE or not is_plain_name(name) or len(name) > LONGEST_NAME:
            return None
        if len(self._names) >= MOST_NAMES:
            self._names.clear()
            self._changing.clear()
            self._value_counts.clear()
            self._forget_heads()
            self._marks = ()
        self._names[written] = name
        return name


def _is_whole(method: bytes, fields: dict[bytes, bytes], body: bytes) -> bool:
    """Say whether the body is there, as long as the request says, and nothing after it."""
    length = fields.get(b"content-length")
    if method == b"GET":
        return length is None and not body
    return length is not None and length.isdigit() and len(length) <= LONGEST_LENGTH and int(length) == len(body)
