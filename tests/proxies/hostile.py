"""Requests of a visitor who wants the check to fail, made from a seed. An open adapter lets a request pass then."""

import contextlib
import random
import socket
from typing import NamedTuple

NAMES = (
    *("Cookie", "Origin", "Content-Type", "Accept", "Authorization", "X-AgentGate-Token", "Signature", "Traceparent"),
    *("Signature-Input", "Signature-Agent", "Crawler-Max-Price", "Crawler-Exact-Price", "X-Forwarded-For", "X-JA4"),
    *("Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Expect", "Upgrade", "HTTP2-Settings", "Range"),
    *("Content-Length", "Transfer-Encoding", "Content-Encoding", "Content-Digest", "Accept-Language", "Via", "Host"),
    *("X-AgentGate-Request", "X-AgentGate-Secret", "X-Service-Denial", "X-Service-Decision", "X-Original-URL"),
    *("X-HTTP-Method-Override", "Forwarded", "X-Forwarded-Prefix", "X-Forwarded-Host", "X-Request-Id", "User-Agent"),
    *("If-None-Match", "If-Modified-Since", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Sec-CH-UA", "Referer", "Accept"),
    *("!#$%&'*+.^_`|~", "a", "X_Y", "X.Y", "x-envoy-expected-rq-timeout-ms", "x-envoy-upstream-alt-stat-name"),
    *("x-envoy-max-retries", "x-envoy-retry-on", "x-envoy-upstream-rq-timeout-ms", "grpc-timeout", "X-Accel-Expires"),
    *("x-envoy-force-trace", "x-envoy-auth-partial-body", "X-Http2-Stream-Id", "X-Accel-Redirect", "Max-Forwards"),
)
VALUES = (
    *(b"", b"a", b"/", b"\xff\xfe", b"caf\xe9", b"a, b", b'"', b"\t", b"a\tb"),
    *(b"x" * 3_000, b"x" * 9_000, b"x" * 20_000, b"/" + b"%25" * 900, b"a=b; " * 800, b"," * 500, b"(" * 300),
    *(b"gzip", b"100-continue", b"websocket", b"h2c", b"close", b"keep-alive", b"upgrade", b"trailers", b"chunked"),
    *(b"0", b"-1", b"1", b"99999999999999999999", b"0x10", b"1, 1", b"bytes=0-1", b"*", b"identity, chunked"),
    *(b"sig1=();created=1", b"sig1=:AAAA:", b'sig1=("@path" "@authority");created=1;keyid="x"', b"sig1=:AA", b"?1;a=("),
    *(b'"http://127.0.0.1:1/"', b"http://[::1", b"USD 1", b"Bearer x", b"PrivateToken token=AAAA", b"Basic !!"),
    *(b"__Host-agc=x", b"__Host-agc=" + b"A" * 400, b"multipart/form-data; boundary=", b"application/json", b"1e999"),
    *(b"X-AgentGate-Request, X-AgentGate-Secret, Host", b"Content-Length, Cookie", b"00-" + b"0" * 32 + b"-x-01"),
)
TARGETS = (
    *(b"/", b"/members", b"//", b"/%ff%fe", b"/%u0061", b"/..;/a", b"/a?_method=PUT", b"/\xff", b"/" + b"%2e/" * 999),
    *(b"/?" + b"q" * 8_000, b"/" + b"q" * 15_000, b"/?" + b"%" * 1_100, b"/a b", b"*", b"a", b"/#x", b"/\\", b"/%00"),
    *(b"http://shop.example/a", b"http://[::1/a", b"//x@y/a", b"/?" + b"q" * 31_000, b"/" + b"a/" * 4_000, b"/%zz"),
    *(b"/?d=block", b"/a?respond=visitor", b"/%0d%0aX:y", b"/\t", b"/.agentgate", b"/x/../.agentgate/../a"),
)
# Most proxies reject these themselves.
BROKEN = (b"\x00", b"a\x7fb", b"\x01", b"a\rb", b"a\nb")
METHODS = (
    b"GET",
    b"POST",
    b"HEAD",
    b"PUT",
    b"BREW",
    b"OPTIONS",
    b"TRACE",
    b"CONNECT",
    b"get",
    b"M" * 40,
    b"a!b",
    b"PRI",
)
HOSTS = (b"shop.example",) * 30 + (b"", b"a b", b"x/", b"shop.example:99999", b"[::1]", b"\xff", b"h" * 300, b"a,b")
BODIES = (b"", b"", b"a=b", b"x" * 5_000, b"x" * 70_000, b'{"a":' * 2_000, b"\x00" * 100)


class Hostile(NamedTuple):
    """A request as it is sent, and what the visitor does after it."""

    sent: bytes
    # The visitor never sends the rest of the body, and keeps the connection open.
    stalls: bool = False
    # The visitor closes the sending side at once.
    half_closes: bool = False


def make_hostile(number: int, seed: int = 1) -> Hostile:
    """Return the request of a number; always the same one for the same seed."""
    chance = random.Random(f"hostile {seed}:{number}")
    method = chance.choice(METHODS[:4] if chance.random() < 0.9 else METHODS)
    target = b"/members" if chance.random() < 0.6 else chance.choice(TARGETS)
    version = chance.choice((b"HTTP/1.1",) * 30 + (b"HTTP/1.0", b"HTTP/1.9", b"HTTP/2.0"))
    end = b"\n" if chance.random() < 0.03 else b"\r\n"
    lines = [b"%b %b %b" % (method, target, version), b"Host: %b" % chance.choice(HOSTS)]
    if chance.random() < 0.5:
        lines += [b"Accept: text/html", b"Sec-Fetch-Mode: navigate", b"Sec-Fetch-Dest: document"]
    for _ in range(chance.choice((0, 1, 2, 3, 5, 8))):
        values = VALUES if chance.random() < 0.97 else BROKEN
        lines.append(b"%b: %b" % (chance.choice(NAMES).encode(), chance.choice(values)))
    crowd = chance.random()
    if crowd < 0.08:
        count, size = chance.choice(
            ((60, 20), (99, 10), (127, 5), (140, 20), (30, 900), (36, 1_000), (3, 31_000), (9, 14_000))
        )
        lines += [b"X-%d: %b" % (at, b"v" * size) for at in range(count)]
    elif crowd < 0.12:
        lines.append(chance.choice((b" folded", b": no name", b"no colon", b"A : b", b"\x00: b", b"\xff: b")))
    body, stalls = chance.choice(BODIES), False
    if body:
        if chance.random() < 0.3:
            ended = chance.random() < 0.7
            lines.append(b"Transfer-Encoding: chunked")
            body = b"%x\r\n%b\r\n" % (len(body), body) + (
                b"0\r\n\r\n" if ended else chance.choice((b"", b"zz\r\n", b"-1\r\n"))
            )
            stalls = not ended
        else:
            missing = chance.choice((0, 0, 0, 0, 900))
            lines.append(b"Content-Length: %d" % (len(body) + missing))
            stalls = missing > 0
    return Hostile(end.join([*lines, b"", b""]) + body, stalls, chance.random() < 0.05)


def send_hostile(port: int, request: Hostile, address: str, wait_s: float = 5.0) -> int:
    """Send a request over a new connection; return the status of the first response, 0 if there is none."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait_s, source_address=(address, 0)) as connection:
        connection.settimeout(0.05 if request.stalls else wait_s)
        with contextlib.suppress(OSError):
            connection.sendall(request.sent)
            if request.half_closes:
                connection.shutdown(socket.SHUT_WR)
        got = b""
        with contextlib.suppress(OSError, TimeoutError):
            while b"\r\n" not in got or got.startswith(b"HTTP/1.1 1"):
                if got.startswith(b"HTTP/1.1 1") and got.partition(b"\r\n\r\n")[2]:
                    got = got.partition(b"\r\n\r\n")[2]
                    continue
                data = connection.recv(65_536)
                if not data:
                    break
                got += data
        return int(got[9:12]) if got[9:12].isdigit() else 0
