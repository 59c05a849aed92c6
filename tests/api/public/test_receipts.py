"""Receipts for any holder: inspected without being redeemed, and verified offline with the published keys."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from agentgate.lib.enums import ReceiptKind
from agentgate.lib.keyring import ACTIVATION_MS, rotate_key
from agentgate.lib.limits import PUBLISHED_KEYS_MAX_AGE_S
from tests.api.public.shop import code, open_shop
from tests.support.tokens import DECISION, ORIGIN
from tests.unit.browser_check.tokens.malformed import cases

VERIFY = "/v1/receipts/verify"
KEYS = "/.well-known/agentgate-keys.json"


@pytest.fixture
def shop(service):
    return open_shop(service)


def look(shop, receipt, **fields):
    answer = shop.service.public.post(VERIFY, json={"receipt": receipt, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def read_part(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def test_a_valid_receipt_is_shown_with_its_claims_and_is_not_spent(shop):
    receipt = shop.token(kind=ReceiptKind.AGENT, subject="https://agent.example", submission_id="s-1")

    seen = [look(shop, receipt) for _ in range(3)]

    assert seen[0] == seen[2]
    claims = seen[0]["receipt"]
    assert seen[0] == {
        "valid": True,
        "receipt": {
            "iss": "https://gate.example",
            "aud": "site_shop",
            "jti": claims["jti"],
            "iat": 1_794_744_000,
            "exp": 1_794_744_120,
            "kind": "agent",
            "action": "login",
            "sub": "https://agent.example",
            "decisionId": DECISION,
            "origin": ORIGIN,
            "submissionId": "s-1",
        },
        "keyId": read_part(receipt.split(".")[0])["kid"],
        "expiresAt": "2026-11-15T12:02:00.000Z",
    }
    assert code(shop.verify(receipt)) == (200, None)
    assert look(shop, receipt)["valid"] is True


def test_what_is_given_next_to_the_receipt_must_fit(shop):
    receipt = shop.token(content_digest="sha-256=:x:")

    assert look(shop, receipt, siteKey="site_shop", action="login", contentDigest="sha-256=:x:")["valid"] is True
    for fields, error in (
        ({"siteKey": "site_other"}, "invalid_token"),
        ({"action": "signup"}, "action_mismatch"),
        ({"contentDigest": "sha-256=:y:"}, "invalid_token"),
    ):
        seen = look(shop, receipt, **fields)
        assert (seen["valid"], seen["error"]) == (False, error)
        assert seen["message"]
        assert set(seen) == {"valid", "error", "message"}
    assert look(shop, shop.token(), contentDigest="sha-256=:x:")["error"] == "invalid_token"


def test_a_receipt_is_valid_in_its_time_only(shop, service):
    receipt = shop.token()

    assert look(shop, shop.token(age_s=-6))["error"] == "invalid_token"
    service.clock.advance(ms=119_999)
    assert look(shop, receipt)["valid"] is True
    service.clock.advance(ms=1)
    assert look(shop, receipt)["error"] == "expired_token"


def test_a_test_token_is_no_valid_receipt(shop):
    assert look(shop, shop.token(test=True))["error"] == "invalid_token"


def test_whatever_is_not_a_receipt_gets_invalid_token(shop):
    for name, text in list(cases())[::9]:
        if not any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
            assert look(shop, text)["error"] == "invalid_token", name


def test_another_body_is_a_malformed_request(service):
    for body in ({}, {"receipt": 1}, {"receipt": "x", "more": 1}, [], {"receipt": "x", "contentDigest": "y" * 301}):
        assert code(service.public.post(VERIFY, json=body)) == (400, "invalid_request")


def test_anyone_verifies_a_receipt_with_the_published_keys(shop, service):
    header, claims, signature = shop.token().split(".")
    published = {key["kid"]: key for key in service.public.get(KEYS).json()["keys"]}

    key = published[read_part(header)["kid"]]

    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("OKP", "Ed25519", "EdDSA", "sig")
    public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key["x"] + "="))
    public.verify(base64.urlsafe_b64decode(signature + "=="), f"{header}.{claims}".encode())


def test_the_key_set_is_cached_and_read_by_pages_of_any_origin(service):
    answer = service.public.get(KEYS, headers={"Origin": "https://anywhere.example"})

    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.headers["content-type"] == "application/json"
    assert all(set(key) == {"kty", "crv", "use", "alg", "kid", "x"} for key in answer.json()["keys"])


def test_a_rotated_key_is_published_a_cache_life_before_it_signs_and_the_old_one_until_nothing_needs_it(shop, service):
    application = service.application

    def now_published():
        service.run(application._refresh_keys())
        return [key["kid"] for key in service.public.get(KEYS).json()["keys"]]

    def signs():
        return read_part(shop.token().split(".")[0])["kid"]

    [old] = now_published()
    service.run(rotate_key(application.stores.store, application.sealer, "receipt", service.clock.now_ms()))
    announced = now_published()
    assert len(announced) == 2
    [new] = set(announced) - {old}
    assert signs() == old

    # Caches of the key set expire before the new key signs, even if they were filled just before the rotation.
    service.clock.advance(seconds=PUBLISHED_KEYS_MAX_AGE_S)
    assert set(now_published()) == {old, new}
    assert signs() == old
    last_of_old = shop.token(lifetime_s=3600)
    assert code(shop.verify(last_of_old, requestId="r")) == (200, None)

    service.clock.advance(ms=ACTIVATION_MS - PUBLISHED_KEYS_MAX_AGE_S * 1000)
    assert set(now_published()) == {old, new}
    assert signs() == new

    # The last receipt has expired, but a call that redeemed one may be repeated for a day.
    service.clock.advance(hours=23.9)
    assert set(now_published()) == {old, new}
    assert code(shop.verify(last_of_old, requestId="r")) == (200, None)
    service.clock.advance(days=2)
    assert now_published() == [new]
    assert code(shop.verify(shop.token())) == (200, None)
