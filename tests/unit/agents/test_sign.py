"""What we sign is accepted by an implementation that is not ours."""

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, InvalidSignature, algorithms

from agentgate.agents.signing.key_sets import read_key, thumbprint
from agentgate_tools.agent_simulator.sign import AgentForm, AgentSigningKey
from tests.support.agent_client import SigningAgent

URL = "https://Shop.Example:443/a%20b/c?d=e&f"
AGENT = SigningAgent()


class Keys(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        assert key_id == AGENT.keyid
        key = read_key(AGENT.key.jwk)
        assert key is not None
        return Ed25519PublicKey.from_public_bytes(key.raw)


def verify(headers: dict[str, str], *, method: str = "POST", url: str = URL) -> set[str]:
    """Return the signed components, without their quotes."""
    prepared = requests.Request(method, url, headers=headers, data=b"{}").prepare()
    [found] = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys()).verify(prepared)
    return {component.split(";")[0].strip('"') for component in found.covered_components}


@pytest.mark.parametrize("form", AgentForm)
@pytest.mark.parametrize(
    "cover", [None, ("@target-uri", "signature-agent"), ("@scheme", "@request-target", "@authority", "signature-agent")]
)
def test_a_signed_request_verifies_elsewhere(form: AgentForm, cover: tuple[str, ...] | None) -> None:
    url = "https://shop.example/a%20b/c?d=e&f"
    signed = verify(AGENT.headers("POST", url, body=b"{}", form=form, cover=cover), url=url)

    assert signed >= set(cover or ("@authority", "@method"))


def test_another_request_does_not_verify_elsewhere() -> None:
    url = "https://shop.example/a"
    with pytest.raises(InvalidSignature):
        verify(AGENT.headers("POST", url, body=b"{}"), url="https://shop.example/b")


def test_the_keyid_is_the_thumbprint() -> None:
    assert AGENT.keyid == thumbprint(AGENT.key.jwk)
    assert AgentSigningKey.make().keyid != AgentSigningKey.make().keyid


def test_what_is_not_there_cannot_be_covered() -> None:
    with pytest.raises(ValueError, match="has no header x-missing"):
        AGENT.headers("GET", URL, cover=("@authority", "x-missing"))
    with pytest.raises(ValueError, match="no component @status"):
        AGENT.headers("GET", URL, cover=("@status",))
