"""Cookies are Secure and HSTS is sent when PUBLIC_BASE_URL is https, whether the proxy is trusted or not."""

from collections.abc import Iterator

import httpx
import pytest
from msgspec.structs import replace

from agentgate.lib.settings.schema import Settings
from tests.support.cast import EMAILS, PASSWORD, cast
from tests.support.service import ADMIN_KEY, RunningService, running_service

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)

HSTS = "max-age=31536000"


@pytest.fixture
def https_service(settings: Settings) -> Iterator[RunningService]:
    # No sender's forwarding headers are trusted, as in a container whose proxy is not listed.
    changed = replace(settings, public_base_url="https://gate.example", trusted_proxies=())
    with running_service(changed) as service:
        cast(service)
        yield service


def log_in(service: RunningService) -> httpx.Response:
    body = {"email": EMAILS["alice"], "password": PASSWORD}
    return service.new_public_client().post("/v1/account/login", json=body)


def admin_log_in(service: RunningService, **headers: str) -> httpx.Response:
    return service.new_client().post("/v1/admin/login", json={"key": ADMIN_KEY}, headers=headers)


def are_secure(reply: httpx.Response) -> set[bool]:
    assert reply.status_code in {200, 204}, reply.text
    return {cookie.endswith("; Secure") for cookie in reply.headers.get_list("set-cookie")}


def test_behind_a_proxy_that_no_one_listed_cookies_are_secure_and_hsts_is_sent(https_service: RunningService) -> None:
    signed_in = log_in(https_service)

    assert are_secure(signed_in) == {True}
    assert signed_in.headers["strict-transport-security"] == HSTS
    assert https_service.public.get("/v1/account/session").headers["strict-transport-security"] == HSTS
    assert are_secure(admin_log_in(https_service)) == {True}
    assert admin_log_in(https_service).headers["strict-transport-security"] == HSTS


def test_a_cleared_cookie_is_secure_too(https_service: RunningService) -> None:
    signed_in = log_in(https_service)
    headers = {
        "Cookie": signed_in.headers.get_list("set-cookie")[0].partition(";")[0],
        "X-CSRF-Token": signed_in.json()["csrfToken"],
    }

    assert are_secure(https_service.new_public_client().post("/v1/account/logout", headers=headers)) == {True}


def test_an_operators_page_that_came_over_plain_http_gets_a_cookie_that_its_browser_keeps(
    https_service: RunningService,
) -> None:
    host = https_service.admin_url.removeprefix("http://")

    plain = admin_log_in(https_service, Origin=f"http://{host}")

    assert are_secure(plain) == {False}
    assert "strict-transport-security" not in plain.headers
    assert are_secure(admin_log_in(https_service, Origin=f"https://{host}")) == {True}


@pytest.mark.parametrize("base", ["", "http://gate.example"])
def test_for_development_over_plain_http_neither_exists(settings: Settings, base: str) -> None:
    with running_service(replace(settings, public_base_url=base)) as service:
        cast(service)
        signed_in = log_in(service)

        assert are_secure(signed_in) == {False}
        assert "strict-transport-security" not in signed_in.headers
        assert are_secure(admin_log_in(service)) == {False}
