"""Calls that are not parsed: headers are checked once, and give no access that they would not give when parsed."""

import gc
import json
import random
import socket
import time
from urllib.parse import urlsplit

import pytest

from agentgate.browser_check.tokens.fast_siteverify import FastSiteverify
from tests.api.public.shop import SITES, SITEVERIFY, ask_whole, open_shop

OK = (200, None)
REFUSED = (401, "invalid_credential")


@pytest.fixture
def shop(service):
    made = open_shop(service)
    await_refresh(service)
    return made


def await_refresh(service):
    """Wait until the service has read its own change; until then calls wait on the ASGI path."""
    service.run(service.application.refresher.sites.await_refresh())


@pytest.fixture
def parsed(monkeypatch):
    """Return a list of the calls that the parser had to read."""
    calls, read = [], FastSiteverify.__call__
    monkeypatch.setattr(FastSiteverify, "__call__", lambda self, request: calls.append(request) or read(self, request))
    return calls


def bearer(secret):
    return f"Authorization: Bearer {secret}"


def call(shop, *lines, body=None, path=SITEVERIFY, length=None, **fields):
    """Return a call in one piece, with these lines in its head and these fields in its body."""
    payload = json.dumps({"token": shop.token(), "expectedAction": "login"} | fields).encode() if body is None else body
    length = len(payload) if length is None else length
    head = [f"POST {path} HTTP/1.1", "Host: gate.example", *lines, f"Content-Length: {length}", "", ""]
    return "\r\n".join(head).encode() + payload


def ask(service, *requests):
    return read(*ask_whole(service, *requests))


def read(head, body):
    """Return status and error of a response, whatever follows it."""
    fields, _ = json.JSONDecoder().raw_decode(body.decode())
    return int(head.split(b" ")[1]), fields.get("error")


def ask_in_pieces(service, *pieces, pause_s=0.05):
    address = urlsplit(service.public_url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause_s)
        head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
    return read(head, body)


def test_a_call_in_one_piece_is_not_parsed(shop, service, parsed):
    mine = bearer(shop.secret)

    assert ask(service, *(call(shop, mine) for _ in range(3))) == OK
    assert ask(service, call(shop, mine, "Connection: Keep-Alive", "User-Agent: shop/1", "Accept: */*")) == OK
    assert ask(service, call(shop, secret=shop.secret)) == OK
    assert ask(service, call(shop, mine, secret=shop.secret)) == OK
    assert ask(service, call(shop, bearer("ags_x"))) == REFUSED
    assert parsed == []


def test_a_call_is_not_parsed_however_its_body_comes(shop, service, parsed):
    for _ in range(2):
        whole = call(shop, bearer(shop.secret))
        body = whole.index(b"{")
        assert ask_in_pieces(service, whole[:body], whole[body:]) == OK
        whole = call(shop, bearer(shop.secret))
        assert ask_in_pieces(service, whole[: body + 5], whole[body + 5 : -1], whole[-1:]) == OK
    assert parsed == []


@pytest.mark.parametrize(("line", "answer"), [("Expect: 100-continue", b" 100 "), ("Host: b.example", b" 400 ")])
def test_a_head_that_only_the_parser_may_read_is_handled_before_its_body_comes(shop, service, line, answer):
    head = call(shop, bearer(shop.secret), line, body=b"", length=10)
    assert answer in ask_whole(service, head)[0]


LINES = (
    "Accept: */*", "Connection: keep-alive", "Connection: close", "Content-Encoding: gzip", "Content-Length: 5",
    "Content-Type: application/json", "Host: another.example", "Keep-Alive: timeout=5", "TE: trailers",
    "Transfer-Encoding: chunked", "Upgrade: h2c", "X-Plain: 1", "X-Request-Id: 1234", "X-Tab:\tv", "X_Odd: 1",
)  # fmt: skip


def test_whatever_comes_in_whatever_pieces_is_handled_as_by_the_parser(shop, service):
    for seed in range(200):
        pieces, parsed = odd_call(shop, random.Random(seed))
        assert ask_in_pieces(service, *pieces, pause_s=0.002) == ask(service, parsed), seed


def odd_call(shop, rng):
    """Return a call in pieces, more or less valid, and the same in one piece and such that it is parsed."""
    lines = [bearer(rng.choice([shop.secret, "ags_x"])), *rng.sample(LINES, rng.randint(0, 3))]
    rng.shuffle(lines)
    body = rng.choice([b'{"token": "x", "expectedAction": "login"}', b"{}", b"nothing", b'{"token": 1}' + b" " * 5000])
    whole = call(shop, *lines, body=body, length=len(body) - rng.choice([0, 0, 0, 1]))
    if rng.random() < 0.2:
        place = rng.randrange(len(whole) - len(body) - 4)
        whole = whole[:place] + rng.choice([b"\r", b"\n", b" ", b"\0", b"\xff", b":"]) + whole[place:]
    cuts = sorted({whole.find(b"\r\n\r\n") + 4, *rng.sample(range(1, len(whole)), rng.randint(0, 3))})
    # This header has no meaning, and only the parser accepts it.
    parsed = whole.replace(b"\r\n", b"\r\nX-Empty:\r\n", 1)
    pieces = [whole[start:end] for start, end in zip((0, *cuts), (*cuts, len(whole)), strict=True)]
    return [each for each in pieces if each], parsed


def test_values_that_no_one_reads_make_no_other_head(shop, service, parsed):
    mine, before = bearer(shop.secret), len(kept())
    for number in range(10):
        assert ask(service, call(shop, mine, f"X-Request-Id: {number:032x}")) == OK
    assert (len(kept()), parsed) == (before + 1, [])


def test_what_is_not_plain_is_parsed_and_handled_anyway(shop, service, parsed):
    mine = bearer(shop.secret)
    calls = [
        call(shop, "Authorization:  Bearer " + shop.secret),
        call(shop, mine, "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        call(shop, mine, "Connection: close"),
        call(shop, mine, "X-Empty:"),
        call(shop, mine, "Accept: a", "Accept: b"),
    ]

    assert [ask(service, each) for each in calls] == [OK] * len(calls)
    assert len(parsed) == len(calls)


def test_a_body_that_is_longer_or_shorter_than_the_head_shows_is_left_to_the_parser(shop, service, parsed):
    mine = bearer(shop.secret)
    both = call(shop, mine), call(shop, mine)
    assert ask(service, both[0]) == OK
    assert parsed == []

    # Two calls in one piece: the second follows the first.
    assert ask(service, call(shop, mine) + both[1]) == OK
    assert len(parsed) == 2


def test_a_body_ends_where_its_head_shows_though_the_object_ended_before(shop, service):
    def padded():
        fields = {"token": shop.token(), "expectedAction": "login"}
        return call(shop, bearer(shop.secret), body=json.dumps(fields).encode() + b"  ")

    assert ask(service, padded()) == OK
    address, again, received = urlsplit(service.public_url), padded(), b""
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(again[:-2])
        time.sleep(0.1)
        connection.sendall(again[-2:] + padded())
        while received.count(b"HTTP/1.1 200 OK") < 2:
            received += (more := connection.recv(65536))
            assert more, received


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("Host: another.example", 400),
        ("Transfer-Encoding: chunked", 400),
        ("Content-Length: 5", 400),
        ("X_Forwarded_For: 203.0.113.9", 400),
        ("Content-Encoding: gzip", 400),
    ],
)
def test_what_the_parser_rejects_is_rejected_also_after_a_good_head(shop, service, line, status):
    assert ask(service, call(shop, bearer(shop.secret))) == OK
    assert ask(service, call(shop, bearer(shop.secret), line))[0] == status


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b"Accept: */*\r\nContent-Encoding: identity", b"Accept: */*\r\nContent-Encoding: gzip"),
        (b"Host: gate.example", b"Host: gate.example, x"),
    ],
)
def test_a_value_that_is_rejected_is_rejected_also_after_a_good_one(shop, service, good, bad):
    def with_line(line):
        plain = b"Host: gate.example" if line.startswith(b"Host") else b"Accept: */*"
        return call(shop, bearer(shop.secret), "Accept: */*").replace(plain, line)

    assert ask(service, with_line(good), with_line(good)) == OK
    assert ask(service, with_line(bad))[0] == 400


def test_a_revoked_secret_stops_at_once_though_its_head_is_known(shop, service, parsed):
    made = service.operator.post(f"{SITES}/{shop.site_key}/credentials").json()
    await_refresh(service)
    known = bearer(made["secret"])
    assert ask(service, call(shop, known), call(shop, known)) == OK
    assert parsed == []

    revoke = f"{SITES}/{shop.site_key}/credentials/{made['credential']['id']}/revoke"
    assert service.operator.post(revoke).status_code == 200

    assert ask(service, call(shop, known)) == REFUSED


def test_a_rotated_secret_stops_at_the_end_of_its_overlap_though_its_head_is_known(shop, service):
    old = bearer(shop.secret)
    shop.rotate(60)
    assert ask(service, call(shop, old), call(shop, old)) == OK

    service.clock.advance(seconds=60)

    assert ask(service, call(shop, old)) == REFUSED


def kept():
    """Return the keys of heads that were judged."""
    services = [each for each in gc.get_objects() if isinstance(each, FastSiteverify)]
    return [key for each in services for key in each._lengths.young]


def test_no_secret_is_kept(shop, service):
    before = len(kept())
    assert ask(service, call(shop, bearer(shop.secret)), call(shop, bearer(shop.secret))) == OK
    assert len(kept()) > before
    assert not any(shop.secret.encode() in key for key in kept())


def test_long_heads_are_not_kept(shop, service, parsed):
    before = len(kept())
    assert ask(service, call(shop, bearer(shop.secret), f"Accept: {'x' * 600}")) == OK
    assert (len(kept()), parsed) == (before, [])
