"""Private tokens (Privacy Pass) in the browser check: asked for, taken once, and speaking for the visitor."""

import base64
import hashlib
import re

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.browser_client import INTERACTION, SIGNALS, BrowserClient, create_site, decision_of
from tests.support.service import RunningService

ISSUER = "issuer.example"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SPKI = KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
PSS = padding.PSS(mgf=padding.MGF1(SHA384()), salt_length=48)


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def issue(header: str, *, nonce: bytes = bytes(32)) -> str:
    """Return the token that the issuer would sign for a challenge, as a browser sends it."""
    told = re.match(r'PrivateToken challenge="([^"]+)", token-key="([^"]+)"', header)
    assert told is not None
    assert base64.urlsafe_b64decode(told[2]) == SPKI
    challenge = base64.urlsafe_b64decode(told[1])
    signed = b"\x00\x02" + nonce + hashlib.sha256(challenge).digest() + hashlib.sha256(SPKI).digest()
    return f'PrivateToken token="{text(signed + KEY.sign(signed, PSS, SHA384()))}"'


@pytest.fixture
def page(service: RunningService) -> BrowserClient:
    trusted = [{"name": ISSUER, "tokenKey": text(SPKI)}]
    return BrowserClient(service, create_site(service, privateTokenIssuers=trusted))


def show(page: BrowserClient, challenge: dict[str, str], authorization: str | None = None):
    sent = {} if authorization is None else {"Authorization": authorization}
    return page.service.public.get(challenge["privateToken"], headers={**page.headers, **sent})


def labels_of(page: BrowserClient, challenge) -> set[str]:
    passed = page.verify(challenge).json()
    assert passed["status"] == "passed"
    return set(decision_of(page.service, page.site_key, passed["decisionId"])["labels"])


def test_a_token_of_a_trusted_issuer_supports_the_visitor(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    asked = show(page, challenge)
    assert (asked.status_code, asked.json()["error"]) == (401, "private_token_required")

    taken = show(page, challenge, issue(asked.headers["www-authenticate"]))

    assert (taken.status_code, taken.json()) == (200, {"status": "accepted"})
    assert "privacy_pass.verified" in labels_of(page, challenge)


def test_no_one_needs_one(page: BrowserClient) -> None:
    assert "privacy_pass.verified" not in labels_of(page, page.challenge().json())


def test_a_token_is_taken_once_and_for_its_challenge(page: BrowserClient) -> None:
    challenge, other = page.challenge().json(), page.challenge().json()
    token = issue(show(page, challenge).headers["www-authenticate"])

    refused = show(page, other, token)
    assert (refused.status_code, refused.json()["error"]) == (403, "private_token_invalid")
    assert show(page, challenge, token).status_code == 200
    assert show(page, challenge, token).status_code == 403
    assert "privacy_pass.verified" not in labels_of(page, other)


def test_a_forged_token_is_rejected(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    token = issue(show(page, challenge).headers["www-authenticate"])
    # In its nonce, in what it was made for, and twice in its signature.
    forged = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in (30, 100, 200, -20)]

    for wrong in (*forged, "PrivateToken token=AAI", "Bearer abc"):
        assert show(page, challenge, wrong).status_code == 403, wrong
    assert "privacy_pass.verified" not in labels_of(page, challenge)


def test_another_visitor_cannot_show_one_for_this_challenge(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    token = issue(show(page, challenge).headers["www-authenticate"])
    stranger = BrowserClient(page.service, page.site_key)

    assert show(stranger, challenge, token).json()["error"] == "challenge_invalid"


def test_a_site_without_issuers_asks_for_none(service: RunningService) -> None:
    page = BrowserClient(service, create_site(service))
    challenge = page.challenge().json()

    assert "privateToken" not in challenge
    path = f"/v1/browser/private-token?challengeId={challenge['challengeId']}"
    assert service.public.get(path, headers=page.headers).json()["error"] == "challenge_invalid"


def test_issuers_are_checked_kept_and_audited(page: BrowserClient) -> None:
    path = f"/v1/admin/sites/{page.site_key}"
    site = page.service.operator.get(path).json()
    assert site["privateTokenIssuers"] == [{"name": ISSUER, "tokenKey": text(SPKI)}]

    wrong = page.service.operator.patch(path, json={"privateTokenIssuers": [{"name": ISSUER, "tokenKey": "AAAA"}]})
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_site")
    assert "2048 bits" in wrong.json()["message"]
    emptied = page.service.operator.patch(path, json={"privateTokenIssuers": []}).json()
    assert emptied["changes"][0]["detail"]["privateTokenIssuers"]["to"] == []


def test_it_vouches_ten_times_an_hour_for_the_checks_of_one_cluster(page: BrowserClient) -> None:
    outcomes = []
    for number in range(16):
        client = BrowserClient(page.service, page.site_key, address=f"84.{number}.1.7")
        challenge = client.challenge().json()
        asked = show(client, challenge)
        taken = show(client, challenge, issue(asked.headers["www-authenticate"]))
        assert taken.status_code == 200
        signals = {**SIGNALS, "hardwareConcurrency": number + 1}
        reply = client.verify(challenge, signals=signals, interaction=INTERACTION).json()
        if reply["status"] == "passed":
            labels = decision_of(page.service, page.site_key, reply["decisionId"])["labels"]
            assert "privacy_pass.verified" in labels
            outcomes.append("clustered" if "cluster.evidence" in labels else "alone")
        else:
            outcomes.append(reply["status"])

    # Two are no cluster yet. A cluster counts networks in 256 bits under a random key, so that two of the first may
    # share a bit: then the next one, or the one after it, is the third.
    alone = outcomes.index("clustered")
    assert 2 <= alone <= 4
    # Then a farm with a few such devices has ten tokens that count.
    assert outcomes == ["alone"] * alone + ["clustered"] * 10 + ["step_up"] * (6 - alone)
