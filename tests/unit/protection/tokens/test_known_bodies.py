"""Bodies of siteverify that are cut and not decoded: whatever is taken out of one, decoding would have given."""

import json
import random

import pytest
from msgspec import UNSET

from agentgate.http.decode import BodyDecoder
from agentgate.lib.errors import Refused
from agentgate.protection.tokens import known_bodies
from agentgate.protection.tokens.known_bodies import LEARNT_EVERY, KnownBodies, KnownBody
from agentgate.protection.tokens.records import SiteverifyInput

DECODER = BodyDecoder(SiteverifyInput, malformed="invalid_request", texts_only=True)
TOKEN, OTHER_TOKEN = "eyJh.eyJp_c3M-.X0V4", "eyJi.eyJx.Y1W5"
GIVEN = {"token": TOKEN, "expectedAction": "login", "expectedOrigin": "https://shop.example", "requestId": "order-1"}
CALLER = "cred_1"
# What a mutation puts in: what ends a text, what begins a member, what a text may not have.
PIECES = (b'"', b"\\", b'\\"', b",", b"}", b"{", b" ", b"\0", b"\xff", b"a", b"-1", b'","requestId": "', b'"requestId"')


def learnt(body: bytes, *, times: int = LEARNT_EVERY) -> KnownBody | None:
    bodies = KnownBodies(DECODER.decode)
    for _ in range(times):
        bodies.learn(CALLER, body, DECODER.decode(body))
    return bodies.find(CALLER)


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(GIVEN).encode(),
        json.dumps(GIVEN, separators=(",", ":")).encode(),
        json.dumps(GIVEN, indent=2).encode() + b"\n",
        b"  " + json.dumps({name: GIVEN[name] for name in ("expectedAction", "token", "requestId")}).encode(),
        json.dumps({name: GIVEN[name] for name in ("token", "requestId", "expectedAction")}).encode(),
        json.dumps({**GIVEN, "expectedAction": "l\u00f6gin"}, ensure_ascii=False).encode(),
    ],
)
def test_a_body_that_looks_like_one_before_is_cut(body):
    known = learnt(body)
    assert known is not None
    next_one = body.replace(TOKEN.encode(), OTHER_TOKEN.encode()).replace(b"order-1", b"a.b:C_9-" * 8)
    given = DECODER.decode(next_one)

    assert known.cut(body) == (TOKEN.encode(), "order-1")
    assert known.cut(next_one) == (OTHER_TOKEN.encode(), "a.b:C_9-" * 8)
    assert (known.demand.token, known.demand.request_id) == ("", None)
    assert known.demand.action == given.expected_action
    assert known.demand.origin == (None if given.expected_origin is UNSET else given.expected_origin)


@pytest.mark.parametrize(
    "body",
    [
        {**GIVEN, "expectedAction": "order-1"},
        {"expectedAction": TOKEN, "token": TOKEN, "requestId": "order-1"},
        {**GIVEN, "requestId": "requestId"},
        {**GIVEN, "token": "token"},
        {**GIVEN, "token": ""},
        {**GIVEN, "remoteAddress": "203.0.113.7"},
        {**GIVEN, "contentDigest": "sha-256=x"},
        {name: value for name, value in GIVEN.items() if name != "requestId"},
        {name: GIVEN[name] for name in ("requestId", "expectedAction", "token")},
    ],
)
def test_a_body_whose_parts_are_not_sure_is_not_learnt(body):
    assert learnt(json.dumps(body).encode()) is None


def test_what_is_written_with_escapes_is_not_learnt():
    assert learnt(json.dumps(GIVEN).encode().replace(b"order-1", rb"order\u002d1")) is None


def test_a_body_is_learnt_now_and_then():
    assert learnt(json.dumps(GIVEN).encode(), times=LEARNT_EVERY - 1) is None


def test_only_so_many_callers_are_remembered(monkeypatch):
    monkeypatch.setattr(known_bodies, "MOST_CALLERS", 3)
    bodies, body = KnownBodies(DECODER.decode), json.dumps(GIVEN).encode()
    for number in range(4 * LEARNT_EVERY):
        bodies.learn(str(number // LEARNT_EVERY), body, DECODER.decode(body))

    assert [bodies.find(str(number)) is not None for number in range(4)] == [False, False, False, True]


def mutated(chance: random.Random, body: bytes) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, piece = chance.randrange(len(body) + 1), chance.choice(PIECES)
        end = at + chance.choice((0, 0, 1, 2, len(piece)))
        body = body[:at] + piece + body[end:]
    return body


def test_whatever_is_cut_is_what_decoding_gives():
    chance, body = random.Random(7), json.dumps(GIVEN).encode()
    known, cut_out = learnt(body), 0
    assert known is not None
    for _ in range(100_000):
        sent = mutated(chance, body)
        found = known.cut(sent)
        # What is none of our tokens goes the usual way.
        if found is None or found[0] != TOKEN.encode():
            continue
        cut_out += 1
        try:
            given = DECODER.decode(sent)
        except Refused as refused:
            pytest.fail(f"{sent!r} was cut, and is refused: {refused}")
        assert (given.token, given.request_id) == (TOKEN, found[1])
        assert (given.expected_action, given.expected_origin) == (known.demand.action, known.demand.origin)
        assert (given.secret, given.remote_address, given.content_digest) == (UNSET, UNSET, UNSET)
    assert cut_out > 500


@pytest.mark.parametrize("request_id", ["", "a" * 129, "a b", "a\n", "\u00e9", "a\0"])
def test_a_request_id_that_may_not_be_is_not_cut_out(request_id):
    known = learnt(json.dumps(GIVEN).encode())
    assert known is not None
    body = json.dumps({**GIVEN, "requestId": request_id}, ensure_ascii=False).encode()

    assert known.cut(body) is None
