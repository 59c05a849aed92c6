"""The account pages during an attack: the waiting time, and the browser check that replaces it."""

import asyncio
import re
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from agentgate.lib.settings.schema import Settings
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, PASSWORD, cast
from tests.support.service import RunningService, running_service
from tests.support.tokens import ORIGIN, mint

SITE = "site_own_form"
FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}


@pytest.fixture
def own(settings: Settings):
    """Start a service that protects its own forms with a site."""
    with running_service(replace(settings, access_site_key=SITE)) as service:
        actions = {"request_access": {"browserRequired": True}, "sign_in": {"browserRequired": True}}
        body = {"name": "Own", "siteKey": SITE, "allowedOrigins": [ORIGIN], "actions": actions}
        assert service.operator.post("/v1/admin/sites", json=body).status_code == 201
        service.run(asyncio.sleep(0.7))
        yield service


def sign_in(service: RunningService, number: int = 0, token: str = "", email: str = "ann@example.com"):
    content = f"email={email}&password=wrong+wrong+wrong&next=&checkToken={token}"
    headers = {**FORM, "x-forwarded-for": f"198.51.100.{number}"}
    return service.new_public_client().post("/v1/pages/sign-in", content=content, headers=headers)


def attack(service: RunningService) -> None:
    """Fail from many addresses, until unknown devices are delayed."""
    for number in range(1, 120):
        if "seconds" in sign_in(service, number).text:
            return
    pytest.fail("nobody was asked to wait")


def send_form(client: ApiClient, email: str, password: str) -> int:
    """Send the sign-in form as a browser does, and return the status."""
    content = urlencode({"email": email, "password": password, "next": "", "checkToken": ""})
    return client.post("/v1/pages/sign-in", content=content, headers=FORM).status_code


def test_a_device_known_from_the_page_signs_in_on_the_page_during_an_attack(service: RunningService) -> None:
    people, known, stranger = cast(service), service.new_public_client(), service.new_public_client()
    victim = EMAILS["alice"]
    assert send_form(known, victim, PASSWORD) == 303

    statuses = [sign_in(service, number, email=victim).status_code for number in range(25)]

    assert statuses == [401] * 20 + [429] * 5
    assert send_form(stranger, victim, PASSWORD) == 429
    assert send_form(known, victim, PASSWORD) == 303
    # A device is known for the address it signed in with, and has five failures.
    assert send_form(known, EMAILS["bob"], PASSWORD) == 303
    wrong = [send_form(known, victim, "wrong") for _ in range(6)]
    assert wrong == [401] * 5 + [429]
    assert people.alice.get("/v1/account/session").status_code == 200


def test_a_device_known_from_the_page_asks_for_a_reset_link_on_the_page_in_a_flood(service: RunningService) -> None:
    cast(service)
    known, stranger = service.new_public_client(), service.new_public_client()
    assert send_form(known, EMAILS["alice"], PASSWORD) == 303

    def forgot(client: ApiClient, email: str, number: int) -> int:
        headers = {**FORM, "x-forwarded-for": f"198.51.{number // 250}.{number % 250}"}
        content = urlencode({"email": email, "checkToken": ""})
        return client.post("/v1/pages/forgot", content=content, headers=headers).status_code

    assert 429 in [forgot(stranger, f"nobody{number}@acme.example", number) for number in range(101)]
    assert forgot(stranger, EMAILS["alice"], 120) == 429
    assert forgot(known, EMAILS["alice"], 0) == 200


def token_of(service: RunningService, action: str) -> str:
    return mint(service.application.signing_keys, SITE, now_ms=service.clock.now_ms(), action=action)


def test_who_has_to_wait_reads_for_how_long(service: RunningService) -> None:
    attack(service)

    answer = sign_in(service, 200)

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
    assert 'data-retry="60"' in answer.text
    assert "60 seconds" in answer.text
    assert "data-check-site" not in answer.text


def test_a_service_with_its_own_site_offers_the_check_and_takes_its_token(own: RunningService) -> None:
    attack(own)
    refused = sign_in(own, 200)

    assert refused.status_code == 429
    assert f'data-check-site="{SITE}"' in refused.text
    assert 'data-check-action="sign_in"' in refused.text
    assert '<script src="/sdk/v1/agentgate.js" defer' in refused.text
    policy = refused.headers["content-security-policy"]
    assert "trusted-types agentgate; worker-src 'self' blob:" in policy
    assert "unsafe" not in policy
    # With the token, the password is checked again: the response is that it is wrong.
    assert sign_in(own, 201, token_of(own, "sign_in")).status_code == 401
    assert sign_in(own, 202, "nothing").status_code == 429


def test_the_form_for_access_asks_for_the_check_and_takes_its_token(own: RunningService) -> None:
    client = own.new_public_client()
    page = client.get("/console/request-access")
    assert f'data-check-site="{SITE}"' in page.text
    assert 'data-check-action="request_access"' in page.text

    def ask(token: str):
        content = f"email=cho%40example.com&name=Cho&company=&message=&checkToken={token}"
        return client.post("/v1/pages/request-access", content=content, headers=FORM)

    refused = ask("")
    assert "browser check failed" in refused.text
    assert re.search(r'value="cho@example.com"', refused.text)
    assert ask(token_of(own, "request_access")).status_code == 200
    [request] = own.operator.get("/v1/admin/access-requests").json()["items"]
    assert request["email"] == "cho@example.com"


def test_without_its_own_site_no_page_loads_the_check(service: RunningService) -> None:
    page = service.public.get("/console/request-access")

    assert "/sdk/" not in page.text
    assert "trusted-types 'none'" in page.headers["content-security-policy"]
