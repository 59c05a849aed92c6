"""The service's own browser check in front of the form that asks for an account."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.support.service import running_service
from tests.support.tokens import ORIGIN, mint

SITE = "site_own_form"
PATH = "/v1/account/request-access"


@pytest.fixture
def service(settings):
    with running_service(replace(settings, access_site_key=SITE)) as running:
        yield running


def open_site(service):
    actions = {"request_access": {"browserRequired": True}, "login": {"browserRequired": True}}
    body = {"name": "Own", "siteKey": SITE, "allowedOrigins": [ORIGIN], "actions": actions}
    assert service.operator.post("/v1/admin/sites", json=body).status_code == 201
    service.run(asyncio.sleep(0.7))


def ask(service, token, number=0):
    body = {"email": f"new{number}@third.example", "name": "Nora"}
    return service.public.post(PATH, json=body if token is None else {**body, "token": token})


def token(service, **changes):
    usual = {"action": "request_access"}
    now_ms = service.clock.now_ms()
    return mint(service.application.signing_keys, changes.pop("site", SITE), now_ms=now_ms, **usual | changes)


def test_a_token_of_the_own_form_lets_one_request_pass(service):
    open_site(service)
    good = token(service)

    assert ask(service, good).status_code == 202
    again = ask(service, good, 1)
    assert (again.status_code, again.json()["error"]) == (403, "browser_check_failed")


def test_every_other_token_is_rejected(service):
    open_site(service)
    expired = token(service)
    service.clock.advance(seconds=121)

    tokens = (None, "", "x.y.z", expired, token(service, action="login"), token(service, site="site_x"))
    for number, each in enumerate((*tokens, token(service, test=True))):
        answer = ask(service, each, number)
        assert (answer.status_code, answer.json()["error"]) == (403, "browser_check_failed"), number


def test_while_the_site_does_not_exist_no_one_passes(service):
    assert ask(service, token(service)).json()["error"] == "browser_check_failed"
