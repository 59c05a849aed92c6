"""Every published vector of RFC 9421, RFC 9530, RFC 7638 and Web Bot Auth runs through our code."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from agentgate.agents.identity import SignedMessage
from agentgate.agents.signing.fields import (
    SignatureInput,
    Unreadable,
    digest_of,
    matches,
    read_inputs,
    read_signatures,
)
from agentgate.agents.signing.key_sets import TEST_KEYS, is_current, read_key, thumbprint
from agentgate.agents.signing.signatures import agent_address
from agentgate.agents.signing.signed_text import binary_value, signed_text
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.lib.enums import AgentVerdict
from tests.unit.agents.verifying import KnownKeys, message_of, verify

VECTORS = Path(__file__).parents[2] / "vectors"
FOR_EVER_S = 2**40
P256_BYTES = 32


def load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


SIGNATURES = load("rfc9421_signatures.json")["cases"]
COMPONENTS = load("rfc9421_components.json")["cases"]
KEYS = load("rfc9421_keys.json")["keys"]
THUMBPRINTS = load("jwk_thumbprints.json")["cases"]
DIGESTS = load("rfc9530_content_digest.json")["cases"]
WEB_BOT_AUTH = load("web_bot_auth.json")
NEGATIVE = load("web_bot_auth_negative.json")
REQUESTS = [case for case in SIGNATURES if case["message"]["type"] == "request"]
RESPONSES = [case for case in SIGNATURES if case["message"]["type"] == "response"]
AGENTS = WEB_BOT_AUTH["cases"]


def joined(headers: list[list[str]]) -> dict[bytes, bytes]:
    """Return headers as a server gives them: those that came in several lines in one."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        key, line = name.lower().encode(), value.strip(" \t").encode()
        found[key] = found[key] + b", " + line if key in found else line
    return found


def signed_message(message: Mapping[str, Any]) -> SignedMessage:
    return SignedMessage(
        method=message["method"],
        scheme=message["scheme"],
        authority=message["authority"],
        target=message["target"],
        headers=joined(message["headers"]),
    )


def is_valid(algorithm: str, key: Mapping[str, Any], *, signature: bytes, base: bytes) -> bool:
    """Say whether a signature of any kind of RFC 9421 is right. Agents sign with one of them only."""
    if algorithm == "ed25519":
        public = read_key(key["jwk"])
        assert public is not None
        return public.has_signed(base, signature)
    if algorithm == "hmac-sha256":
        expected = hmac.new(base64.b64decode(key["secret_base64"]), base, hashlib.sha256).digest()
        return hmac.compare_digest(expected, signature)
    other = load_pem_public_key(key["pem_public"].encode())
    try:
        if isinstance(other, ec.EllipticCurvePublicKey):
            pair = (int.from_bytes(part) for part in (signature[:P256_BYTES], signature[P256_BYTES:]))
            other.verify(encode_dss_signature(*pair), base, ec.ECDSA(hashes.SHA256()))
            return True
        assert isinstance(other, rsa.RSAPublicKey)
        if algorithm == "rsa-pss-sha512":
            other.verify(signature, base, padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA512())
        else:
            other.verify(signature, base, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def one_input(text: str) -> tuple[str, SignatureInput]:
    [(label, found)] = read_inputs(text.encode()).items()
    return label, found


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case["name"])
def test_the_signature_base_of_a_request_is_the_published_one(case: dict[str, Any]) -> None:
    _, found = one_input(case["signature_input"])
    assert signed_text(signed_message(case["message"]), found) == case["signature_base"].encode()


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case["name"])
def test_a_published_signature_of_a_request_is_valid_or_not(case: dict[str, Any]) -> None:
    label, found = one_input(case["signature_input"])
    signature = read_signatures(case["signature"].encode())[label]
    base = signed_text(signed_message(case["message"]), found)
    assert is_valid(case["alg"], KEYS[case["keyid"]], signature=signature, base=base) is case["valid"]


@pytest.mark.parametrize("case", RESPONSES, ids=lambda case: case["name"])
def test_a_signature_made_for_a_response_is_rejected_in_a_request(case: dict[str, Any]) -> None:
    _, found = one_input(case["signature_input"])
    message = message_of("GET", "https://example.com/", dict(case["message"]["headers"]))
    with pytest.raises(Unreadable, match="cannot cover"):
        signed_text(message, found)


@pytest.mark.parametrize("case", COMPONENTS, ids=lambda case: case["source"])
def test_the_value_of_a_component_is_the_published_one(case: dict[str, Any]) -> None:
    request = case.get("request") or {"method": "GET", "scheme": "https", "authority": "www.example.com", "target": "/"}
    message = signed_message({"headers": case.get("headers", []), **request})
    for line in case["lines"]:
        identifier, value = line.split(": ", 1)
        if identifier.endswith(";bs") and len(case["headers"]) > 1:
            assert binary_value([sent.encode() for _, sent in case["headers"]]) == value
            continue
        _, found = one_input(f"s=({identifier})")
        assert signed_text(message, found).decode().splitlines()[0] == line


@pytest.mark.parametrize("case", THUMBPRINTS, ids=lambda case: case["name"])
def test_the_thumbprint_of_a_key_is_the_published_one(case: dict[str, Any]) -> None:
    assert thumbprint(case["jwk"]) == case["thumbprint"]


@pytest.mark.parametrize("case", THUMBPRINTS[1:], ids=lambda case: case["name"])
def test_every_published_key_is_on_the_list_of_those_that_prove_nothing(case: dict[str, Any]) -> None:
    assert case["thumbprint"] in TEST_KEYS


@pytest.mark.parametrize("case", DIGESTS, ids=lambda case: case["source"])
def test_a_published_digest_names_its_body_and_no_other(case: dict[str, Any]) -> None:
    body = case["body"].encode()
    assert matches(case["content_digest"].encode(), body)
    assert not matches(case["content_digest"].encode(), body + b" ")
    if case["algorithm"] == "sha-256":
        assert digest_of(body) == case["content_digest"]


def keys_of(case: dict[str, Any]) -> KnownKeys:
    agent = dict(case["request"]["headers"]).get("Signature-Agent", "")
    url = agent[agent.find('"') + 1 : -1] + WEB_BOT_AUTH["well_known"]
    return KnownKeys({url: [case["public_jwk"]]})


def request_of(case: dict[str, Any]) -> SignedMessage:
    request = case["request"]
    return message_of(request["method"], request["url"], dict(request["headers"]))


@pytest.mark.parametrize("case", AGENTS, ids=lambda case: case["name"])
def test_a_published_request_of_an_agent_has_its_signature_base(case: dict[str, Any]) -> None:
    _, found = one_input(dict(case["request"]["headers"])["Signature-Input"])
    assert signed_text(request_of(case), found) == case["signature_base"].encode()


@pytest.mark.parametrize("case", AGENTS, ids=lambda case: case["name"])
def test_a_published_request_of_an_agent_is_verified_where_it_can_be(case: dict[str, Any]) -> None:
    verifier = AgentVerifier(keys_of(case), allow_test_keys=True)
    identity = verify(verifier, request_of(case), now_s=case["created"] + 10, longest_s=FOR_EVER_S)
    can_be = case["alg"] == "ed25519" and case["signature_agent_form"] is not None
    assert identity.verdict is (AgentVerdict.VERIFIED if can_be else AgentVerdict.UNVERIFIED)
    assert identity.keyid == case["thumbprint"]


@pytest.mark.parametrize("case", AGENTS, ids=lambda case: case["name"])
def test_a_published_request_is_invalid_when_its_key_is_a_test_key(case: dict[str, Any]) -> None:
    verifier = AgentVerifier(keys_of(case))
    identity = verify(verifier, request_of(case), now_s=case["created"] + 10, longest_s=FOR_EVER_S)
    is_real = case["name"].startswith("capture-")
    assert identity.verdict is (AgentVerdict.VERIFIED if is_real else AgentVerdict.INVALID)


@pytest.mark.parametrize("case", AGENTS, ids=lambda case: case["name"])
def test_a_published_request_with_a_longer_time_than_a_day_is_not_verified(case: dict[str, Any]) -> None:
    verifier = AgentVerifier(keys_of(case), allow_test_keys=True)
    identity = verify(verifier, request_of(case), now_s=case["created"] + 10)
    is_long = case["expires"] - case["created"] > 24 * 3600
    assert identity.verdict is not AgentVerdict.INVALID
    assert not (is_long and identity.verdict is AgentVerdict.VERIFIED)


@pytest.mark.parametrize("case", NEGATIVE["cases"], ids=lambda case: case["id"])
def test_a_negative_vector_has_the_outcome_of_the_draft(case: dict[str, Any]) -> None:
    directory = NEGATIVE["directory"]
    # The value of NV-17 has a path. Since -01 it is the URL of a key set; this one does not exist.
    keys = KnownKeys({directory["url"]: directory["jwks"]["keys"]})
    sent = case["request"]
    url = urlsplit(sent["url"])
    message = SignedMessage(sent["method"], url.scheme, url.netloc, url.path, joined(sent["headers"]))

    identity = verify(AgentVerifier(keys, allow_test_keys=True), message, now_s=case["now"], longest_s=FOR_EVER_S)

    verdict = identity.verdict.value
    if sent["body"] is not None and identity.verdict is AgentVerdict.VERIFIED:
        is_right = matches(message.headers[b"content-digest"], sent["body"].encode())
        verdict = "verified" if is_right else "invalid"
    assert verdict == case["expected_outcome"], identity.why


def test_a_value_with_a_path_is_the_key_set_itself() -> None:
    case = next(case for case in NEGATIVE["cases"] if case["id"] == "NV-17")
    keys = KnownKeys({"https://signature-agent.test/keys": NEGATIVE["directory"]["jwks"]["keys"]})
    message = SignedMessage("GET", "https", "example.com", "/", joined(case["request"]["headers"]))

    identity = verify(AgentVerifier(keys, allow_test_keys=True), message, now_s=case["now"], longest_s=FOR_EVER_S)

    assert (identity.verdict, identity.agent) == (AgentVerdict.VERIFIED, "https://signature-agent.test/keys")


@pytest.mark.parametrize("case", WEB_BOT_AUTH["signature_agent_parsing"], ids=lambda case: case["name"])
def test_a_published_form_of_signature_agent_is_read(case: dict[str, Any]) -> None:
    _, found = one_input('sig1=("@authority" "signature-agent";key="sig1")')
    address = agent_address({b"signature-agent": case["header"].encode()}, "sig1", found)
    [entry] = case["entries"]
    if entry["type"] == "cimd":
        assert address is None
        return
    assert address is not None
    assert address.key_url == entry["uri"] + ("" if entry["type"] == "jwks_uri" else WEB_BOT_AUTH["well_known"])


def test_the_published_response_of_a_directory_has_the_digest_of_its_body() -> None:
    response = WEB_BOT_AUTH["signed_directory"]["response"]
    assert matches(dict(response["headers"])["Content-Digest"].encode(), response["body"].encode())


@pytest.mark.parametrize("seen", WEB_BOT_AUTH["directory_bodies_seen"], ids=lambda seen: seen["host"])
def test_a_key_that_is_really_served_is_read(seen: dict[str, Any]) -> None:
    for jwk in seen["body"].get("keys", [seen["body"]]):
        assert read_key(jwk) is not None
        assert thumbprint(jwk) == jwk["kid"]
        assert is_current(jwk, now_ms=(jwk["nbf"] + 1) * 1000)
        assert not is_current(jwk, now_ms=(jwk["exp"] + 1) * 1000)
