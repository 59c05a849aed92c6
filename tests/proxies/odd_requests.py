"""Odd requests for the handlers of `tests/upstreams`, made from a seed: paths, methods, overrides and forms."""

import random

from tests.proxies.mutations import CHANGES, Request
from tests.support.odd_spellings import odd_spelling
from tests.upstreams.handlers import HANDLERS

OVERRIDES = (b"X-HTTP-Method-Override", b"X-HTTP-Method", b"X-Method-Override")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "FOO", "get", "Post", "QUERY")
OVERRIDDEN = (
    b"GET",
    b"POST",
    b"DELETE",
    b"delete",
    b"FOO",
    b"",
    b"PUT, DELETE",
    b" DELETE",
    b"DELETE;x",
    b"P\xc3\x96ST",
)
QUERIES = (
    *(b"?_method=DELETE", b"?%5fmethod=DELETE", b"?a;_method=DELETE", b"?_method[]=DELETE", b"?_METHOD=delete"),
    *(b"?x=1&_method=%44ELETE", b"?.method=DELETE", b"?_method=FOO", b"?x=/pay", b"?", b"?x=1"),
)
FORMS = (b"_method=DELETE", b"_method=delete&a=b", b"a=b&%5Fmethod=DELETE", b"a=b", b"_method=PUT")
FORM_TYPES = (
    *(b"application/x-www-form-urlencoded", b"application/x-www-form-urlencoded; charset=utf-8", b"", b"text/plain"),
    b"Application/X-WWW-Form-UrlEncoded",
)
# Forms with an unusual part or media type. The type contains a boundary.
BOUNDARY = b"multipart/form-data; boundary=x"
PARTS = (
    b'--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n',
)
# Headers in which a visitor can claim a different target. Some frameworks run the claimed target.
TARGET_HEADERS = (
    *(b"X-Original-URL", b"X-Rewrite-URL", b"X-Original-Uri", b"X-Forwarded-Uri", b"X-Forwarded-Prefix"),
    *(b"X_Original_URL", b"x-rewrite-url", b"X-Forwarded-Path"),
)


def make_odd_request(number: int, seed: int = 1) -> Request:
    """Return the request of a number; always the same one for the same seed."""
    chance = random.Random(f"odd {seed}:{number}")
    _, method, path = chance.choice(HANDLERS)
    if chance.random() < 0.5 and path != "/":
        target = odd_spelling(chance, path)
    else:
        target = path.encode()
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            target = chance.choice(CHANGES)(target, chance)
    headers: list[tuple[bytes, bytes]] = []
    body = b""
    if chance.random() < 0.15:
        method = chance.choice(METHODS)
    if chance.random() < 0.2:
        headers.append((chance.choice(OVERRIDES), chance.choice(OVERRIDDEN)))
        method = chance.choice((method, "POST"))
    if chance.random() < 0.15:
        target = target.partition(b"?")[0] + chance.choice(QUERIES)
        method = chance.choice((method, "POST"))
    if chance.random() < 0.1:
        headers.append((chance.choice(TARGET_HEADERS), chance.choice(HANDLERS).path.encode()))
    if method == "POST" and chance.random() < 0.3:
        body = chance.choice(PARTS)
        headers.append((b"Content-Type", chance.choice((BOUNDARY, BOUNDARY.upper().replace(b"=X", b"=x")))))
    elif method == "POST":
        body = chance.choice(FORMS)
        content_type = chance.choice(FORM_TYPES)
        headers += [(b"Content-Type", content_type)] if content_type else []
    if chance.random() < 0.05:
        target = chance.choice((b"http://shop.example", b"HTTP://shop.example:80", b"https://x@shop.example")) + target
    # A request line ends at a blank, and a message at a line end: what has them is another request than the one meant.
    target = target.replace(b" ", b"%20").replace(b"\t", b"%09").replace(b"\n", b"%0a").replace(b"\r", b"%0d")
    return Request(method, target[:2000] or b"/", tuple(headers), body)
