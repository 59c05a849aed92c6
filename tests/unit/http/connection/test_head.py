"""The cut of a head, plain and compiled: the same for both, and never what the parser would read differently."""

import random
import time

import httptools
import pytest

from agentgate.http.connection import head
from agentgate.http.connection.head import cut_plainly, lines_plainly, read_length, split
from agentgate.http.connection.head_names import GIVEN, KEPT, LONGEST_HEAD

USUAL = (
    b"GET /v1/gateway/check?ok=200 HTTP/1.1\r\nHost: gate.example\r\nAuthorization: Bearer ags_x\r\n"
    b"X-Original-URL: https://a.example/b?c\r\nX-Original-Address: 203.0.113.7\r\nX-Original-Method: GET\r\n"
    b"User-Agent: Mozilla/5.0 (X11; Linux)\r\nAccept: */*\r\nCookie: a=b; c=d\r\nReferer: https://a.example/\r\n"
    b'If-None-Match: "abc"\r\nsec-ch-ua: "Chromium";v="120"\r\n\r\n'
)
PIECES = (
    b"\r\n",
    b"\r",
    b"\n",
    b" ",
    b"\t",
    b":",
    b": ",
    b"\0",
    b"\x7f",
    b"\xe9",
    b"_",
    b"GET ",
    b"HTTP/1.1",
    b"/",
    b"\r\n\r\n",
)


def bodies():
    """Return the function in plain Python, and the compiled one where it was built."""
    return [cut_plainly, head.cut] if head.IS_COMPILED else [cut_plainly]


@pytest.mark.parametrize("cut", bodies())
def test_a_usual_head_is_cut(cut):
    key, authorization, secret, url, address, line, cookie, request_id, trace, user_agent, languages = cut(USUAL)

    assert (authorization, url, address) == (b"Bearer ags_x", b"https://a.example/b?c", b"203.0.113.7")
    assert (secret, line, cookie, request_id, trace) == (None, None, b"a=b; c=d", None, None)
    assert (user_agent, languages) == (b"Mozilla/5.0 (X11; Linux)", None)
    assert key.split(b"\r\n") == [
        b"GET /v1/gateway/check?ok=200 HTTP/1.1",
        b"Host: gate.example",
        b"Authorization",
        b"X-Original-URL",
        b"X-Original-Address",
        b"X-Original-Method: GET",
        b"User-Agent",
        b"Accept: */*",
        b"Cookie",
        b"Referer",
        b"If-None-Match",
        b'sec-ch-ua: "Chromium";v="120"',
    ]


@pytest.mark.parametrize("cut", bodies())
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        USUAL[:-1],
        USUAL + b"x",
        USUAL + USUAL,
        USUAL.replace(b"GET ", b"HEAD ", 1),
        USUAL.replace(b"GET /", b"GET http://x/", 1),
        USUAL.replace(b"HTTP/1.1", b"HTTP/1.0", 1),
        USUAL.replace(b"?ok", b" ok", 1),
        USUAL.replace(b"Cookie: ", b"Cookie:  "),
        USUAL.replace(b"Cookie: ", b"Cookie:"),
        USUAL.replace(b"Cookie: ", b"Cookie:\t"),
        USUAL.replace(b"Cookie: ", b"Cookie : "),
        USUAL.replace(b"Cookie: ", b" Cookie: "),
        USUAL.replace(b"c=d\r\n", b"c=d \r\n"),
        USUAL.replace(b"a=b; c=d", b""),
        USUAL.replace(b"Referer", b"Ref_erer"),
        USUAL.replace(b"Referer", b""),
        USUAL.replace(b"Referer", b"cookie"),
        USUAL.replace(b"Referer", b"X-ORIGINAL-URL"),
        USUAL.replace(b"Referer: ", b"Referer"),
        USUAL.replace(b"/b?c", b"/b\xe9"),
        USUAL.replace(b"/b?c", b"/b\x7f"),
        USUAL.replace(b"/b?c", b"/b\n"),
        USUAL.replace(b"/b?c", b"/b\r"),
        USUAL.replace(b"abc", b"a" * LONGEST_HEAD),
    ],
)
def test_what_is_no_whole_plain_head_is_left_to_the_parser(cut, data):
    assert cut(data) is None


@pytest.mark.parametrize("cut", bodies())
def test_a_value_has_only_printable_bytes_wherever_they_are(cut):
    whole = b"GET / HTTP/1.1\r\nReferer: x%bx\r\n\r\n"
    for place in range(20):
        for byte in range(256):
            data = whole % (b"y" * place + bytes((byte,)) + b"y" * (19 - place))

            assert (cut(data) is not None) == (0x20 <= byte < 0x7F), data


@pytest.mark.parametrize("name", KEPT)
def test_a_value_that_is_read_tells_two_heads_apart(name):
    first, second = (USUAL[:-2] + b"%b: %b\r\n\r\n" % (name.title(), value) for value in (b"1", b"2"))

    for cut in bodies():
        assert cut(first)[0] != cut(second)[0]


@pytest.mark.parametrize("name", [*GIVEN, b"if-none-match", b"referer", b"x-anything"])
def test_a_value_that_is_not_read_does_not(name):
    plain = b"GET / HTTP/1.1\r\nHost: x\r\n%b: %b\r\n\r\n"

    for cut in bodies():
        assert cut(plain % (name, b"1"))[0] == cut(plain % (name, b"2"))[0]


class _Parsed:
    """The parser's result for a message."""

    def __init__(self, data):
        self.lines, self.ends = [], 0
        parser = httptools.HttpRequestParser(self)
        parser.feed_data(data)
        self.method = parser.get_method()

    def on_header(self, name, value):
        self.lines.append((name, value))

    def on_message_complete(self):
        self.ends += 1


def mutated(chance, data=USUAL):
    """Return a head with a few bytes put in, taken out, doubled or changed."""
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        at, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        end = min(end, at + chance.choice((0, 1, 4, 40)))
        piece = chance.choice((*PIECES, data[at:end], data[at:end].swapcase(), bytes([chance.randrange(256)])))
        data = data[:at] + piece + data[end:]
    return data


def test_both_bodies_give_the_same_and_what_the_parser_gives():
    chance, taken = random.Random(27), 0
    for _ in range(20_000):
        data = mutated(chance)
        found = cut_plainly(data)
        assert head.cut(data) == found, data
        if found is None:
            continue
        taken += 1
        parsed = _Parsed(data)
        assert (parsed.ends, parsed.method) == (1, b"GET"), data
        assert head.lines(data) == lines_plainly(data), data
        fields = split(data)
        if fields is not None:
            assert list(fields.items()) == [(name.lower(), value) for name, value in parsed.lines]
            assert [fields.get(name) for name in GIVEN] == list(found[1:])

    assert taken > 2_000


def test_repeated_names_are_left_to_the_parser():
    assert split(USUAL.replace(b"Referer", b"accept")) is None
    assert split(USUAL) is not None


POST = (
    b"POST /v1/siteverify HTTP/1.1\r\nHost: gate.example\r\nAuthorization: Bearer ags_x\r\n"
    b"Content-Type: application/json\r\nUser-Agent: shop/1\r\nAccept: */*\r\n"
    b"Connection: keep-alive\r\nContent-Length: 7\r\n\r\n"
)


@pytest.mark.parametrize("cut", bodies())
def test_the_head_of_a_post_is_cut_and_shows_how_long_its_body_is(cut):
    assert cut(POST)[1] == b"Bearer ags_x"
    assert cut(POST.replace(b"POST /", b"POST  /")) is None
    assert read_length(POST) == 7


@pytest.mark.parametrize(
    "data",
    [
        POST.replace(b"keep-alive", b"close"),
        POST.replace(b"keep-alive", b"upgrade"),
        POST.replace(b"Content-Length: 7\r\n", b""),
        POST.replace(b": 7", b": -7"),
        POST.replace(b": 7", b": 7, 7"),
        POST.replace(b"Accept: */*", b"Content-Length: 7"),
        POST.replace(b"Accept: */*", b"Transfer-Encoding: chunked"),
        POST.replace(b"Accept: */*", b"Expect: 100-continue"),
        POST.replace(b"Accept: */*", b"Upgrade: h2c"),
        POST.replace(b"Accept: */*", b"Content-Encoding: gzip"),
        POST.replace(b"Host: gate.example\r\n", b""),
        POST.replace(b"gate.example", b"gate.example, x"),
        POST.replace(b"/v1", b"/#v1"),
    ],
)
def test_another_post_is_left_to_the_parser(data):
    assert cut_plainly(data) is not None
    assert read_length(data) == 0


@pytest.mark.parametrize(
    "pieces",
    [
        (b"a" * 65_536,),
        (b"a: b" + b" " * 65_536,),
        (b"a: " + b"b " * 32_768,),
        (b"a: b\r\n" * 10_000, b"a: b "),
        (b"a: b b b b b b\r\n" * 4_000, b"a: b "),
        (b"accept: a\r\n" * 6_000, b"a"),
        (b"cookie: a\r\n" * 6_000, b"cookie:" + b" " * 10_000),
    ],
)
def test_the_plain_cut_takes_linear_time(pieces):
    data = b"GET / HTTP/1.1\r\n" + b"".join(pieces) + b"\r\n\r\n"

    started = time.process_time()
    assert head._WHOLE.fullmatch(data) is None
    for pattern in (head._UNREAD, head._GIVEN, head._LINE):
        pattern.findall(data)

    # It takes about 10 ms. In quadratic time it would take minutes.
    assert time.process_time() - started < 1.0


def test_each_value_that_is_read_of_a_post_is_read_by_the_parser_too():
    chance, taken = random.Random(28), 0
    for _ in range(20_000):
        data = mutated(chance, POST)
        found = cut_plainly(data)
        assert head.cut(data) == found, data
        length = read_length(data) if found is not None else 0
        if not length:
            continue
        taken += 1
        parsed = _Parsed(data + b"x" * length)
        assert (parsed.ends, parsed.method) == (1, b"POST"), data
        assert list(split(data).items()) == [(name.lower(), value) for name, value in parsed.lines], data

    assert taken > 2_000
