"""Keys of agents: which are read, and that one key has one name. The published ones are in `test_vectors`."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentgate.agents.signing.key_sets import TEST_KEYS, is_current, read_key, thumbprint
from agentgate_tools.agent_simulator.sign import AgentSigningKey

JWK = AgentSigningKey(bytes(range(32))).jwk
# RFC 8032 7.1, tests 1 to 3.
SEEDS = (
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
)


def test_a_key_is_read() -> None:
    key = read_key({**JWK, "kid": "anything", "use": "sig", "alg": "EdDSA"})
    assert key is not None
    assert key.raw == Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()


@pytest.mark.parametrize("alg", ["EdDSA", "Ed25519"])
def test_both_names_of_the_algorithm_are_right(alg: str) -> None:
    assert read_key({**JWK, "alg": alg}) is not None


def test_a_second_spelling_of_a_key_is_rejected() -> None:
    # The last character carries two bits that belong to no byte.
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    other = last[last.index(JWK["x"][-1]) + 1]
    assert read_key({**JWK, "x": JWK["x"][:-1] + other}) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_of_the_standard_are_on_the_list(seed: str) -> None:
    assert AgentSigningKey(bytes.fromhex(seed)).keyid in TEST_KEYS


@pytest.mark.parametrize("jwk", [{}, {"kty": "oct", "k": "AAAA"}, {"kty": "OKP", "crv": "Ed25519"}, {**JWK, "x": 5}])
def test_a_key_without_its_members_has_no_thumbprint(jwk: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="type OKP, RSA, EC"):
        thumbprint(jwk)


@pytest.mark.parametrize("time", ["soon", True, [], float("nan")])
def test_a_time_that_is_none_does_not_pass(time: Any) -> None:
    assert not is_current({**JWK, "exp": time}, now_ms=1)
    assert not is_current({**JWK, "nbf": time}, now_ms=1)


def test_a_time_of_many_digits_is_far_away() -> None:
    assert is_current({**JWK, "exp": 10**400}, now_ms=1)
    assert not is_current({**JWK, "nbf": 10**400}, now_ms=1)
