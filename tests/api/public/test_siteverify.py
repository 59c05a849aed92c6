"""Siteverify: the order of the checks, redemption of tokens, and repeated responses."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgate.browser_check.tokens.receipts import SigningKeys, read_receipt
from agentgate.browser_check.tokens.repository import Redemption
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import ReceiptKind
from agentgate.lib.keyring import Keyring, load_keys
from tests.api.public.shop import SITEVERIFY, code, open_shop
from tests.support.tokens import DECISION, ORIGIN, mint

OK = (200, None)


@pytest.fixture
def shop(service):
    return open_shop(service)


def test_a_token_is_redeemed_and_the_response_shows_what_it_was_for(shop):
    answer = shop.verify(shop.token(c_data="cart-7"), expectedOrigin=ORIGIN, requestId="order-1")

    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "siteKey": "site_shop",
        "action": "login",
        "kind": "browser",
        "issuedAt": "2026-11-15T12:00:00.000Z",
        "expiresAt": "2026-11-15T12:02:00.000Z",
        "decisionId": DECISION,
        "origin": ORIGIN,
        "visitorId": "0123456789abcdef",
        "requestId": "order-1",
        "cData": "cart-7",
    }


def test_an_agents_receipt_names_the_agent_and_no_visitor(shop):
    token = shop.token(kind=ReceiptKind.AGENT, subject="https://agent.example")

    answer = shop.verify(token).json()

    assert answer["agent"] == "https://agent.example"
    assert "visitorId" not in answer


def test_a_token_is_redeemed_once(shop):
    token = shop.token()

    assert code(shop.verify(token)) == OK
    assert code(shop.verify(token)) == (409, "token_used")
    assert code(shop.verify(token, requestId="late")) == (409, "token_used")


def test_a_repeated_request_gets_the_same_bytes_and_every_other_one_a_rejection(shop):
    token = shop.token()
    first = shop.verify(token, requestId="order-1")

    again = shop.verify(token, requestId="order-1")

    assert first.status_code == 200
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert code(shop.verify(token, requestId="order-2")) == (409, "token_used")
    assert code(shop.verify(token)) == (409, "token_used")


def spend(shop, token, redemption):
    application, now_ms = shop.service.application, shop.service.clock.now_ms()
    jti = read_receipt(token, application.signing_keys).claims.jti
    spending = application.stores.redemptions.spend(
        shop.site_id, jti, redemption, issued_ms=now_ms, kept_until_ms=now_ms + DAY_MS
    )
    assert shop.service.run(spending)


@pytest.mark.parametrize("kind", ReceiptKind)
def test_a_response_that_the_store_has_is_given_as_it_is(shop, kind):
    # The previous release also stored the responses about browser tokens.
    kept = shop.verify(shop.token(c_data="another"), requestId="order-1").content
    token = shop.token(kind=kind)

    spend(shop, token, Redemption("order-1", kept))

    assert shop.verify(token, requestId="order-1").content == kept
    assert code(shop.verify(token, requestId="order-2")) == (409, "token_used")


def test_a_receipt_that_a_submission_has_spent_is_not_redeemed_by_the_submissions_id(shop):
    token = shop.token(kind=ReceiptKind.HANDOFF)

    spend(shop, token, Redemption("submit:ho_1"))

    assert code(shop.verify(token, requestId="submit:ho_1")) == (409, "token_used")


def test_the_same_response_comes_for_24_hours_whatever_else_the_repeated_call_shows(shop, service):
    token = shop.token()
    first = shop.verify(token, requestId="order-1", expectedOrigin=ORIGIN)

    service.clock.advance(hours=23.99)
    # Run the cleanup job for expired redemptions.
    service.run(service.application.stores.redemptions.forget_redemptions(service.clock.now_ms(), most=100))
    other = {"expectedAction": "other", "expectedOrigin": "https://other.example", "remoteAddress": "192.0.2.1"}
    assert shop.verify(token, requestId="order-1").content == first.content
    assert shop.verify(token, requestId="order-1", **other).content == first.content
    assert code(shop.verify(token, requestId="order-2", **other)) == (409, "token_used")


def test_the_same_response_comes_when_the_secret_was_rotated_in_between(shop, service):
    token = shop.token()
    first = shop.verify(token, requestId="order-1")

    new = shop.rotate(60)
    service.clock.advance(seconds=3600)

    assert code(shop.verify(token, requestId="order-1")) == (401, "invalid_credential")
    assert shop.verify(token, requestId="order-1", secret=new).content == first.content


def test_a_rejected_token_is_not_spent(shop):
    token = shop.token()

    assert code(shop.verify(token, expectedAction="signup", requestId="a")) == (422, "action_mismatch")
    assert code(shop.verify(token, expectedOrigin="https://other.example")) == (422, "origin_mismatch")
    assert code(shop.verify(token, contentDigest="sha-256=:x:")) == (422, "invalid_token")
    assert code(shop.verify(token, requestId="a")) == OK


# The checks in their order: each with the change that makes it fail, and its response.
STEPS = (
    ("parse", {"requestId": "not allowed!"}, (400, "invalid_request")),
    ("credential", {"secret": "ags_" + "x" * 43}, (401, "invalid_credential")),
    ("token", {"token": "x.y.z"}, (422, "invalid_token")),
    ("expiry", {"age_s": 121}, (422, "expired_token")),
    ("action", {"expectedAction": "signup"}, (422, "action_mismatch")),
    ("origin", {"expectedOrigin": "https://other.example"}, (422, "origin_mismatch")),
)


def test_of_two_faults_the_earlier_one_is_reported(shop):
    for (_, first, answer), (_, second, _) in itertools.combinations_with_replacement(STEPS, 2):
        fields = {**first, **second}
        token = fields.pop("token", None) or shop.token(age_s=fields.pop("age_s", 0))
        fields.pop("age_s", None)

        assert code(shop.verify(token, **fields)) == answer, (first, second)


def test_a_redeemed_token_is_reported_before_expiry_action_and_origin(shop, service):
    token = shop.token()
    assert code(shop.verify(token, requestId="a")) == OK
    service.clock.advance(seconds=600)

    for _, fault, answer in STEPS[:3]:
        fields = {"requestId": "a"} | fault
        assert code(shop.verify(fields.pop("token", token), **fields)) == answer
    for _, fault, _ in STEPS[4:]:
        assert code(shop.verify(token, requestId="b", **fault)) == (409, "token_used")
        assert code(shop.verify(token, requestId="a", **fault)) == OK


@pytest.mark.parametrize(("age_ms", "answer"), [(119_999, OK), (120_000, (422, "expired_token"))])
def test_a_token_is_good_until_the_moment_of_its_expiry(shop, service, age_ms, answer):
    token = shop.token()
    service.clock.advance(ms=age_ms)

    assert code(shop.verify(token)) == answer


@pytest.mark.parametrize(("ahead_s", "answer"), [(5, OK), (6, (422, "invalid_token"))])
def test_another_workers_clock_may_be_five_seconds_ahead(shop, ahead_s, answer):
    assert code(shop.verify(shop.token(age_s=-ahead_s))) == answer


def test_the_token_of_another_site_is_rejected_and_stays_good_there(shop, service):
    other = open_shop(service, "site_other")
    token = other.token()

    assert code(shop.verify(token)) == (401, "invalid_credential")
    assert code(other.verify(token)) == OK


def test_origins_are_compared_as_browsers_write_them(shop):
    assert code(shop.verify(shop.token(), expectedOrigin="HTTPS://Shop.Example:443")) == OK
    assert code(shop.verify(shop.token(), expectedOrigin="https://shop.example:8443")) == (422, "origin_mismatch")
    for wrong in ("shop.example", "https://shop.example/", "null", "", "https://shop.example/login"):
        assert code(shop.verify(shop.token(), expectedOrigin=wrong)) == (400, "invalid_request")


def test_a_token_that_is_bound_to_content_needs_its_digest(shop):
    digest = "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"
    token = shop.token(action="upload", content_digest=digest)

    assert code(shop.verify(token, expectedAction="upload")) == (400, "invalid_request")
    assert code(shop.verify(token, expectedAction="upload", contentDigest=digest[:-2])) == (422, "invalid_token")
    assert code(shop.verify(token, expectedAction="upload", contentDigest=digest)) == OK


def test_twins_in_flight_get_one_response(shop):
    token = shop.token()

    with ThreadPoolExecutor(16) as threads:
        clients = [shop.service.new_public_client() for _ in range(16)]
        body = {"token": token, "expectedAction": "login", "requestId": "twin", "secret": shop.secret}
        answers = list(threads.map(lambda number: clients[number % 16].post(SITEVERIFY, json=body), range(48)))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_of_many_calls_at_once_with_their_own_ids_one_succeeds(shop):
    token = shop.token()

    with ThreadPoolExecutor(16) as threads:
        clients = [shop.service.new_public_client() for _ in range(16)]
        bodies = [
            {"token": token, "expectedAction": "login", "requestId": f"r{number}", "secret": shop.secret}
            for number in range(48)
        ]
        answers = list(threads.map(lambda n: clients[n % 16].post(SITEVERIFY, json=bodies[n]), range(48)))

    assert sorted(map(code, answers)) == [OK, *[(409, "token_used")] * 47]


def test_a_response_that_is_lost_behind_the_commit_is_given_by_the_retry(shop, service):
    database = service.application.stores.redemptions._database
    insert_new = database.insert_new

    async def lost(new, rows):
        await insert_new(new, rows)
        raise StoreUnavailable("the connection broke behind the commit")

    token = shop.token()
    database.insert_new = lost
    refused = shop.verify(token, requestId="order-1")
    del database.insert_new

    assert code(refused) == (503, "unavailable")
    assert refused.json()["success"] is False
    assert refused.headers["retry-after"] == "5"
    assert code(shop.verify(token, requestId="order-1")) == OK
    assert code(shop.verify(token, requestId="order-2")) == (409, "token_used")


def test_a_token_that_another_worker_signed_is_redeemed(shop, service):
    application, now_ms = service.application, service.clock.now_ms()
    stored = service.run(load_keys(application.stores.store, application.sealer, now_ms))
    token = mint(SigningKeys(Keyring(stored, now_ms)), shop.site_key, now_ms=now_ms)

    assert code(shop.verify(token, requestId="r")) == (200, None)
    assert code(shop.verify(token, requestId="s")) == (409, "token_used")


def test_a_token_with_one_changed_bit_is_rejected_and_the_right_one_is_still_good(shop):
    token = shop.token()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for place in [*range(0, len(token), 23), *range(len(token) - 86, len(token), 7)]:
        other = alphabet[alphabet.find(token[place]) ^ 1]

        assert code(shop.verify(token[:place] + other + token[place + 1 :])) == (422, "invalid_token"), place
    assert code(shop.verify(token)) == (200, None)
