"""Verifying without the service: accepted and rejected receipts, the valid keys, and receipts that were used before."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgate_client import OfflineVerifier, Unavailable, VerificationFailed
from agentgate_client.key_set import LEAST_BETWEEN_S, STALE_S, FetchedKeys
from tests.site_server.gate import answering, odd_server
from tests.site_server.signer import NOW_S, ORIGIN, SITE_KEY, Signer, encode
from tests.support.ports import free_port

SIGNER = Signer()
STRANGER = Signer(b"\x02" * 32)
CLAIMS = json.dumps({"aud": SITE_KEY}).encode()


class Time:
    """A time of day, and a monotonic clock, that a test moves."""

    def __init__(self):
        self.now_s = float(NOW_S)

    def __call__(self):
        return self.now_s


@pytest.fixture
def now():
    return Time()


@pytest.fixture
def verifier(now):
    return OfflineVerifier(SIGNER.key_set(), SITE_KEY, now_s=now)


def code_of(verifier, token, **asked):
    with pytest.raises(VerificationFailed) as refused:
        verifier.verify(token, **{"expected_action": "signup", **asked})
    return refused.value.code


def test_a_right_token_is_accepted_with_its_claims(verifier):
    verified = verifier.verify(
        SIGNER.receipt(cData="basket 7"), expected_action="signup", expected_origin="HTTPS://shop.example:443"
    )

    assert (verified.source, verified.site_key, verified.kind) == ("offline", SITE_KEY, "browser")
    assert (verified.visitor_id, verified.c_data, verified.origin) == ("f" * 16, "basket 7", ORIGIN)
    assert verified.expires_at.timestamp() == NOW_S + 120


def test_the_second_name_of_the_algorithm_is_accepted(verifier):
    token = SIGNER.receipt()
    claims = base64.urlsafe_b64decode(token.split(".")[1] + "==")

    assert verifier.verify(SIGNER.sign(claims, alg="Ed25519"), expected_action="signup").source == "offline"


def test_an_agents_receipt_names_the_agent(verifier):
    verified = verifier.verify(SIGNER.receipt(kind="agent", sub="https://bot.example"), expected_action="signup")

    assert (verified.agent, verified.visitor_id) == ("https://bot.example", None)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"aud": "site_other001"}, "invalid_token"),
        ({"iat": NOW_S + 6}, "invalid_token"),
        ({"exp": NOW_S}, "expired_token"),
        ({"action": "login"}, "action_mismatch"),
        ({"kind": "other"}, "invalid_token"),
        ({"test": True}, "invalid_token"),
        ({"test": False}, "invalid_token"),
        ({"exp": str(NOW_S + 120)}, "invalid_token"),
        ({"exp": NOW_S + 120.5}, "invalid_token"),
        ({"exp": True}, "invalid_token"),
        ({"iat": None}, "invalid_token"),
        ({"jti": None}, "invalid_token"),
        ({"jti": 5}, "invalid_token"),
        ({"sub": None}, "invalid_token"),
        ({"decisionId": None}, "invalid_token"),
        ({"origin": 5}, "invalid_token"),
        ({"aud": [SITE_KEY]}, "invalid_token"),
    ],
)
def test_a_signed_token_that_does_not_fit_is_rejected(verifier, changes, code):
    assert code_of(verifier, SIGNER.receipt(**changes)) == code


def test_another_origin_and_other_content_are_rejected_and_not_spent(verifier):
    token = SIGNER.receipt(contentDigest="sha-256=:AAAA:")

    assert code_of(verifier, token, expected_origin="https://other.example") == "origin_mismatch"
    assert code_of(verifier, token, content_digest="sha-256=:BBBB:") == "invalid_token"
    assert verifier.verify(token, expected_action="signup", content_digest="sha-256=:AAAA:").source == "offline"


def _edited(token, place, edit):
    parts = token.split(".")
    parts[place] = edit(parts[place])
    return ".".join(parts)


def _forged():
    good = SIGNER.receipt()
    header, claims, signature = good.split(".")
    yield "a stranger's key", STRANGER.receipt()
    yield "a stranger's key under our name", STRANGER.sign(CLAIMS, kid=SIGNER.key_id)
    for algorithm in ("none", "HS256", "ES256", "eddsa", "", None, 5, ["EdDSA"]):
        yield f"algorithm {algorithm!r}", SIGNER.sign(CLAIMS, alg=algorithm)
    for kind in ("JWT", "AGENTGATE-RECEIPT+JWT", None):
        yield f"type {kind!r}", SIGNER.sign(CLAIMS, typ=kind)
    for key_id in ("", "../../keys", None, 5, "constructor"):
        yield f"key {key_id!r}", SIGNER.sign(CLAIMS, kid=key_id)
    for name, value in {"jwk": {}, "jku": "http://evil.example", "crit": ["exp"], "b64": False, "x5c": []}.items():
        yield f"header {name}", SIGNER.sign(CLAIMS, **{name: value})
    yield "claims that are a list", SIGNER.sign(b"[]")
    yield "claims that are no JSON", SIGNER.sign(b"{")
    yield "claims in Latin-1", SIGNER.sign(b'{"aud": "\xe4"}')
    yield "a member twice", SIGNER.sign(b'{"aud": "site_x", "aud": "site_y"}')
    yield "very deep claims", SIGNER.sign(b"[" * 700 + b"]" * 700)
    yield "a header twice", SIGNER.sign_parts(encode(b'{"alg":"EdDSA","alg":"none","kid":"k","typ":"t"}'), claims)
    yield "other claims", f"{header}.{encode(CLAIMS)}.{signature}"
    yield "a flipped signature", _edited(good, 2, lambda text: text[:5] + ("A" if text[5] != "A" else "B") + text[6:])
    yield "no signature", f"{header}.{claims}."
    yield "half a signature", good[:-40]
    yield "padding", good + "=="
    yield "stray bits", good[:-1] + chr(ord(good[-1]) + 1)
    yield "a line break", good + "\n"
    yield "a space", " " + good
    yield "four parts", good + ".AA"
    yield "two parts", f"{header}.{signature}"
    yield "standard base64", good.replace(claims, claims[:-1] + "+")
    yield "other digits", good.replace(".", ".\u0661", 1)
    yield "too long", SIGNER.receipt(cData="x" * 2000)
    yield "nothing", ""


@pytest.mark.parametrize("token", [pytest.param(token, id=name) for name, token in _forged()])
def test_what_is_not_a_receipt_of_the_service_is_rejected(verifier, token):
    assert code_of(verifier, token) == "invalid_token"


def test_a_token_is_accepted_once_and_its_own_repetition_gets_the_same_response(verifier):
    token = SIGNER.receipt()
    first = verifier.verify(token, expected_action="signup", request_id="order-1")

    assert verifier.verify(token, expected_action="signup", request_id="order-1") == first
    assert code_of(verifier, token, request_id="order-2") == "token_used"
    assert code_of(verifier, token) == "token_used"


def test_of_many_threads_with_one_token_one_wins(verifier):
    token = SIGNER.receipt()

    def attempt(_number):
        try:
            return verifier.verify(token, expected_action="signup").source
        except VerificationFailed as refused:
            return refused.code

    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(attempt, range(200)))

    assert sorted(outcomes) == ["offline"] + ["token_used"] * 199


def test_what_is_remembered_is_bounded_and_makes_room_when_it_expires(now):
    verifier = OfflineVerifier(SIGNER.key_set(), SITE_KEY, capacity=2, now_s=now)
    for _ in range(2):
        verifier.verify(SIGNER.receipt(), expected_action="signup")

    with pytest.raises(Unavailable):
        verifier.verify(SIGNER.receipt(), expected_action="signup")
    now.now_s += 130
    late = SIGNER.receipt(iat=NOW_S + 130, exp=NOW_S + 250)
    assert verifier.verify(late, expected_action="signup").source == "offline"
    assert len(verifier._spent) == 1


@pytest.mark.parametrize(
    "changes",
    [{"kid": "another"}, {"kty": "RSA"}, {"crv": "X25519"}, {"x": "AAAA"}, {"x": SIGNER.x + "="}, {"x": 5}],
)
def test_a_key_set_without_a_usable_key_is_rejected(changes):
    key = {**SIGNER.key_set()["keys"][0], **changes}

    with pytest.raises(ValueError, match="thumbprint"):
        OfflineVerifier({"keys": [key, None, "x"]}, SITE_KEY)


# The service's keys over HTTP.


def keys_of(*signers, **headers):
    body = json.dumps({"keys": [key for signer in signers for key in signer.key_set()["keys"]]}).encode()
    return answering(200, body, **headers)


@pytest.fixture
def monotonic():
    """The clock by which keys grow old."""
    return Time()


@pytest.fixture
def fetching(now, monotonic):
    """Make a verifier that fetches its keys."""
    return lambda url: OfflineVerifier(FetchedKeys(url, monotonic_s=monotonic), SITE_KEY, now_s=now)


def test_keys_are_fetched_once_and_again_when_their_time_has_ended(fetching, monotonic):
    with odd_server(keys_of(SIGNER, Cache_Control="public, max-age=300")) as server:
        verifier = fetching(server.url)
        for _ in range(3):
            verifier.verify(SIGNER.receipt(), expected_action="signup")
        assert len(server.paths) == 1
        assert server.paths == ["/.well-known/agentgate-keys.json"]
        monotonic.now_s += 300
        verifier.verify(SIGNER.receipt(), expected_action="signup")
        assert len(server.paths) == 2


def test_a_new_key_is_found_and_unknown_ones_cost_one_fetch_a_minute(fetching, monotonic):
    with odd_server(keys_of(SIGNER), keys_of(SIGNER, STRANGER)) as server:
        verifier = fetching(server.url)
        verifier.verify(SIGNER.receipt(), expected_action="signup")
        for _ in range(5):
            assert code_of(verifier, STRANGER.receipt()) == "invalid_token"
        assert len(server.paths) == 1
        monotonic.now_s += LEAST_BETWEEN_S
        assert verifier.verify(STRANGER.receipt(), expected_action="signup").source == "offline"
        assert len(server.paths) == 2


@pytest.mark.parametrize(
    "failure", [answering(503, b"{}"), answering(200, b"<html>"), answering(200, b'{"keys": []}'), answering(404, b"")]
)
def test_old_keys_continue_working_while_the_service_is_unavailable_for_a_day(fetching, monotonic, failure):
    with odd_server(keys_of(SIGNER), failure) as server:
        verifier = fetching(server.url)
        verifier.verify(SIGNER.receipt(), expected_action="signup")
        monotonic.now_s += STALE_S - 1
        assert verifier.verify(SIGNER.receipt(), expected_action="signup").source == "offline"
        assert len(server.paths) == 2
        monotonic.now_s += 1
        with pytest.raises(Unavailable):
            verifier.verify(SIGNER.receipt(), expected_action="signup")


def test_without_keys_nothing_is_accepted_and_nothing_called_invalid(now):
    verifier = OfflineVerifier(f"http://127.0.0.1:{free_port()}", SITE_KEY, now_s=now)

    assert not verifier.refresh()
    with pytest.raises(Unavailable):
        verifier.verify(SIGNER.receipt(), expected_action="signup")
