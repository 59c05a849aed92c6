"""Requests signed by real libraries are taken for what they are."""

import time

import pytest

from agentgate.agents.signing.fields import matches
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.lib.enums import AgentVerdict
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from tests.agents_clients.clients import (
    COVERING_BODY,
    SEED,
    STRANGERS,
    WELCOME,
    ClientRequest,
    Wanted,
    sign_with_every_client,
)
from tests.unit.agents.verifying import AGENT, KnownKeys, message_of, policy_with, verify

FETCH = Wanted("GET", "https://shop.example/list?page=2&sort=price", headers={"crawler-max-price": "USD 0.05"})
POST = Wanted("POST", "https://shop.example/contact", body=b'{"message":"Good day"}')
POLICY = policy_with(AgentSigningKey(SEED).jwks)


@pytest.fixture(scope="module")
def fetches() -> dict[str, ClientRequest]:
    return sign_with_every_client(FETCH)


@pytest.fixture(scope="module")
def posts() -> dict[str, ClientRequest]:
    return sign_with_every_client(POST)


@pytest.fixture
def verifier() -> AgentVerifier:
    return AgentVerifier(KnownKeys({}))


@pytest.mark.parametrize("client", WELCOME)
def test_a_fetch_signed_by_a_client_is_verified(
    client: str, fetches: dict[str, ClientRequest], verifier: AgentVerifier
) -> None:
    method, url, headers, _ = fetches[client]
    identity = verify(verifier, message_of(method, url, headers), now_s=time.time(), policy=POLICY)
    assert (identity.verdict, identity.agent, identity.why) == (AgentVerdict.VERIFIED, AGENT, None)
    assert identity.keyid == AgentSigningKey(SEED).keyid


@pytest.mark.parametrize("client", WELCOME)
def test_the_same_signature_is_invalid_on_another_host(
    client: str, fetches: dict[str, ClientRequest], verifier: AgentVerifier
) -> None:
    method, url, headers, _ = fetches[client]
    moved = message_of(method, url.replace("shop.example", "other.example"), headers)
    assert verify(verifier, moved, now_s=time.time(), policy=POLICY).verdict is AgentVerdict.INVALID


@pytest.mark.parametrize("client", COVERING_BODY)
def test_an_offered_price_is_covered(client: str, fetches: dict[str, ClientRequest], verifier: AgentVerifier) -> None:
    method, url, headers, _ = fetches[client]
    identity = verify(verifier, message_of(method, url, headers), now_s=time.time(), policy=POLICY)
    assert "crawler-max-price" in identity.covered


@pytest.mark.parametrize("client", COVERING_BODY)
def test_a_body_sent_by_a_client_is_bound_to_the_signature(
    client: str, posts: dict[str, ClientRequest], verifier: AgentVerifier
) -> None:
    method, url, headers, body = posts[client]
    identity = verify(verifier, message_of(method, url, headers), now_s=time.time(), policy=POLICY)
    assert identity.verdict is AgentVerdict.VERIFIED, identity.why
    assert "content-digest" in identity.covered
    assert body is not None
    assert matches(headers["content-digest"].encode(), body)


@pytest.mark.parametrize("client", STRANGERS)
@pytest.mark.parametrize("which", ["fetch", "post"])
def test_a_signature_without_the_tag_makes_no_one_a_verified_agent(
    client: str,
    which: str,
    fetches: dict[str, ClientRequest],
    posts: dict[str, ClientRequest],
    verifier: AgentVerifier,
) -> None:
    method, url, headers, _ = (fetches if which == "fetch" else posts)[client]
    assert "signature-input" in headers
    identity = verify(verifier, message_of(method, url, headers), now_s=time.time(), policy=POLICY)
    assert identity.verdict is AgentVerdict.UNSIGNED
