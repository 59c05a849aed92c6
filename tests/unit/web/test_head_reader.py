"""The quick reader gives what parser and guard give, or leaves the request to them. Never anything else."""

import random

import httptools
import pytest

from agentgate.web.head_reader import LONGEST_LINE, MOST_LINES, HeadReader
from agentgate.web.request_guard import judge_head

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
        attempt = mutated(chance, data)
        read = reader.read(attempt)
        if read is not None:
            taken += 1
            assert read == by_the_parser(attempt), attempt

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


def test_two_requests_at_once_and_a_part_of_one_are_left_to_the_parser():
    assert HeadReader().read(CHECK + CHECK) is None
    assert HeadReader().read(CHECK[:-1]) is None
    assert HeadReader().read(VERIFY[:-1]) is None
    assert HeadReader().read(VERIFY + b"x") is None


def test_what_is_remembered_is_bounded_and_holds_no_secret():
    reader = HeadReader()
    for number in range(MOST_LINES + 10):
        assert reader.read(CHECK[:-2] + b"X-Other: %d\r\n\r\n" % number) is not None
    reader.read(CHECK[:-2] + b"X-Long: " + b"x" * LONGEST_LINE + b"\r\n\r\n")

    kept = reader._lines
    assert len(kept) <= MOST_LINES
    assert not any(line.startswith((b"Authorization", b"Cookie", b"X-Long")) for line in kept)
