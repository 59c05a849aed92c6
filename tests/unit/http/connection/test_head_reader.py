"""The quick reader gives what parser and guard give, or leaves the request to them. Never anything else."""

import random

import httptools
import pytest

from agentgate.http.connection.head_reader import (
    GUESSED_FROM,
    LONGEST_LINE,
    MOST_HEADS,
    MOST_LINES,
    MOST_MARKS,
    MOST_VALUES,
    PATTERN_FROM,
    HeadReader,
)
from agentgate.http.request_guard import judge_head

CHECK = (
    b"GET /v1/gateway/check?ok=200 HTTP/1.1\r\nHost: gate.example\r\nAuthorization: Bearer ags_x\r\n"
    b"X-Original-Method: GET\r\nX-Original-URL: https://shop.example/a?b=c\r\nX-Original-Address: 203.0.113.9\r\n"
    b'User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nsec-ch-ua: "Chromium";v="142"\r\nAccept: */*\r\n'
    b"Cookie: a=b; c=d\r\n\r\n"
)
VERIFY = b'POST /v1/siteverify HTTP/1.1\r\nHost: gate.example\r\nContent-Length: 13\r\n\r\n{"token":"x"}'
PIECES = (
    *(
        b"\r\n",
        b"\r",
        b"\n",
        b" ",
        b"\t",
        b":",
        b": ",
        b"\0",
        b"\x7f",
        b"\xff",
        b"_",
        b",",
        b"#",
        b"%",
        b"//",
        b"\r\n ",
    ),
    *(
        b"\r\nTransfer-Encoding: chunked",
        b"\r\nContent-Length: 5",
        b"\r\nConnection: close",
        b"\r\nHost: other.example",
    ),
    *(b"\r\nX_Original_URL: https://x.example/", b"\r\nX-Original-Method: POST", b"\r\nExpect: 100-continue"),
    *(b"\r\nUpgrade: h2c", b"HTTP/1.0", b"HTTP/1.1", b"HEAD", b"POST", b"http://x.example/", b"\r\n\r\nGET / HTTP/1.1"),
)


class Parsed:
    """What the parser makes of data, judged by the guard; None for what is refused or not exactly one request."""

    def __init__(self):
        self.url, self.body, self.fields, self.repeated = b"", b"", {}, []
        self.heads = self.ends = 0

    def on_url(self, url):
        self.url += url

    def on_header(self, name, value):
        name = name.lower()
        if name in self.fields:
            self.repeated.append(name)
        self.fields[name] = value

    def on_headers_complete(self):
        self.heads += 1

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        self.ends += 1


def by_the_parser(data):
    parsed = Parsed()
    parser = httptools.HttpRequestParser(parsed)
    try:
        parser.feed_data(data)
    except httptools.HttpParserError:
        return None
    method, version = parser.get_method(), parser.get_http_version()
    refusal = judge_head(method, parsed.url, version=version, fields=parsed.fields, repeated=parsed.repeated)
    if (
        refusal is not None
        or parsed.repeated
        or (parsed.heads, parsed.ends) != (1, 1)
        or not parser.should_keep_alive()
    ):
        return None
    path, _, query = parsed.url.partition(b"?")
    return method, path, query, parsed.fields, parsed.body


def mutated(chance, data):
    for _ in range(chance.randrange(1, 4)):
        start = chance.randrange(len(data))
        end = min(len(data), start + chance.choice((0, 0, 1, 2, 8)))
        data = data[:start] + chance.choice(PIECES) + data[end:]
    return data


@pytest.mark.parametrize("data", [CHECK, VERIFY])
def test_a_usual_request_is_read_as_the_parser_reads_it(data):
    reader = HeadReader()

    assert reader.read(data) == reader.read(data) == by_the_parser(data)
    assert list(reader.read(data)[3]) == list(by_the_parser(data)[3])


@pytest.mark.parametrize("data", [CHECK, VERIFY])
def test_a_mutated_request_is_read_as_the_parser_reads_it_or_not_at_all(data):
    chance, reader, taken = random.Random(6), HeadReader(), 0
    for _ in range(6_000):
        # So that its head is known, whatever was learned from the attempt before.
        reader.read(data)
        attempt = mutated(chance, data)
        read = reader.read(attempt)
        if read is not None:
            taken += 1
            parsed = by_the_parser(attempt)
            assert read == parsed, attempt
            assert list(read[3]) == list(parsed[3]), attempt

    # Else this would show nothing.
    assert taken > 100


@pytest.mark.parametrize(
    "line",
    [
        b"Host: second.example",
        b"Accept: again",
        b"Transfer-Encoding: chunked",
        b"Content-Length: 0",
        b"Connection: keep-alive",
        b"Upgrade: websocket",
        b"Expect: 100-continue",
        b"X_Original_URL: https://x.example/",
        b"X-Empty:",
        b"X-Wide:  two spaces",
        b"X-Tail: space ",
        b" folded",
        b"no colon",
    ],
)
def test_an_unusual_line_is_left_to_the_parser(line):
    assert HeadReader().read(CHECK[:-2] + line + b"\r\n\r\n") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Each in or beside a line that is cut out of a known head.
        (b"c=d\r\n\r\n", b"c=d\r\r\n\r\n"),
        (b"c=d\r\n\r\n", b"c=d\n\r\n\r\n"),
        (b"c=d\r\n\r\n", b"c=d\r\n\n\r\n"),
        (b"c=d\r\n\r\n", b"c=d\r\nCookie: e=f\r\n\r\n"),
        (b"c=d\r\n\r\n", b"c=d\r\ncookie: e=f\r\n\r\n"),
        (b"c=d\r\n\r\n", b"c=d\r\nContent-Length: 0\r\n\r\n"),
        (b"c=d\r\n\r\n", b"c=d\r\n"),
        (b"c=d\r\n\r\n", b"c=d"),
        (b"c=d\r\n\r\n", b"c=d\r\n\r\nbody"),
        (b"c=d\r\n\r\n", b"c=d\r\n\r\n\r\n\r\n"),
        (b"Cookie: a", b"Cookie:  a"),
        (b"Cookie: a", b"Cookie: \ta"),
        (b"Cookie: a", b"Cookie : a"),
        (b"Cookie: a", b"Cookie:a"),
        (b"a=b; c=d", b""),
        (b"a=b; c=d", b"a=b "),
        (b"a=b; c=d", b"a=\0b"),
        (b"a=b; c=d", b"a=b\r c=d"),
        (b"a=b; c=d", b"a=b\n c=d"),
        (b"a=b; c=d", b"a=b\r\n c=d"),
        (b"HTTP/1.1\r\n", b"HTTP/1.1\n"),
        (b"HTTP/1.1\r\n", b"HTTP/1.1\r\n\r\n"),
        (b"Host: gate", b"Host: gate@"),
    ],
)
def test_a_known_head_with_a_flaw_is_left_to_the_parser(old, new):
    reader = HeadReader()
    for _ in range(3):
        assert reader.read(CHECK) is not None
    assert len(reader._heads) == 1
    assert CHECK.count(old) == 1

    assert reader.read(CHECK.replace(old, new)) is None


def test_values_that_change_are_read_from_each_request_and_its_lines_keep_their_order():
    reader = HeadReader()
    for number in range(10):
        data = CHECK.replace(b"a=b", b"a=%d" % number).replace(b"203.0.113.9", b"203.0.113.%d" % number)
        read = reader.read(data)
        assert read == by_the_parser(data)
        assert list(read[3]) == list(by_the_parser(data)[3])

    assert len(reader._heads) == 1


def test_a_line_that_is_missing_or_stands_elsewhere_is_read_as_the_parser_reads_it():
    reader = HeadReader()
    cookie, url = b"Cookie: a=b; c=d\r\n", b"X-Original-URL: https://shop.example/a?b=c\r\n"
    without = CHECK.replace(cookie, b"")
    moved = without.replace(b"Host:", cookie + b"Host:")
    swapped = without.replace(url, cookie + url)
    for data in [CHECK, without, moved, swapped, VERIFY] * 40:
        read = reader.read(data)
        assert read == by_the_parser(data)
        assert list(read[3]) == list(by_the_parser(data)[3])

    assert len(reader._heads) >= 3


def test_a_name_with_many_values_is_taken_for_one_that_changes():
    reader = HeadReader()
    for number in range(MOST_VALUES + 10):
        data = CHECK[:-2] + b"X-Request-Id: %d\r\n\r\n" % number
        assert reader.read(data) == by_the_parser(data)

    kept = len(reader._lines), len(reader._heads)
    for number in range(1_000, 1_100):
        reader.read(CHECK[:-2] + b"X-Request-Id: %d\r\n\r\n" % number)
    assert (len(reader._lines), len(reader._heads)) == kept


def test_two_requests_at_once_and_a_part_of_one_are_left_to_the_parser():
    assert HeadReader().read(CHECK + CHECK) is None
    assert HeadReader().read(CHECK[:-1]) is None
    assert HeadReader().read(VERIFY[:-1]) is None
    assert HeadReader().read(VERIFY + b"x") is None


def test_what_is_remembered_is_bounded_and_holds_no_secret():
    reader = HeadReader()
    most_heads = 0
    for number in range(MOST_LINES + 10):
        assert reader.read(CHECK[:-2] + b"X-Other-%d: %d\r\n\r\n" % (number % 100, number)) is not None
    for number in range(MOST_HEADS + 10):
        two = b"X-One: %d\r\nX-Two: %d\r\n\r\n" % (number % 40, number // 40)
        for _ in range(2):
            assert reader.read(CHECK[:-2] + two) is not None
        most_heads = max(most_heads, len(reader._heads))
    reader.read(CHECK[:-2] + b"X-Long: " + b"x" * LONGEST_LINE + b"\r\n\r\n")

    assert len(reader._lines) <= MOST_LINES
    assert MOST_HEADS / 2 < most_heads <= MOST_HEADS
    kept = repr(vars(reader))
    assert "X-One: 3" in kept
    assert not any(secret in kept for secret in ("ags_x", "a=b; c=d", "https://shop.example", "xxxxx"))


def test_the_lines_that_are_cut_out_are_bounded():
    reader = HeadReader()
    for name in range(MOST_MARKS + 4):
        for number in range(MOST_VALUES + 30):
            data = CHECK[:-2] + b"X-%d: %d\r\n\r\n" % (name, number)
            assert reader.read(data) is not None
    many = CHECK[:-2] + b"".join(b"X-%d: y\r\n" % name for name in range(MOST_MARKS + 4)) + b"\r\n"

    assert len(reader._marks) == MOST_MARKS
    assert reader.read(many) == reader.read(many) == by_the_parser(many)
    assert len(reader._marks) <= MOST_MARKS


def guessing(data):
    """Return a reader that expects the head of this request to come next."""
    reader = HeadReader()
    for _ in range(PATTERN_FROM + 8):
        reader.read(data)
    assert reader._guess is not None
    return reader


@pytest.mark.parametrize("data", [CHECK, VERIFY])
def test_a_mutated_request_is_read_alike_where_its_head_was_expected(data):
    chance, guess, taken = random.Random(7), guessing(data), 0
    for _ in range(4_000):
        # What was learned from the attempt before may have made it unknown.
        for _ in range(GUESSED_FROM + 3):
            guess.read(data)
        if guess._guess is None:
            guess = guessing(data)
        attempt = mutated(chance, data)
        read = guess.read(attempt)
        if read is not None:
            taken += 1
            parsed = by_the_parser(attempt)
            assert read == parsed, attempt
            assert list(read[3]) == list(parsed[3]), attempt

    assert taken > 100


def test_an_expected_head_gives_its_values_as_any_known_head():
    guess = guessing(CHECK)
    expected = guess._guess
    other = CHECK.replace(b"a=b; c=d", b"e=f").replace(b"203.0.113.9", b"2001:db8::1")

    assert guess.look(other) == (
        expected,
        [b"Bearer ags_x", b"https://shop.example/a?b=c", b"2001:db8::1", b"e=f"],
        b"",
    )
    assert guess._guess is expected


def test_a_body_is_not_part_of_an_expected_head():
    guess, longer = guessing(VERIFY), VERIFY.replace(b'{"token":"x"}', b'{"token":"x"}\r\n\r\n').replace(b"13", b"17")
    expected = guess._guess

    assert guess.look(VERIFY) == (expected, [b"13"], b'{"token":"x"}')
    assert guess.look(longer) == (expected, [b"17"], b'{"token":"x"}\r\n\r\n')
    assert guess.read(longer) == by_the_parser(longer)


def test_a_head_that_comes_byte_for_byte_is_whole_all_the_same():
    empty = VERIFY.replace(b"13", b"0").removesuffix(b'{"token":"x"}')
    guess = guessing(empty)

    assert guess.look(empty) == (guess._guess, [b"0"], b"")
    # The rest of the last line, or another line, may still come.
    assert guess.look(empty.removesuffix(b"\r\n\r\n")) is None
    assert guess.look(empty.removesuffix(b"\r\n")) is None


def test_no_secret_of_a_head_is_remembered():
    called = VERIFY.replace(b"Content-Length", b"Authorization: Bearer ags_0\r\nContent-Length")
    guess = guessing(called)
    for number in range(PATTERN_FROM):
        data = called.replace(b"ags_0", b"ags_%d" % number)
        assert guess.look(data) == (guess._guess, [b"Bearer ags_%d" % number, b"13"], VERIFY[-13:])

    assert "ags_" not in repr(vars(guess))
    assert "ags_" not in repr([(head.fields, head._pieces) for head in guess._heads.values()])


def test_a_head_is_cut_anew_when_other_lines_change():
    called = VERIFY.replace(b"Content-Length", b"X-Tag: 1\r\nContent-Length")
    reader = guessing(called)
    assert reader.look(called)[1] == [b"13"]
    for number in range(MOST_VALUES + 2 * PATTERN_FROM):
        reader.read(called.replace(b"X-Tag: 1", b"X-Tag: %d" % number))

    known, values, _ = reader.look(called)
    assert dict(zip(known.names, values, strict=True)) == {b"x-tag": b"1", b"content-length": b"13"}


@pytest.mark.parametrize(
    "other",
    [
        CHECK + b"x",
        CHECK[:-1],
        CHECK.replace(b"Linux", b"Macos"),
        CHECK.replace(b"GET", b"PUT"),
        CHECK.replace(b"Cookie: a=b", b"Cookie: a\r\nCookie: b"),
        CHECK.replace(b"\r\nCookie: a=b; c=d", b""),
    ],
)
def test_whatever_differs_beside_the_values_is_no_expected_head(other):
    guess = guessing(CHECK)
    expected = guess._guess

    looked = guess.look(other)

    assert looked is None or looked[0] is not expected or looked[2]
    # Nor is the next one taken for it.
    assert guess._guess is None


def test_heads_that_come_by_turns_are_not_expected():
    reader, other = HeadReader(), CHECK.replace(b"*/*", b"text/html")
    for _ in range(2 * PATTERN_FROM):
        reader.read(CHECK)
        reader.read(other)

    assert len(reader._heads) == 2
    assert reader._guess is None
