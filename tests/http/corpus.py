"""Malformed and hostile requests as data, so that they can be run against a listener alone and the whole service.

Each case is what one client sends on one connection. `statuses` are the allowed responses; closing is always allowed.
"""

from dataclasses import dataclass

HIDDEN = b"GET /v1/admin/hidden HTTP/1.1\r\nHost: gate.example\r\n\r\n"
REFUSED = frozenset({400, 414, 431})
# A well-formed request for a path that must lead nowhere: the response comes from the routing, not the guard.
NOWHERE = frozenset({400, 404, 405})


@dataclass(frozen=True, slots=True)
class Case:
    """Bytes to send, and the allowed statuses of the response."""

    name: str
    raw: bytes
    statuses: frozenset[int] = REFUSED


def request(target: bytes = b"/echo", *lines: bytes, method: bytes = b"GET", body: bytes = b"") -> bytes:
    """Return a request with a good Host and these further header lines."""
    head = (method + b" " + target + b" HTTP/1.1", b"Host: gate.example", *lines)
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def post(*lines: bytes, body: bytes = b"") -> bytes:
    """Return a POST with these header lines and this body, unchanged."""
    return request(b"/echo", *lines, method=b"POST", body=body)


def head(*lines: bytes) -> bytes:
    """Return exactly these lines as a request head."""
    return b"\r\n".join(lines) + b"\r\n\r\n"


CHUNKED = b"Transfer-Encoding: chunked"
LENGTH_5 = b"Content-Length: 5"
EMPTY_CHUNK = b"0\r\n\r\n"

LENGTHS = (
    Case("length then chunked", post(LENGTH_5, CHUNKED, body=EMPTY_CHUNK)),
    Case("chunked then length", post(CHUNKED, LENGTH_5, body=EMPTY_CHUNK)),
    Case("two equal lengths", post(LENGTH_5, LENGTH_5, body=b"hello")),
    Case("two different lengths", post(LENGTH_5, b"Content-Length: 0", body=b"hello")),
    Case("a list of lengths", post(b"Content-Length: 5, 5", body=b"hello")),
    Case("length with plus", post(b"Content-Length: +5", body=b"hello")),
    Case("length with minus", post(b"Content-Length: -5", body=b"hello")),
    Case("length in hexadecimal", post(b"Content-Length: 0x5", body=b"hello")),
    Case("length with a space inside", post(b"Content-Length: 5 5", body=b"hello")),
    Case("length with a space after it", post(b"Content-Length: 5 ", body=b"hello")),
    Case("empty length", post(b"Content-Length:", body=b"hello")),
    Case("length of forty digits", post(b"Content-Length: " + b"9" * 40, body=b"hello")),
    Case("space before the colon", post(b"Content-Length : 5", body=b"hello")),
    Case("length with upgrade", post(b"Connection: Upgrade", b"Upgrade: websocket", LENGTH_5, body=HIDDEN)),
    Case("chunked with upgrade", post(b"Connection: Upgrade", b"Upgrade: h2c", CHUNKED, body=HIDDEN)),
)

ENCODINGS = (
    Case("xchunked", post(b"Transfer-Encoding: xchunked", body=EMPTY_CHUNK)),
    Case("chunked, identity", post(b"Transfer-Encoding: chunked, identity", body=EMPTY_CHUNK)),
    Case("identity, chunked", post(b"Transfer-Encoding: identity, chunked", body=EMPTY_CHUNK)),
    Case("gzip, chunked", post(b"Transfer-Encoding: gzip, chunked", body=EMPTY_CHUNK)),
    Case("identity", post(b"Transfer-Encoding: identity", body=EMPTY_CHUNK)),
    Case("chunked with a space after it", post(b"Transfer-Encoding: chunked ", body=EMPTY_CHUNK)),
    Case("chunked with a tab after it", post(b"Transfer-Encoding: chunked\t", body=EMPTY_CHUNK)),
    Case("chunked in quotes", post(b'Transfer-Encoding: "chunked"', body=EMPTY_CHUNK)),
    Case("vertical tab before chunked", post(b"Transfer-Encoding: \x0bchunked", body=EMPTY_CHUNK)),
    Case("tab in the name", post(b"Transfer-Encoding\t: chunked", body=EMPTY_CHUNK)),
    Case("two transfer encodings", post(CHUNKED, CHUNKED, body=EMPTY_CHUNK)),
    Case("two different transfer encodings", post(CHUNKED, b"Transfer-Encoding: identity", body=EMPTY_CHUNK)),
    Case("chunked in HTTP/1.0", head(b"POST /echo HTTP/1.0", b"Host: gate.example", CHUNKED) + EMPTY_CHUNK),
    Case("a compressed body", post(b"Content-Encoding: gzip", LENGTH_5, body=b"hello")),
)

CHUNKS = (
    Case("chunk size is not a number", post(CHUNKED, body=b"zz\r\nhello\r\n0\r\n\r\n")),
    Case("chunk size is negative", post(CHUNKED, body=b"-5\r\nhello\r\n0\r\n\r\n")),
    Case("chunk size with prefix", post(CHUNKED, body=b"0x5\r\nhello\r\n0\r\n\r\n")),
    Case("chunk size overflows", post(CHUNKED, body=b"ffffffffffffffffff\r\nhello\r\n0\r\n\r\n")),
    Case("chunk size with a space after it", post(CHUNKED, body=b"5 \r\nhello\r\n0\r\n\r\n")),
    Case("chunk longer than it says", post(CHUNKED, body=b"3\r\nhello\r\n0\r\n\r\n")),
    Case("chunk size ends in bare LF", post(CHUNKED, body=b"5\nhello\r\n0\r\n\r\n")),
    Case("chunk ends in bare LF", post(CHUNKED, body=b"5\r\nhello\n0\r\n\r\n")),
    Case("endless chunk extension", post(CHUNKED, body=b"5;" + b"x" * 70_000)),
    Case("endless trailer", post(CHUNKED, body=b"0\r\nX-Trailer: " + b"x" * 140_000)),
)

LINES = (
    Case("bare LF everywhere", b"GET /echo HTTP/1.1\nHost: gate.example\n\n"),
    Case("bare LF after a header", b"GET /echo HTTP/1.1\r\nHost: gate.example\nX-A: b\r\n\r\n"),
    Case("folded header", request(b"/echo", b"X-A: b\r\n c")),
    Case("header line begins with a space", request(b"/echo", b" X-A: b")),
    Case("bare CR in a value", request(b"/echo", b"X-A: b\rX-Admin-Key: c")),
    Case("NUL in a value", request(b"/echo", b"X-A: b\x00c")),
    Case("NUL in a name", request(b"/echo", b"X-\x00A: b")),
    Case("control byte in a value", request(b"/echo", b"X-A: b\x01c")),
    Case("DEL in a value", request(b"/echo", b"X-A: b\x7fc")),
    Case("header without a colon", request(b"/echo", b"X-A")),
    Case("header without a name", request(b"/echo", b": b")),
    Case("space in a name", request(b"/echo", b"X A: b")),
    Case("name outside ASCII", request(b"/echo", b"X-\xc3\xa9: b")),
)

HOSTS = (
    Case("no host", head(b"GET /echo HTTP/1.1")),
    Case("no host in HTTP/1.0", head(b"GET /echo HTTP/1.0")),
    Case("two hosts", request(b"/echo", b"Host: admin.example")),
    Case("the same host twice", request(b"/echo", b"hOST: gate.example")),
    Case("empty host", head(b"GET /echo HTTP/1.1", b"Host:")),
    Case("host with user", head(b"GET /echo HTTP/1.1", b"Host: admin@gate.example")),
    Case("host with a space", head(b"GET /echo HTTP/1.1", b"Host: gate.example admin.example")),
    Case("host with a comma", head(b"GET /echo HTTP/1.1", b"Host: gate.example,admin.example")),
    Case("host with a path", head(b"GET /echo HTTP/1.1", b"Host: gate.example/v1/admin")),
    Case("host with a bad port", head(b"GET /echo HTTP/1.1", b"Host: gate.example:8o")),
    Case("host with a bad address", head(b"GET /echo HTTP/1.1", b"Host: [::zz]")),
    Case("host outside ASCII", head(b"GET /echo HTTP/1.1", b"Host: g\xc3\xa4te.example")),
)

TARGETS = (
    Case("absolute form", request(b"http://evil/v1/admin/x")),
    Case("absolute form of our own host", request(b"http://gate.example/v1/admin/x")),
    Case("authority form", request(b"gate.example:443", method=b"CONNECT"), NOWHERE | REFUSED),
    Case("GET with authority form", request(b"gate.example:443")),
    Case("asterisk", request(b"*", method=b"OPTIONS")),
    Case("fragment", request(b"/echo#/v1/admin/x")),
    Case("fragment in the query", request(b"/echo?a#b")),
    Case("encoded slash", request(b"/v1%2fadmin/sites"), NOWHERE),
    Case("encoded letter", request(b"/v1/%61dmin/sites"), NOWHERE),
    Case("encoded dots", request(b"/x/%2e%2e/v1/admin/sites"), NOWHERE),
    Case("double encoding", request(b"/v1%252fadmin/sites"), NOWHERE),
    Case("two slashes", request(b"//v1/admin/sites"), NOWHERE),
    Case("dot segment", request(b"/./v1/admin/sites"), NOWHERE),
    Case("two dots", request(b"/x/../v1/admin/sites"), NOWHERE),
    Case("semicolon", request(b"/;/v1/admin/sites"), NOWHERE),
    Case("semicolon after a segment", request(b"/v1;a/admin/sites"), NOWHERE),
    Case("backslash", request(b"\\v1\\admin\\sites")),
    Case("target outside ASCII", request(b"/\xc3\xa9")),
    Case("control byte in the target", request(b"/echo\x01")),
    Case("tab in the target", request(b"/echo\t/x")),
    Case("space in the target", request(b"/echo /x")),
    Case("no target", head(b"GET HTTP/1.1", b"Host: gate.example")),
)

SIZES = (
    Case("header of 140 kB", request(b"/echo", b"X-A: " + b"a" * 140_000)),
    Case("header of 41 kB", request(b"/echo", b"X-A: " + b"a" * 41_000)),
    Case("name of 70 kB", request(b"/echo", b"a" * 70_000 + b": b")),
    Case("2,000 headers", request(b"/echo", *(b"X-%d: a" % number for number in range(2000)))),
    Case("2,000 times the same header", request(b"/echo", *([b"X-A: a"] * 2000))),
    Case("129 headers", request(b"/echo", *(b"X-%d: a" % number for number in range(128)))),
    Case("request line of 100 kB", request(b"/" + b"a" * 100_000)),
    Case("target of 34 kB", request(b"/" + b"a" * 34_000)),
)

PROTOCOLS = (
    Case("unknown method", request(method=b"BREW")),
    Case("WebDAV method", request(method=b"PROPFIND")),
    Case("TRACE", request(method=b"TRACE"), NOWHERE),
    Case("method in lower case", request(method=b"get")),
    Case("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
    Case("HTTP/0.9", b"GET /echo\r\n\r\n"),
    Case("HTTP/2.0", head(b"GET /echo HTTP/2.0", b"Host: gate.example")),
    Case("HTTP/3.0", head(b"GET /echo HTTP/3.0", b"Host: gate.example")),
    Case("HTTP/1.10", head(b"GET /echo HTTP/1.10", b"Host: gate.example")),
    Case("http in lower case", head(b"GET /echo http/1.1", b"Host: gate.example")),
    Case("garbage", bytes(range(128, 256)) * 8),
    Case("NUL bytes", b"\x00" * 512),
    Case("TLS ClientHello", bytes.fromhex("16030100c8010000c40303") + b"\x5a" * 189),
    Case("only line ends", b"\r\n" * 64 + b"\x00"),
)

HEADERS = (
    Case("X_Original_Uri", request(b"/echo", b"X_Original_Uri: /v1/admin/x")),
    Case("X-Original_Uri", request(b"/echo", b"X-Original_Uri: /v1/admin/x")),
    Case("X_Forwarded_For", request(b"/echo", b"X_Forwarded_For: 192.0.2.1")),
    Case("X_Service_Decision", request(b"/echo", b"X_Service_Decision: allow")),
    Case("X_Admin_Key", request(b"/echo", b"X_Admin_Key: a")),
    Case("Content_Length", post(b"Content_Length: 5", body=HIDDEN)),
    Case("Transfer_Encoding", post(b"Transfer_Encoding: chunked", body=HIDDEN)),
    Case("two authorizations", request(b"/echo", b"Authorization: Bearer a", b"authorization: Bearer b")),
    Case("two admin keys", request(b"/echo", b"X-Admin-Key: a", b"X-Admin-Key: b")),
    Case("two cookies", request(b"/echo", b"Cookie: a=b", b"Cookie: a=c")),
    Case("two origins", request(b"/echo", b"Origin: https://a.example", b"Origin: https://b.example")),
    Case("two original URIs", request(b"/echo", b"X-Original-URI: /a", b"X-Original-URI: /b")),
    Case("two content types", post(b"Content-Type: a/b", b"Content-Type: c/d", LENGTH_5, body=b"hello")),
)

CASES: tuple[Case, ...] = (
    *LENGTHS,
    *ENCODINGS,
    *CHUNKS,
    *LINES,
    *HOSTS,
    *TARGETS,
    *SIZES,
    *PROTOCOLS,
    *HEADERS,
)
