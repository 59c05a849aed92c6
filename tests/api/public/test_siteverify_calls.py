"""Siteverify as HTTP: bodies, sizes, both ways through the kernel; and what the calls leave in the counters."""

import asyncio
import json
import random
import socket
import statistics
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest

from tests.api.public.shop import SITES, SITEVERIFY, ask_whole, code, open_shop
from tests.support.tokens import ORIGIN

OK = (200, None)
MALFORMED = (400, "invalid_request")


@pytest.fixture
def shop(service):
    return open_shop(service)


def send(service, content, **headers):
    return service.public.post(SITEVERIFY, content=content, headers=headers)


BODIES = (
    *(b"", b"{", b"[]", b"null", b'"x"', b"{}", b"\xff", b"\xef\xbb\xbf{}", b"a=b", b"[" * 2000),
    b'{"token": "x"}',
    b'{"expectedAction": "login"}',
    b'{"token": 1, "expectedAction": "login"}',
    b'{"token": "x", "expectedAction": null}',
    b'{"token": "x", "expectedAction": "login", "extra": 1}',
    b'{"token": "x", "token": "y", "expectedAction": "login"}',
    b'{"token": "x", "expectedAction": "login", "requestId": ""}',
    b'{"token": "x", "expectedAction": "login", "requestId": "%b"}' % (b"a" * 129),
    b'{"token": "x", "expectedAction": "login", "requestId": "a b"}',
    b'{"token": "x", "expectedAction": "login", "requestId": "a\\n"}',
    b'{"token": "x\\u0000", "expectedAction": "login"}',
    b'{"token": "x", "expectedAction": "login", "remoteAddress": "%b"}' % (b"1" * 65),
    b'{"token": "x", "expectedAction": "login", "expectedOrigin": "x"}',
    b'{"token": "%b", "expectedAction": "login"}' % (b"x" * 4096),
)


def test_a_malformed_body_is_rejected_before_the_secret_is_inspected(service):
    for content in BODIES:
        answer = send(service, content, Authorization="Bearer nobody's")

        assert code(answer) == MALFORMED, content
        assert answer.json()["success"] is False
        assert answer.json()["message"]


def test_a_body_of_4096_bytes_is_read_and_one_byte_more_is_not(shop, service):
    body = {"token": shop.token(), "expectedAction": "login", "secret": shop.secret}
    padding = 4096 - len(json.dumps(body))

    assert code(send(service, json.dumps(body).encode() + b" " * (padding + 1))) == MALFORMED
    assert code(send(service, json.dumps(body).encode() + b" " * padding)) == OK


def test_the_content_type_does_not_matter(shop, service):
    for media_type in ("application/json", "text/plain", "application/x-www-form-urlencoded", ""):
        body = {"token": shop.token(), "expectedAction": "login", "secret": shop.secret}
        assert code(send(service, json.dumps(body).encode(), **{"Content-Type": media_type})) == OK


def test_a_query_and_another_method_are_rejected(service):
    assert code(service.public.post(f"{SITEVERIFY}?x=1", json={})) == MALFORMED
    assert service.public.get(SITEVERIFY).status_code == 405


def exchange(service, head, *pieces):
    """Send bytes as they are and return the headers and the body of the response."""
    parts = urlsplit(service.public_url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(head)
        for piece in pieces:
            connection.sendall(piece)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received.partition(b"\r\n\r\n")[::2]


def all_ways(service, payload, secret):
    """Return the responses to a body: in one piece with known headers, in pieces, and in chunks."""
    head = f"POST {SITEVERIFY} HTTP/1.1\r\nHost: gate.example\r\nAuthorization: Bearer {secret}\r\n".encode()
    length, closing = b"Content-Length: %d\r\n" % len(payload), b"Connection: close\r\n"
    whole = head + length + b"\r\n" + payload
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(payload), payload)
    return (
        ask_whole(service, whole, whole),
        exchange(service, head + length + closing + b"\r\n", payload[:7], payload[7:]),
        exchange(service, head + closing + b"Transfer-Encoding: chunked\r\n\r\n", chunked),
    )


def shown(head):
    """Return the header lines without those that differ from response to response."""
    lines = head.decode().split("\r\n")
    return sorted(line for line in lines if not line.startswith(("date:", "x-request-id:", "connection:")))


def test_all_ways_through_the_kernel_return_the_same_bytes(shop, service):
    good = {"token": shop.token(), "expectedAction": "login", "requestId": "r", "expectedOrigin": ORIGIN}
    bodies = [
        json.dumps(body).encode()
        for body in (
            *(good, good, {**good, "requestId": "s"}, {**good, "token": "x"}, {**good, "extra": 1}, {"a": "\u0661"}),
            *({**good, "token": shop.token(action="upload")}, {**good, "token": shop.token(test=True)}),
            *({**good, "token": shop.token(age_s=-60)}, {**good, "token": shop.token(lifetime_s=-1)}),
            *({**good, "expectedOrigin": origin} for origin in ("https://other.example", "no origin")),
            *({**good, "secret": secret} for secret in (shop.secret, "another")),
            {**good, "requestId": "not one"},
        )
    ]
    bodies += [b"{", b'{"token": "x", "token": "y", "expectedAction": "login"}', b'{"token": "\xff"}']
    for body in bodies:
        for secret in (shop.secret, "nobody's", f"{shop.secret} x", "ags_test_always_pass", "ags_test_token_spent"):
            whole, parsed, asgi = ((shown(head), body) for head, body in all_ways(service, body, secret))

            assert whole == parsed == asgi, (body, secret)


def test_two_authorization_headers_are_rejected_before_anything_is_read(shop, service):
    payload = json.dumps({"token": shop.token(), "expectedAction": "login"}).encode()
    secret = f"Authorization: Bearer {shop.secret}\r\n"
    head = f"POST {SITEVERIFY} HTTP/1.1\r\nHost: gate.example\r\n{secret}{secret}Content-Length: {len(payload)}\r\n\r\n"

    answer, _ = exchange(service, head.encode(), payload)

    assert answer.startswith(b"HTTP/1.1 400 ")


def test_all_ways_are_counted_and_rejections_are_logged(shop, service):
    # It waits until the new secret can be read, and what has to wait takes the ASGI path.
    shop.verify("x.y.z")
    payload = json.dumps({"token": shop.token(), "expectedAction": "login"}).encode()
    all_ways(service, payload, shop.secret)
    all_ways(service, payload, shop.secret)

    lines = [json.loads(line) for line in service.log.getvalue().splitlines()]
    found = [line for line in lines if line.get("route") == SITEVERIFY]
    # The success took the fast path, where there are too many for the log.
    assert [(line["surface"], line["status"], line.get("code")) for line in found] == [
        ("siteverify", 422, "invalid_token"),
        *[("siteverify", 409, "token_used")] * 7,
    ]
    metrics = service.operator.get("/metrics").text
    assert 'agentgate_http_requests_total{route="/v1/siteverify",status="200",surface="siteverify"' in metrics


def test_no_response_may_be_stored_by_anyone(shop):
    assert shop.verify(shop.token()).headers["cache-control"] == "no-store"


def test_a_client_that_leaves_before_its_response_finds_it_with_the_same_request_id(shop, service):
    parts = urlsplit(service.public_url)
    tokens = [shop.token() for _ in range(20)]
    for number, token in enumerate(tokens):
        body = {"token": token, "expectedAction": "login", "requestId": f"r{number}", "secret": shop.secret}
        payload = json.dumps(body).encode()
        with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
            head = f"POST {SITEVERIFY} HTTP/1.1\r\nHost: gate.example\r\nContent-Length: {len(payload)}\r\n\r\n"
            connection.sendall(head.encode() + payload)

    for number, token in enumerate(tokens):
        assert code(shop.verify(token, requestId=f"r{number}")) == OK
        assert code(shop.verify(token, requestId="other")) == (409, "token_used")


def test_a_redeemed_token_is_rejected_as_fast_as_another_is_taken(shop, service):
    body = json.dumps({"token": shop.token(), "expectedAction": "login", "secret": shop.secret}).encode()
    assert code(send(service, body)) == OK
    took_s = []
    for _ in range(20):
        started_s = time.perf_counter()
        assert code(send(service, body)) == (409, "token_used")
        took_s.append(time.perf_counter() - started_s)

    # A few milliseconds: calls with a waiting caller are not deferred.
    assert statistics.median(took_s) < 0.1


def test_the_counters_show_what_the_callers_were_reported(shop, service):
    draw = random.Random(7)
    tally = Counter()
    tokens = [shop.token(age_s=draw.choice((0, 0, 0, 200))) for _ in range(60)]
    for _ in range(200):
        token = draw.choice([*tokens, "x.y.z", shop.token(test=True)])
        fields = {"requestId": draw.choice((None, "a", "b")), "expectedAction": draw.choice(("login", "login", "no"))}
        secret = draw.choice((shop.secret, shop.secret, shop.secret, "nobody's"))
        _, error = code(shop.verify(token, secret=secret, **fields))
        if error != "invalid_credential":
            tally[error or "success"] += 1
    database = service.application.stores.redemptions._database
    redeemed = service.run(_count(database))
    _let_counters_settle(service)

    found = service.operator.get(f"{SITES}/{shop.site_key}/analytics").json()["siteverify"]

    assert found["success"] == tally.pop("success")
    assert found["failures"] == dict(tally)
    assert found["calls"] == found["success"] + sum(tally.values())
    assert found["tokensRedeemed"] == redeemed


def _let_counters_settle(service):
    # They are written every 100 ms, and the hour that begins at this very moment is not in a range that ends now.
    service.run(asyncio.sleep(0.4))
    service.clock.advance(seconds=1)


async def _count(database):
    return (await database.one("SELECT count(*) FROM redemption"))[0]


def test_calls_with_the_sites_secret_are_server_checks_for_its_health(shop, service):
    for _ in range(6):
        shop.verify("x.y.z")
    shop.verify("x.y.z", secret="nobody's")
    _let_counters_settle(service)

    health = service.operator.get(f"{SITES}/{shop.site_key}/health").json()

    [errors] = [check for check in health["checks"] if check["check"] == "siteverify_errors"]
    assert errors["detail"] == {"calls": 6, "failures": 6, "codes": {"invalid_token": 6}}
