"""Siteverify called by a server that sends the same head each time: the same answers as on every other way."""

import json
import socket
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from agentgate.protection.tokens.redeem import Redeemer
from tests.api.public.shop import SITES, SITEVERIFY, open_shop
from tests.minting import ORIGIN

# After so many calls a head is known, and after so many more it is the one that is expected.
LEARNING = 80


@pytest.fixture
def shop(service):
    return open_shop(service)


class Server:
    """A site's server with one connection."""

    def __init__(self, connection, *, secret_first):
        self._connection = connection
        self._secret_first = secret_first

    def call(self, payload, secret):
        """Return status, headers without those that differ each time, and body."""
        lines = [f"Authorization: Bearer {secret}", f"Content-Length: {len(payload)}"]
        lines = lines if self._secret_first else lines[::-1]
        head = "\r\n".join([f"POST {SITEVERIFY} HTTP/1.1", "Host: gate.example", *lines, "", ""])
        self._connection.sendall(head.encode() + payload)
        return self._answer()

    def call_in_chunks(self, payload, secret):
        """Make the same call in a way that is never short."""
        head = (
            f"POST {SITEVERIFY} HTTP/1.1\r\nHost: gate.example\r\nAuthorization: Bearer {secret}\r\n"
            f"Transfer-Encoding: chunked\r\n\r\n{len(payload):x}\r\n"
        )
        self._connection.sendall(head.encode() + payload + b"\r\n0\r\n\r\n")
        return self._answer()

    def _answer(self):
        head, body = b"", b""
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._connection.recv(65536)
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        length = int(next(line for line in lines if line.startswith("content-length: ")).split()[1])
        while len(body) < length:
            body += self._connection.recv(65536)
        assert len(body) == length
        return status, sorted(line for line in lines if not line.startswith(("date:", "x-request-id:"))), body


@contextmanager
def server(shop, *, secret_first=True):
    """Connect, and call until the head is known."""
    parts = urlsplit(shop.service.public_url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connected = Server(connection, secret_first=secret_first)
        for number in range(LEARNING):
            body = {"token": shop.token(), "expectedAction": "login", "requestId": f"learning-{number}"}
            assert connected.call(json.dumps(body).encode(), shop.secret)[0] == "HTTP/1.1 200 OK"
        yield connected


@pytest.mark.parametrize("secret_first", [True, False])
def test_a_known_head_is_answered_like_any_other(shop, secret_first):
    good = {"token": shop.token(), "expectedAction": "login", "requestId": "r", "expectedOrigin": ORIGIN}
    bodies = [
        json.dumps(body).encode()
        for body in (
            good,
            good,
            {**good, "requestId": "s"},
            {**good, "token": "x"},
            {**good, "token": shop.token(action="upload")},
            {**good, "expectedOrigin": "https://other.example"},
            {**good, "expectedOrigin": "no origin"},
            {**good, "secret": shop.secret},
            {**good, "secret": "another"},
            {**good, "extra": 1},
            {**good, "requestId": "not one"},
            {"a": "\u0661"},
        )
    ]
    bodies += [b"{", b'{"token": "x", "token": "y", "expectedAction": "login"}', b'{"token": "\xff"}']
    with server(shop, secret_first=secret_first) as calling:
        for body in bodies:
            for secret in (shop.secret, "nobody's", "", shop.secret + " x", "agt_test_x"):
                assert calling.call(body, secret) == calling.call_in_chunks(body, secret), (body, secret)


def test_a_known_body_is_answered_like_any_other(shop, monkeypatch):
    """The server's bodies so far had these members in this order, so that such are not decoded any more."""
    recalled, recall = [], Redeemer.prepare_recalled

    def note(*given, **named):
        recalled.append(recall(*given, **named))
        return recalled[-1]

    monkeypatch.setattr(Redeemer, "prepare_recalled", note)

    def body(token, request_id, end=""):
        return f'{{"token": "{token}", "expectedAction": "login", "requestId": "{request_id}"{end}}}'.encode()

    token, used = shop.token(), shop.token()
    others = (
        *(shop.token(action="upload"), shop.token(lifetime_s=-1), shop.token(age_s=-60), shop.token(test=True)),
        *(token[:-1], token + "A", "", 'x", "y": "z'),
    )
    bodies = [
        *(
            body(token, request_id)
            for request_id in ("", "not one", "a" * 129, "\u00e9", r"\u0041", 'r", "requestId": "s')
        ),
        *(body(token, "r", end) for end in (' , "requestId": "s"', ', "secret": "x"', ', "extra": 1', "}")),
        *(body(other, "r") for other in others),
        *(body(used, "r-1"), body(used, "r-1"), body(used, "r-2")),
        body(token, "r")[:-1],
        body(token, "r") + b" ",
        body(token, "r"),
        body(token, "r"),
    ]
    with server(shop) as calling:
        before = len(recalled)
        assert before > LEARNING // 2
        for each in bodies:
            assert calling.call(each, shop.secret) == calling.call_in_chunks(each, shop.secret), each
    # The two tokens, one of them three times and the other one twice; and the one that is for something else.
    assert [spend is not None for spend in recalled[before:]].count(True) == 5


def test_a_token_is_redeemed_once_by_whatever_way(shop):
    body = {"token": shop.token(), "expectedAction": "login", "requestId": "r"}
    with server(shop) as calling:
        first = calling.call(json.dumps(body).encode(), shop.secret)
        again = calling.call_in_chunks(json.dumps(body).encode(), shop.secret)
        other = calling.call(json.dumps({**body, "requestId": "s"}).encode(), shop.secret)

    assert first == again
    assert first[0] == "HTTP/1.1 200 OK"
    assert other[0] == "HTTP/1.1 409 Conflict"


def test_a_revoked_secret_opens_nothing_though_its_head_is_known(shop, service):
    with server(shop) as calling:
        path = f"{SITES}/{shop.site_key}/credentials/{shop.credential}/revoke"
        assert service.operator.post(path).status_code == 200
        body = {"token": shop.token(), "expectedAction": "login"}

        assert calling.call(json.dumps(body).encode(), shop.secret)[0] == "HTTP/1.1 401 Unauthorized"
