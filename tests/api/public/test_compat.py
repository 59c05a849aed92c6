"""Redeeming tokens in the words of Turnstile, reCAPTCHA and hCaptcha: form, JSON or multipart in, always 200 out."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from agentgate.browser_check.tokens.receipts import Grant, ReceiptIssuer
from agentgate.lib.enums import ReceiptKind
from tests.support.browser_client import ORIGIN, create_site, get_token
from tests.support.service import RunningService

TURNSTILE = "/compat/turnstile/v0/siteverify"
RECAPTCHA = "/compat/recaptcha/api/siteverify"
HCAPTCHA = "/compat/hcaptcha/siteverify"
# The services' own paths.
OWN = {TURNSTILE: "/turnstile/v0/siteverify", RECAPTCHA: "/recaptcha/api/siteverify", HCAPTCHA: "/siteverify"}
EVERY_ROUTE = [TURNSTILE, RECAPTCHA, HCAPTCHA]
SCRIPTS = ["/turnstile/v0/api.js", "/recaptcha/api.js", "/recaptcha/enterprise.js", "/1/api.js"]
LIFETIME_S = 120

NAMES = {
    TURNSTILE: {"expired": "timeout-or-duplicate", "used": "timeout-or-duplicate"},
    RECAPTCHA: {"expired": "timeout-or-duplicate", "used": "timeout-or-duplicate"},
    HCAPTCHA: {
        "expired": "expired-input-response",
        "used": "already-seen-response",
        "foreign": "sitekey-secret-mismatch",
        "test": "not-using-dummy-passcode",
    },
}


@dataclass(frozen=True)
class Shop:
    """A site, its secret, and tokens for it."""

    service: RunningService
    site_key: str
    secret: str

    def token(self, **changes: Any) -> str:
        """Return a fresh token as the service signs it."""
        issuer = ReceiptIssuer(
            self.service.application.signing_keys, issuer="https://gate.example", lifetime_s=LIFETIME_S
        )
        grant = {
            "site_key": self.site_key,
            "kind": ReceiptKind.BROWSER,
            "action": "login",
            "subject": "0123456789abcdef",
            "decision_id": "dec_0000000000000",
            "origin": ORIGIN,
            **changes,
        }
        return issuer.issue(Grant(**grant), now_ms=self.service.clock.now_ms()).receipt

    def verify(self, route: str, **fields: Any) -> Any:
        """Call a route with a valid form that `fields` changes; None omits a field."""
        form = {"secret": self.secret, "response": self.token(), **fields}
        reply = self.service.public.post(route, data={name: value for name, value in form.items() if value is not None})
        assert reply.status_code == 200, reply.text
        return reply.json()


@pytest.fixture(scope="module")
def shop(shared_service: RunningService) -> Shop:
    """A site with two actions."""
    site_key = create_site(shared_service)
    made = shared_service.operator.post(f"/v1/admin/sites/{site_key}/credentials")
    assert made.status_code == 201, made.text
    return Shop(shared_service, site_key, made.json()["secret"])


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_a_token_of_the_browser_check_is_accepted_in_a_form(shop: Shop, route: str):
    token = get_token(shop.service, shop.site_key, "signup", address="192.0.2.200")

    answer = shop.verify(route, response=token, remoteip="192.0.2.1")

    assert answer["success"] is True
    assert answer["hostname"] == "shop.example"
    assert answer["action"] == "signup"
    assert answer["challenge_ts"].startswith("2026-")


@pytest.mark.parametrize("route", EVERY_ROUTE)
@pytest.mark.parametrize("way", ["json", "multipart"])
def test_json_and_multipart_are_understood_as_well(shop: Shop, route: str, way: str):
    fields = {"secret": shop.secret, "response": shop.token()}
    if way == "json":
        reply = shop.service.public.post(route, json={**fields, "remoteip": None})
    else:
        reply = shop.service.public.post(route, files={name: (None, value) for name, value in fields.items()})

    assert reply.json()["success"] is True


def test_a_success_has_the_fields_of_each_service(shop: Shop):
    token = {"c_data": "order-17"}

    turnstile = shop.verify(TURNSTILE, response=shop.token(**token))
    recaptcha = shop.verify(RECAPTCHA, response=shop.token(**token))
    hcaptcha = shop.verify(HCAPTCHA, response=shop.token(**token))

    common = {"success", "challenge_ts", "hostname", "action", "cdata"}
    assert set(turnstile) == {*common, "error-codes"}
    assert turnstile["error-codes"] == []
    assert turnstile["cdata"] == "order-17"
    assert set(recaptcha) == {*common, "score"}
    assert recaptcha["score"] == 0.9
    assert set(hcaptcha) == common


def test_a_token_of_a_widget_of_version_2_has_no_score(shop: Shop):
    token = {"c_data": "recaptcha-v2"}

    assert set(shop.verify(RECAPTCHA, response=shop.token(**token))) == {
        "success",
        "challenge_ts",
        "hostname",
        "action",
    }
    # To the others it is a text like any other.
    assert shop.verify(HCAPTCHA, response=shop.token(**token))["cdata"] == "recaptcha-v2"


@pytest.mark.parametrize("route", EVERY_ROUTE)
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"secret": None}, "missing-input-secret"),
        ({"secret": ""}, "missing-input-secret"),
        ({"secret": "ags_" + "0" * 40}, "invalid-input-secret"),
        ({"secret": "ags_test_unknown"}, "invalid-input-secret"),
        ({"response": None}, "missing-input-response"),
        ({"response": ""}, "missing-input-response"),
        ({"response": "XXXX.DUMMY.TOKEN.XXXX"}, "invalid-input-response"),
        ({"secret": ["a", "b"]}, "bad-request"),
        ({"idempotency_key": "k" * 129}, "bad-request"),
        ({"response": "r" * 5000}, "bad-request"),
    ],
)
def test_what_is_wrong_gets_200_and_the_code_for_it(shop: Shop, route: str, fields: dict[str, Any], code: str):
    answer = shop.verify(route, **fields)

    assert answer["success"] is False
    assert answer["error-codes"] == [code]


@pytest.mark.parametrize("route", EVERY_ROUTE)
@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b'{"secret": 7}', "application/json"),
        (b'{"secret": "a", "secret": "b"}', "application/json"),
        (b"secret=%ff", "application/x-www-form-urlencoded"),
        (b"\xff=1", "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=1" % number for number in range(30)), "application/x-www-form-urlencoded"),
        (b"secret=a", "multipart/form-data; boundary=x"),
        (b"--x\r\n\r\nnameless\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (b"--x", "multipart/form-data"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_bad_request(shop: Shop, route: str, content: bytes, media_type: str):
    reply = shop.service.public.post(route, content=content, headers={"Content-Type": media_type})

    assert reply.status_code == 200
    assert reply.json()["error-codes"] == ["bad-request"]


def test_only_turnstile_explains_a_rejection_in_plain_text(shop: Shop):
    assert "different sites" in shop.verify(TURNSTILE, response=shop.token(site_key="site_another1"))["messages"][0]
    assert "messages" not in shop.verify(RECAPTCHA, response="x")


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_a_token_is_accepted_once_and_shared_with_siteverify(shop: Shop, route: str):
    token, other = shop.token(), shop.token()
    redeemed = {"token": other, "expectedAction": "login", "secret": shop.secret}
    assert shop.service.public.post("/v1/siteverify", json=redeemed).status_code == 200

    first, again, elsewhere = (shop.verify(route, response=each) for each in (token, token, other))

    assert first["success"] is True
    assert again["error-codes"] == [NAMES[route]["used"]]
    assert elsewhere["error-codes"] == [NAMES[route]["used"]]


@pytest.mark.parametrize("key", ["5a1f3c1e-7d2b-4c7f-9b58-0f2a0c6a7d11", "Zahlung 17/ä", "k"])
def test_the_same_idempotency_key_gets_the_same_response_again(shop: Shop, key: str):
    token = shop.token()
    first = shop.verify(TURNSTILE, response=token, idempotency_key=key)

    again = shop.verify(TURNSTILE, response=token, idempotency_key=key)
    other = shop.verify(TURNSTILE, response=token, idempotency_key=f"{key}.")

    assert first["success"] is True
    assert again == first
    assert other["error-codes"] == ["timeout-or-duplicate"]


def test_hcaptchas_sitekey_must_be_the_one_of_the_secret_and_the_token_is_not_spent_otherwise(shop: Shop):
    token = shop.token()

    assert shop.verify(HCAPTCHA, response=token, sitekey="site_another1")["error-codes"] == ["sitekey-secret-mismatch"]
    assert shop.verify(HCAPTCHA, response=token, sitekey=shop.site_key)["success"] is True


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_everything_may_be_in_the_query(shop: Shop, route: str):
    parameters = {"secret": shop.secret, "response": shop.token()}

    assert shop.service.public.post(route, params=parameters).json()["success"] is True
    assert shop.service.public.post(f"{route}?secret=a&secret=b").json()["error-codes"] == ["bad-request"]


@pytest.mark.parametrize("route", [RECAPTCHA, OWN[RECAPTCHA]])
def test_recaptchas_callers_may_ask_with_get(shop: Shop, route: str):
    parameters = {"secret": shop.secret, "response": shop.token(), "remoteip": "192.0.2.1"}

    answers = [shop.service.public.get(route, params=parameters).json() for _ in range(2)]

    assert [answer["success"] for answer in answers] == [True, False]
    assert shop.service.public.get(route).json()["error-codes"] == ["missing-input-secret"]


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_the_services_own_path_responds_as_ours(shop: Shop, route: str):
    token = shop.token()

    assert shop.verify(OWN[route], response=token)["success"] is True
    assert shop.verify(route, response=token)["error-codes"] == [NAMES[route]["used"]]
    assert shop.verify(OWN[route], secret="ags_nobody")["error-codes"] == ["invalid-input-secret"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_services_own_script_is_one_file_for_every_query(shop: Shop, script: str):
    reply = shop.service.public.get(script, params={"render": "explicit", "onload": "ready", "x": "y"})

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/javascript")
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.content == shop.service.public.get("/sdk/v1/drop-in.js").content


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_fields_that_no_one_here_knows_are_let_pass(shop: Shop, route: str):
    assert shop.verify(route, version="v2", hostname="shop.example")["success"] is True


@pytest.mark.parametrize(
    ("route", "secret", "codes"),
    [
        (TURNSTILE, "1x0000000000000000000000000000000AA", []),
        (TURNSTILE, "2x0000000000000000000000000000000AA", ["invalid-input-response"]),
        (TURNSTILE, "3x0000000000000000000000000000000AA", ["timeout-or-duplicate"]),
        (RECAPTCHA, "6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe", []),
        (HCAPTCHA, "0x0000000000000000000000000000000000000000", []),
        (HCAPTCHA, "ags_test_always_pass", []),
    ],
)
def test_the_services_own_test_secrets_work_for_test_tokens_only(shop: Shop, route: str, secret: str, codes: list[str]):
    tried = shop.verify(route, secret=secret, response=shop.token(site_key="site_test_always_pass", test=True))
    real = shop.verify(route, secret=secret)

    assert tried.get("error-codes", []) == codes
    assert tried["success"] is (not codes)
    # A secret that rejects every token gives no other reason.
    always = secret.startswith("2x")
    expected = "invalid-input-response" if always else NAMES[route].get("test", "invalid-input-response")
    assert real["error-codes"] == [expected]


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_a_test_token_with_a_live_secret_has_the_services_own_code(shop: Shop, route: str):
    answer = shop.verify(route, response=shop.token(site_key="site_test_always_pass", test=True))

    assert answer["error-codes"] == [NAMES[route].get("test", "invalid-input-response")]


def test_the_calls_are_counted_like_the_ones_of_siteverify(shop: Shop):
    def counted() -> Any:
        analytics = shop.service.operator.get(f"/v1/admin/sites/{shop.site_key}/analytics")
        assert analytics.status_code == 200, analytics.text
        return analytics.json()["siteverify"]

    # Counts of other tests are in the previous hour, which the analytics exclude.
    shop.service.clock.advance(hours=1)
    before = settled(counted)
    shop.verify(TURNSTILE)
    shop.verify(HCAPTCHA, response="x")
    shop.verify(RECAPTCHA, secret="ags_" + "0" * 40)
    shop.service.clock.advance(hours=1)
    after = settled(counted, but=before)

    assert after["calls"] - before["calls"] == 2
    assert after["success"] - before["success"] == 1
    assert after["failures"]["invalid_token"] - before["failures"].get("invalid_token", 0) == 1


def settled(read: Callable[[], Any], but: Any = None) -> Any:
    """Return what is read when it changes no more, and is not `but`: counts are written a few times a second."""
    last, deadline_s = None, time.monotonic() + 10
    while time.monotonic() < deadline_s:
        found = read()
        if found == last and found != but:
            break
        last = found
        time.sleep(0.3)
    return found


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_another_method_is_rejected(shop: Shop, route: str):
    reply = httpx.get(f"{shop.service.public_url}{route}")

    assert (reply.status_code, reply.headers.get("allow")) == ((200, None) if route == RECAPTCHA else (405, "POST"))


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_a_token_that_is_over_is_rejected_by_the_name_the_service_has_for_it(shop: Shop, route: str):
    token = shop.token()
    shop.service.clock.advance(seconds=LIFETIME_S)

    assert shop.verify(route, response=token)["error-codes"] == [NAMES[route]["expired"]]


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_a_token_of_another_site_is_an_invalid_token_and_the_secret_is_not_blamed(shop: Shop, route: str):
    foreign = get_token(shop.service, create_site(shop.service), "signup", address="192.0.2.201")

    assert shop.verify(route, response=foreign)["error-codes"] == [
        NAMES[route].get("foreign", "invalid-input-response")
    ]
