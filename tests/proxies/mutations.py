"""Requests for the same few pages, written in every way that some server might read as them. Made from a seed.

Half of them start from a protected route, half from a similar open page; each is changed a few times.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

# The protected routes in the site's settings; `readings.py` has the same list.
ROUTES = [
    {"method": "GET", "path": "/admin", "action": "login"},
    {"method": "GET", "pathPrefix": "/members/", "action": "login"},
    {"method": "POST", "path": "/login", "action": "login"},
    {"method": "DELETE", "pathPrefix": "/api/orders/", "action": "login"},
]
PROTECTED = [("GET", "/admin"), ("GET", "/members/1"), ("POST", "/login"), ("DELETE", "/api/orders/7")]
OPEN = [("GET", "/"), ("GET", "/open/page"), ("POST", "/search"), ("GET", "/administrator"), ("GET", "/login")]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", "Get", "pOST", "delete", "FOO", "TRACE"]


class Request(NamedTuple):
    """A request line and what goes with it."""

    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""


def make_request(number: int, seed: int = 1) -> Request:
    """Return the request of a number; always the same one for the same seed."""
    chance = random.Random(f"{seed}:{number}")
    method, path = chance.choice(PROTECTED if chance.random() < 0.6 else OPEN)
    target = path.encode()
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        target = chance.choice(CHANGES)(target, chance)
    if chance.random() < 0.25:
        target += chance.choice((b"?", b"?x=/admin", b"?a=%2e%2e/&b", b"?/../admin", b"?x=1?y"))
    headers, body = _headers(chance, method)
    if chance.random() < 0.15:
        method = chance.choice(METHODS)
    return Request(method, target[:2000] or b"/", headers, body)


def _headers(chance: random.Random, method: str) -> tuple[tuple[tuple[bytes, bytes], ...], bytes]:
    kinds = chance.random()
    if kinds > 0.3:
        return (), b"a=b" if method == "POST" else b""
    name, value = chance.choice(HEADERS)
    if chance.random() < 0.3:
        name = bytes(chance.choice((byte, byte ^ 0x20)) if chr(byte).isalpha() else byte for byte in name)
    return ((name, value),), b"a=b" if method == "POST" else b""


HEADERS = [
    (b"X-HTTP-Method-Override", b"GET"),
    (b"X-HTTP-Method-Override", b"delete"),
    (b"X-HTTP-Method", b"POST"),
    (b"X-Method-Override", b"DELETE"),
    (b"X-Original-URL", b"/open/page"),
    (b"X-Original-URL", b"/admin"),
    (b"X-Original-Url", b"https://shop.example/open/page"),
    (b"X_Original_URL", b"https://shop.example/open/page"),
    (b"X-Original-Method", b"GET"),
    (b"X-Original-Address", b"192.0.2.1"),
    (b"X-Original-URI", b"/admin"),
    (b"X-Rewrite-URL", b"/admin"),
    (b"X-Service-Decision", b"allow"),
    (b"X_Service_Decision", b"allow"),
    (b"X-AgentGate-Secret", b"ags_forged"),
    (b"Authorization", b"Bearer ags_forged"),
    (b"X-Forwarded-Uri", b"/open/page"),
    (b"X-Forwarded-Method", b"GET"),
    (b"Connection", b"close, X-Original-URL, X-Original-Method, X-Original-Address"),
    (b"Connection", b"keep-alive, Authorization, X-AgentGate-Secret"),
    (b"Content-Encoding", b"gzip"),
    (b"Cookie", b"a=b; agentgate=forged"),
    (b"Cookie", b"agentgate_clearance=forged"),
    (b"X-AgentGate-Token", b"forged"),
    (b"Signature", b"sig=:AAAA:"),
    (b"Range", b"bytes=0-10"),
    (b"Upgrade", b"websocket"),
    (b"Expect", b"100-continue"),
]

# Pieces that are put into a path, with spaces between.
DETOURS = (
    rb"/./ // /// /x/../ /x/y/../../ /%2e/ /x/%2e%2e/ /x/.%2E/ /x/..;/ /.;/ /x/%252e%252e/ /x\..\ /x/..%2f /x%2f..%2f "
    rb"/x/..%5c /../ /..// /.// /%c0%ae%c0%ae/ /x/%c0%ae%c0%ae/ /x/..%00/ /x/%2e%2e%3b/ /x/...// /%2e%2e/"
).split()
SLASHES = rb"%2f %2F %252f \ %5c %5C // %c0%af %e0%80%af %ef%bc%8f".split()
PARAMETERS = b"; ;a=b ;/ %3b %3Bx=y ;%2f.. ;a=/../".split()
ENDS = [
    *rb"/ // /. /.. /x/.. %00 %00.html %2500 %20 %09 %0a # #x %23 %23x %3f %3fx=1 %253f ; %2f \ %5c . % %2 %zz".split(),
    *b"%u0061 \xe9 \xc3\xa9 %e9 %ff %c3%a9 \x7f %0d%0aX-Y:%20z & @ ! ~".split(),
]
STARTS = (
    rb"/open/.. /open/../ // /%2f /\ \ /. /.. /%2e /%2e%2e /; /;x http://shop.example HTTP://SHOP.EXAMPLE "
    rb"https://shop.example:443 http://other.example //other.example //other.example/.. http: http://a@shop.example "
    rb"http://shop.example?x /open? /open# /open%3f/.. /open%23/.. /open;/.. * /%00"
).split()
STRANGE = [
    *rb"%00 %0a % %% %c0%80 %u002f %u0061 %e2%84%aa + %c1%a1 %f0%80%80%af ? # %3f %23 ; .. %2e \ | ^ < ".split(),
    *(b"\xc3", b"\x80", b"\t", b'"'),
]

Change = Callable[[bytes, random.Random], bytes]


def _place(target: bytes, chance: random.Random) -> int:
    return chance.randrange(1, len(target) + 1)


def _encode(target: bytes, chance: random.Random) -> bytes:
    """Write some characters as their percent escapes."""
    form = chance.choice((b"%%%02x", b"%%%02X"))
    share = chance.choice((0.1, 0.4, 1.0))
    return target[:1] + b"".join(
        form % byte if chance.random() < share and byte != 0x25 else bytes((byte,)) for byte in target[1:]
    )


def _encode_again(target: bytes, chance: random.Random) -> bytes:
    """Escape the escapes."""
    times = chance.choice((1, 1, 2, 3))
    made = target if b"%" in target else _encode(target, chance)
    for _ in range(times):
        made = made.replace(b"%", b"%25")
    return made


def _case(target: bytes, chance: random.Random) -> bytes:
    return bytes(byte ^ 0x20 if chr(byte).isalpha() and chance.random() < 0.5 else byte for byte in target)


def _dots(target: bytes, chance: random.Random) -> bytes:
    """Go somewhere and come back."""
    detour = chance.choice(DETOURS)
    places = [index for index, byte in enumerate(target) if byte == 0x2F]
    place = chance.choice(places) if places else 0
    return target[:place] + detour + target[place + 1 :]


def _slash(target: bytes, chance: random.Random) -> bytes:
    """Write a slash as something else."""
    other = chance.choice(SLASHES)
    if chance.random() < 0.5 or target.count(b"/") < 2:
        return target[:1] + target[1:].replace(b"/", other, 1) if target.count(b"/") > 1 else b"/" + other + target[1:]
    return target[:1] + target[1:].replace(b"/", other)


def _parameter(target: bytes, chance: random.Random) -> bytes:
    """Put a path parameter after a segment."""
    parameter = chance.choice(PARAMETERS)
    ends = [index for index, byte in enumerate(target) if byte == 0x2F and index] + [len(target)]
    place = chance.choice(ends)
    return target[:place] + parameter + target[place:]


def _end(target: bytes, chance: random.Random) -> bytes:
    return target + chance.choice(ENDS)


def _start(target: bytes, chance: random.Random) -> bytes:
    return chance.choice(STARTS) + target


def _strange(target: bytes, chance: random.Random) -> bytes:
    place = _place(target, chance)
    return target[:place] + chance.choice(STRANGE) + target[place:]


CHANGES: tuple[Change, ...] = (
    *(_encode, _encode, _encode_again, _case, _dots, _dots, _dots, _slash, _slash),
    *(_parameter, _end, _end, _start, _start, _strange),
)
