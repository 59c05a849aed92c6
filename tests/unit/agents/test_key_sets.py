"""Key sets in the forms in which they are served."""

import json

import pytest

from agentgate.agents.signing.key_sets import MOST_KEYS, NotAKeySet, read_key_set
from agentgate.http.outbound.client import kept_s
from agentgate_tools.agent_simulator.sign import AgentSigningKey

NOW_MS = 1_790_000_000_000
KEY = AgentSigningKey(b"k" * 32)


def read(document):
    return read_key_set(document if isinstance(document, bytes) else json.dumps(document).encode())


@pytest.mark.parametrize(
    "document",
    [
        KEY.jwks,
        {"keys": [KEY.jwk], "signature_agent": "https://agent.example", "purpose": "rag"},
        KEY.jwk,
        {**KEY.jwk, "alg": "EdDSA", "use": "sig"},
        {"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}, {"kty": "EC"}, None, "x", KEY.jwk]},
        {"keys": [{**KEY.jwk, "kid": "my key"}]},
    ],
)
def test_a_key_is_found_by_its_thumbprint(document):
    found = read(document)

    assert list(found) == [KEY.keyid]
    assert found[KEY.keyid].found(now_ms=NOW_MS).key is not None


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"[" * 65_000,
        b'{"a":' * 13_000,
        {"keys": {}},
        {"keys": None},
        {"keys": []},
        {"keys": [{**KEY.jwk, "d": "c2VjcmV0"}]},
    ],
)
def test_what_lists_no_key_shows_it(document):
    with pytest.raises(NotAKeySet) as caught:
        read(document)

    assert "key set" in caught.value.reason


def test_of_many_keys_the_first_are_read():
    keys = [AgentSigningKey(number.to_bytes(32)) for number in range(400)]

    found = read({"keys": [key.jwk for key in keys]})

    assert list(found) == [key.keyid for key in keys[:MOST_KEYS]]


@pytest.mark.parametrize(
    ("nbf", "exp", "is_found"),
    [
        (None, None, True),
        (NOW_MS // 1000, NOW_MS // 1000 + 1, True),
        (NOW_MS, NOW_MS + 1, True),
        (NOW_MS // 1000 + 1, None, False),
        (None, NOW_MS // 1000, False),
        ("tomorrow", None, False),
        (None, True, False),
        (None, 10**4000, True),
        (10**4000, None, False),
        (-(10**4000), None, True),
    ],
)
def test_a_key_has_its_time(nbf, exp, is_found):
    times = {name: value for name, value in (("nbf", nbf), ("exp", exp)) if value is not None}

    found = read({"keys": [{**KEY.jwk, **times}]})[KEY.keyid].found(now_ms=NOW_MS)

    assert (found.key is not None) is is_found
    assert is_found or "nbf" in found.why


@pytest.mark.parametrize(
    ("said", "purposes"),
    [
        ("search", ("search",)),
        ("rag", ("fetch",)),
        ("AI_Training, user-fetch search", ("training", "fetch", "search")),
        (["tdm", "train"], ("training",)),
        ("verified admin", ()),
        (["x" * 1000, 5, None, {"search": 1}], ()),
        ({"purpose": "search"}, ()),
        (7, ()),
        (None, ()),
    ],
)
def test_purposes_become_words_of_ours_or_nothing(said, purposes):
    assert read({"keys": [KEY.jwk], "purpose": said})[KEY.keyid].purposes == purposes
    assert read({**KEY.jwk, "purpose": said})[KEY.keyid].purposes == purposes


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 3600),
        ({"cache-control": "public, max-age=600"}, 600),
        ({"cache-control": 'max-age="600"'}, 600),
        ({"cache-control": "max-age=600", "age": "100"}, 500),
        ({"cache-control": "max-age=600", "age": "9" * 50}, 600),
        ({"cache-control": "max-age=0"}, 60),
        ({"cache-control": "no-cache, max-age=600"}, 60),
        ({"cache-control": "max-age=" + "9" * 10}, 86_400),
        ({"cache-control": "x-max-age=5, max-age"}, 3600),
    ],
)
def test_a_key_set_shows_how_long_it_holds(headers, seconds):
    assert kept_s(headers) == seconds
