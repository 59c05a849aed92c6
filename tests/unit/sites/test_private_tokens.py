"""Private tokens: challenges and tokens equal the RFCs' vectors, and anything else is rejected."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from agentgate.sites.private_tokens import (
    MOST_ISSUERS,
    find_issuer_problem,
    is_genuine,
    make_challenge,
    read_issuers,
    read_token,
    write_challenges,
)
from agentgate.sites.records import SiteTokenIssuer

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "vectors/privacy_pass.json").read_text())


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def parts_of(challenge: bytes) -> tuple[str, bytes, str]:
    """Return issuer, redemption context and origin of a TokenChallenge."""
    size = int.from_bytes(challenge[2:4], "big")
    name, rest = challenge[4 : 4 + size], challenge[4 + size :]
    context, rest = rest[1 : 1 + rest[0]], rest[1 + rest[0] :]
    return name.decode(), context, rest[2:].decode()


def issuers_of(key: bytes, name: str):
    return read_issuers([SiteTokenIssuer(name=name, token_key=text(key))])


@pytest.mark.parametrize("vector", VECTORS["inputs"])
def test_a_challenge_is_that_of_rfc_9577(vector: dict[str, str]) -> None:
    told = {name: bytes.fromhex(value) for name, value in vector.items()}
    challenge = make_challenge(told["issuer_name"].decode(), told["redemption_context"], told["origin_info"].decode())

    signed = b"\x00\x02" + told["nonce"] + hashlib.sha256(challenge).digest() + told["token_key_id"]
    assert signed == told["token_authenticator_input"]


@pytest.mark.parametrize("vector", VECTORS["tokens"])
def test_a_token_of_rfc_9578_is_genuine_for_its_challenge_and_no_other(vector: dict[str, str]) -> None:
    key, challenge, data = (bytes.fromhex(vector[name]) for name in ("token_key", "challenge", "token"))
    name, context, origin = parts_of(challenge)
    issuers = issuers_of(key, name)
    token = read_token(f'PrivateToken token="{text(data)}"')
    assert token is not None

    assert is_genuine(token, issuers, context, origin)
    assert not is_genuine(token, issuers, context + b"x", origin)
    assert not is_genuine(token, issuers, context, origin + "x")
    assert not is_genuine(token, issuers_of(key, "other.example"), context, origin)
    assert not is_genuine(token, (), context, origin)
    for place in (2, 40, 70, 98, 200, len(data) - 1):
        changed = bytes([*data[:place], data[place] ^ 1, *data[place + 1 :]])
        forged = read_token(f"PrivateToken token={text(changed)}")
        assert forged is not None
        assert not is_genuine(forged, issuers, context, origin), place


def test_the_header_is_that_of_rfc_9577() -> None:
    vector = VECTORS["header"]
    name, context, origin = parts_of(bytes.fromhex(vector["challenge"]))

    header = write_challenges(issuers_of(bytes.fromhex(vector["token_key"]), name), context, origin)

    assert vector["header"].startswith(header)


@pytest.mark.parametrize("key_id", [0, 1])
def test_another_issuers_key_does_not_do(key_id: int) -> None:
    keys = [bytes.fromhex(vector["token_key"]) for vector in VECTORS["tokens"]]

    assert issuers_of(keys[key_id], "a.example")[0].key_id == hashlib.sha256(keys[key_id]).digest()


@pytest.mark.parametrize(
    "header",
    ["", "Bearer abc", "PrivateToken", 'PrivateToken token=""', 'PrivateToken token="AAI="', "PrivateToken token=*"],
)
def test_what_is_no_token_is_none(header: str) -> None:
    assert read_token(header) is None
    data = bytes.fromhex(VECTORS["tokens"][0]["token"])
    other_type, bare = text((1).to_bytes(2, "big") + data[2:]), text(data).rstrip("=")
    assert read_token(f'PrivateToken token="{other_type}"') is None
    assert read_token(f'privatetoken token="{bare}"') is not None


@pytest.mark.parametrize(
    ("name", "key", "told"),
    [
        ("issuer", None, "host name"),
        ("https://issuer.example", None, "host name"),
        ("Issuer.example", None, "host name"),
        ("issuer.example", "", "2048 bits"),
        ("issuer.example", "AAAA", "2048 bits"),
        ("issuer.example", "*", "2048 bits"),
    ],
)
def test_a_wrong_issuer_is_explained(name: str, key: str | None, told: str) -> None:
    good = text(bytes.fromhex(VECTORS["tokens"][0]["token_key"]))
    entry = SiteTokenIssuer(name=name, token_key=good if key is None else key)

    assert told in (find_issuer_problem([entry]) or "")
    fine = SiteTokenIssuer(name="issuer.example:8443", token_key=good)
    assert find_issuer_problem([fine] * MOST_ISSUERS) is None
    assert "at most" in (find_issuer_problem([fine] * (MOST_ISSUERS + 1)) or "")
