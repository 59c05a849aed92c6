"""Operators sign in, stay signed in for a while, and sign out."""

import time

import pytest

from agentgate.lib.clock import HOUR_MS
from agentgate.people.identity.operators import DELAY_S
from tests.support.api_client import ApiClient
from tests.support.service import ADMIN_KEY, RunningService

LOGIN, SESSION, LOGOUT = "/v1/admin/login", "/v1/admin/session", "/v1/admin/logout"


def sign_in(service: RunningService, operator: str = "Olga") -> tuple[ApiClient, str]:
    client = service.new_client()
    reply = client.post(LOGIN, json={"key": ADMIN_KEY, "operator": operator})
    assert reply.status_code == 200
    return client, reply.json()["csrfToken"]


def test_signing_in_sets_a_hidden_strict_cookie_for_the_admin_api_only(service: RunningService) -> None:
    reply = service.anonymous.post(LOGIN, json={"key": ADMIN_KEY, "operator": "Olga"})

    assert reply.status_code == 200
    assert reply.json()["operator"] == "Olga"
    assert reply.json()["via"] == "session"
    assert reply.json()["expiresAt"] == "2026-11-16T00:00:00.000Z"
    name, *attributes = reply.headers["set-cookie"].split("; ")
    assert name.startswith("ag_admin=")
    assert attributes == ["Path=/v1/admin", "HttpOnly", "SameSite=Strict"]


def test_the_cookie_is_secure_when_a_trusted_proxy_ends_tls(service: RunningService) -> None:
    reply = service.anonymous.post(LOGIN, json={"key": ADMIN_KEY}, headers={"X-Forwarded-Proto": "https"})

    assert reply.headers["set-cookie"].endswith("; Secure")


def test_a_session_reads_itself_with_the_same_csrf_token(service: RunningService) -> None:
    client, csrf = sign_in(service)

    reply = client.get(SESSION)

    assert (reply.status_code, reply.json()["csrfToken"]) == (200, csrf)


def test_a_key_needs_no_session_and_has_no_csrf_token(service: RunningService) -> None:
    reply = service.operator.get(SESSION)

    assert reply.json() == {"operator": "operator", "via": "key"}


def test_without_a_session_nothing_is_shown(service: RunningService) -> None:
    for path in (SESSION, "/v1/admin/sites", "/v1/admin/sites/site_unknown"):
        reply = service.anonymous.get(path)
        assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized")


@pytest.mark.parametrize("headers", [{}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "wrong"}, {"X-CSRF-Token": "A" * 43}])
def test_a_change_with_a_session_needs_its_csrf_token(service: RunningService, headers: dict[str, str]) -> None:
    client, _ = sign_in(service)

    reply = client.post("/v1/admin/sites", json={"name": "Shop"}, headers=headers)

    assert (reply.status_code, reply.json()["error"]) == (403, "csrf")
    assert service.operator.get("/v1/admin/sites").json() == {"items": []}


def test_another_sessions_csrf_token_does_not_fit(service: RunningService) -> None:
    client, _ = sign_in(service)
    _, other = sign_in(service, "Otto")

    reply = client.post("/v1/admin/sites", json={"name": "Shop"}, headers={"X-CSRF-Token": other})

    assert reply.json()["error"] == "csrf"


def test_a_change_with_session_and_token_is_made_in_the_operators_name(service: RunningService) -> None:
    client, csrf = sign_in(service)

    reply = client.post("/v1/admin/sites", json={"name": "Shop"}, headers={"X-CSRF-Token": csrf})

    assert reply.status_code == 201
    assert [change["actor"] for change in reply.json()["changes"]] == ["Olga"]


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}],
)
def test_another_sites_page_is_rejected_with_session_with_key_and_at_sign_in(
    service: RunningService, headers: dict[str, str]
) -> None:
    client, csrf = sign_in(service)

    replies = [
        client.post("/v1/admin/sites", json={"name": "Shop"}, headers={"X-CSRF-Token": csrf, **headers}),
        service.operator.post("/v1/admin/sites", json={"name": "Shop"}, headers=headers),
        service.new_client().post(LOGIN, json={"key": ADMIN_KEY}, headers=headers),
    ]

    assert [(reply.status_code, reply.json()["error"]) for reply in replies] == [(403, "cross_origin")] * 3


def test_signing_out_ends_the_session_and_clears_the_cookie(service: RunningService) -> None:
    client, csrf = sign_in(service)
    cookie = client.cookies["ag_admin"]

    reply = client.post(LOGOUT, headers={"X-CSRF-Token": csrf})

    assert reply.status_code == 204
    assert "Max-Age=0" in reply.headers["set-cookie"]
    again = service.new_client().get(SESSION, headers={"Cookie": f"ag_admin={cookie}"})
    assert (again.status_code, again.json()["error"]) == (401, "session_expired")


def test_a_session_ends_after_two_hours_without_use(service: RunningService) -> None:
    client, _ = sign_in(service)
    service.clock.advance(ms=2 * HOUR_MS - 1)
    assert client.get(SESSION).status_code == 200

    service.clock.advance(ms=2 * HOUR_MS)

    assert client.get(SESSION).json()["error"] == "session_expired"


def test_a_session_in_use_ends_after_twelve_hours(service: RunningService) -> None:
    client, _ = sign_in(service)
    for _ in range(11):
        service.clock.advance(hours=1)
        assert client.get(SESSION).status_code == 200

    service.clock.advance(hours=1)

    assert client.get(SESSION).json()["error"] == "session_expired"


def test_two_different_cookies_of_our_name_are_not_a_session(service: RunningService) -> None:
    client, _ = sign_in(service)
    cookie = client.cookies["ag_admin"]

    reply = service.new_client().get(SESSION, headers={"Cookie": f"ag_admin=planted; ag_admin={cookie}"})

    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized")


def test_the_sixth_wrong_key_is_handled_late_and_the_right_one_at_once(service: RunningService) -> None:
    wrong = [service.anonymous.post(LOGIN, json={"key": "wrong"}) for _ in range(5)]
    started = time.monotonic()
    late = service.anonymous.get(SESSION, headers={"X-Admin-Key": "wrong"})
    took_s = time.monotonic() - started

    right = service.anonymous.post(LOGIN, json={"key": ADMIN_KEY})

    assert {reply.status_code for reply in wrong} == {401}
    assert (late.status_code, late.json()["error"]) == (429, "rate_limited")
    assert 1 <= int(late.headers["retry-after"]) <= 900
    assert took_s >= DELAY_S
    assert right.status_code == 200
    assert service.operator.get(SESSION).status_code == 200
    service.clock.advance(seconds=901)
    assert service.anonymous.get(SESSION, headers={"X-Admin-Key": "wrong"}).status_code == 401


@pytest.mark.parametrize(
    "operator", ["", " Olga", "Olga  O", "Olga\n", "x" * 65, "<script>", "Ol\u202ega", "Olga; DROP"]
)
def test_an_operator_name_that_could_break_a_log_line_is_blocked(service: RunningService, operator: str) -> None:
    reply = service.anonymous.post(LOGIN, json={"key": ADMIN_KEY, "operator": operator})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")


def test_the_admin_listener_responds_only_to_its_own_names(service: RunningService) -> None:
    reply = service.operator.get("/v1/admin/sites", headers={"Host": "rebound.example"})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")
    assert "AGENTGATE_ADMIN_HOSTS" in reply.json()["message"]
