"""Attacks on the sign-in with an identity provider: tokens and responses of others. Each returns 401."""

import hmac
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from agentgate.lib.settings.schema import Settings
from tests.api.account.oidc_steps import PAGES, begin, choose, claims_for, come_back, service_of, sign_in
from tests.api.account.steps import trail
from tests.api.console.steps import CONSOLE
from tests.support.cast import Cast, cast
from tests.support.issuer import CLIENT, RSA, Issuer, number, running_issuer, signed
from tests.support.service import RunningService

ACCOUNT = "/v1/account"
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PUBLIC_PEM = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

# Changed claims, and how the token is signed.
TOKENS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another issuer": ({"iss": "https://evil.example"}, {}),
    "the issuer with a slash": ({"iss": "{issuer}/"}, {}),
    "another audience": ({"aud": "other"}, {}),
    "no audience": ({"aud": []}, {}),
    "several audiences without azp": ({"aud": [CLIENT, "other"]}, {}),
    "issued to another client": ({"aud": [CLIENT, "other"], "azp": "other"}, {}),
    "issued to another client, one audience": ({"azp": "other"}, {}),
    "another nonce": ({"nonce": "guessed"}, {}),
    "no nonce": ({"nonce": None}, {}),
    "expired": ({"exp": 61}, {}),
    "not yet valid": ({"nbf": -61}, {}),
    "no expiry": ({"exp": None}, {}),
    "no subject": ({"sub": ""}, {}),
    "another key": ({}, {"key": OTHER_RSA}),
    "an unknown key ID": ({}, {"kid": "new", "key": OTHER_RSA}),
    "no key ID among several": ({}, {"kid": None}),
    "no signature": ({}, {"alg": "none", "key": lambda _: b""}),
    "no signature, RS256": ({}, {"key": lambda _: b""}),
    "the public key as secret": ({}, {"alg": "HS256", "key": lambda text: hmac.digest(PUBLIC_PEM, text, "sha256")}),
    "another algorithm than the key's": ({}, {"alg": "ES256", "kid": "rsa"}),
    "a key for encryption": ({}, {"kid": "for-encryption"}),
    "a shared secret of the key set": (
        {},
        {"alg": "HS256", "kid": "shared", "key": lambda text: hmac.digest(b"secret", text, "sha256")},
    ),
    "a wrong curve's key": ({}, {"alg": "ES256", "kid": "ec", "key": ec.generate_private_key(ec.SECP256R1())}),
    "a wrong Ed25519 key": ({}, {"alg": "EdDSA", "kid": "ed", "key": ed25519.Ed25519PrivateKey.generate()}),
}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


@pytest.fixture
def service(settings: Settings, issuer: Issuer) -> Iterator[RunningService]:
    with service_of(settings, issuer.url) as running:
        yield running


@pytest.fixture
def people(service: RunningService) -> Cast:
    people = cast(service)
    assert choose(people.alice).status_code == 200
    return people


def test_a_token_that_proves_nothing_signs_no_user_in(service: RunningService, issuer: Issuer, people: Cast) -> None:
    now_s = service.clock.now_ms() // 1000
    found = {}
    for name, (changed, how) in TOKENS.items():
        client = service.new_public_client()
        asked = begin(client)
        claims = claims_for(issuer, service, asked, **changed)
        claims |= {key: now_s - changed[key] for key in ("exp", "nbf") if isinstance(changed.get(key), int)}
        claims["iss"] = claims["iss"].replace("{issuer}", issuer.url)
        issuer.token = signed(claims, **how)
        found[name] = (come_back(client, asked).status_code, client.get(f"{ACCOUNT}/session").status_code)

    assert found == dict.fromkeys(TOKENS, (401, 401))
    failures = [entry for entry in trail(service) if entry[1] == "signin.failure"]
    assert (len(failures), {entry[4]["method"] for entry in failures}) == (len(TOKENS), {"oidc"})
    # An unknown key ID does not make the service ask again for each token.
    assert issuer.asked.count("/jwks") == 1


@pytest.mark.parametrize(("alg", "kid"), [("ES256", "ec"), ("EdDSA", "ed")])
def test_each_accepted_algorithm_signs_in(
    service: RunningService, issuer: Issuer, people: Cast, alg: str, kid: str
) -> None:
    client = service.new_public_client()
    asked = begin(client)
    issuer.token = signed(claims_for(issuer, service, asked, aud=[CLIENT, "other"], azp=CLIENT), alg=alg, kid=kid)

    assert come_back(client, asked).status_code == 303


def test_a_new_key_is_found_a_minute_later(service: RunningService, issuer: Issuer, people: Cast) -> None:
    sign_in(service, issuer)
    numbers = OTHER_RSA.public_key().public_numbers()
    issuer.keys = [{"kty": "RSA", "kid": "new", "n": number(numbers.n), "e": number(numbers.e)}]
    replies = []
    for seconds in (59, 1):
        service.clock.advance(seconds=seconds)
        client = service.new_public_client()
        asked = begin(client)
        issuer.token = signed(claims_for(issuer, service, asked), kid="new", key=OTHER_RSA)
        replies.append(come_back(client, asked).status_code)

    assert replies == [401, 303]


def test_a_response_counts_only_in_the_browser_that_asked(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    attacker, victim = service.new_public_client(), service.new_public_client()
    asked = begin(attacker)
    issuer.token = signed(claims_for(issuer, service, asked))
    without = come_back(victim, asked)
    begin(victim)

    found = [
        without,
        come_back(victim, asked),
        come_back(attacker, {"state": "guessed"}),
        come_back(attacker, asked, iss="https://evil.example"),
        attacker.get(f"{PAGES}/callback", params={"state": asked["state"], "error": "access_denied"}),
    ]

    assert [reply.status_code for reply in found] == [401] * 5
    assert victim.get(f"{ACCOUNT}/session").status_code == 401
    # The flow has ended in the attacker's browser, too.
    assert come_back(attacker, asked).status_code == 401


def test_a_sign_in_expires_after_ten_minutes(service: RunningService, issuer: Issuer, people: Cast) -> None:
    client = service.new_public_client()
    asked = begin(client)
    service.clock.advance(seconds=600)
    issuer.token = signed(claims_for(issuer, service, asked))

    assert come_back(client, asked).status_code == 401


def test_the_configuration_of_another_issuer_is_not_used(service: RunningService, issuer: Issuer, people: Cast) -> None:
    found = []
    for changed in ({"issuer": "https://evil.example"}, {"jwks_uri": "http://127.0.0.2:9/jwks"}, {"token_endpoint": 7}):
        good = dict(issuer.metadata)
        issuer.metadata |= changed
        found.append(service.public.get(PAGES, params={"issuer": "work"}).status_code)
        issuer.metadata = good

    assert found == [401] * 3


def test_a_page_to_open_is_one_of_the_console(service: RunningService, issuer: Issuer, people: Cast) -> None:
    for path in ("https://evil.example", "//evil.example", "/console/../evil"):
        client = service.new_public_client()
        asked = begin(client, next=path)
        issuer.token = signed(claims_for(issuer, service, asked))
        assert come_back(client, asked).headers["location"] == "/console"


def test_one_source_cannot_make_the_service_ask_an_issuer_without_end(service: RunningService) -> None:
    found = [service.public.get(f"{PAGES}/callback").status_code for _ in range(61)]

    assert found == [401] * 60 + [429]


def test_an_unknown_issuer_starts_no_sign_in_of_an_operator(service: RunningService, people: Cast) -> None:
    found = service.anonymous.get("/operator/oidc", params={"issuer": "unknown"})

    assert found.status_code == 404
    assert people.alice.get(f"{CONSOLE}/account").json()["oidc"]["issuer"] == "work"
