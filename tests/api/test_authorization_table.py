"""Every admin route against every kind of caller. A route without a line here fails: who may call it must be said."""

from collections.abc import Callable
from typing import Any

from agentgate.routes.admin import ADMIN
from tests.support.api_client import ApiClient
from tests.support.service import ADMIN_KEY, RunningService

Outcome = tuple[int, str | None]

# Responses to an operator without parameters, with `{}` as the body, and with unknown IDs.
EXPECTED: dict[str, Outcome] = {
    "POST /v1/admin/login": (400, "invalid_request"),
    "POST /v1/admin/logout": (204, None),
    "GET /v1/admin/session": (200, None),
    "GET /v1/admin/sessions": (200, None),
    "DELETE /v1/admin/sessions/{id}": (404, "not_found"),
    "POST /v1/admin/sessions/revoke-others": (204, None),
    "GET /v1/admin/sites": (200, None),
    "POST /v1/admin/sites": (400, "invalid_site"),
    "GET /v1/admin/sites/{siteKey}": (404, "site_not_found"),
    "PATCH /v1/admin/sites/{siteKey}": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/changes": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/credentials": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/credentials/{credId}/rotate": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/credentials/{credId}/revoke": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/move": (400, "invalid_request"),
    "GET /v1/admin/sites/{siteKey}/install": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/health": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/ai-traffic": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/analytics": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/agent-prompt": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/adapters/{proxy}": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/rules": (404, "site_not_found"),
    "PUT /v1/admin/sites/{siteKey}/rules": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/rules/validate": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/rules/test": (400, "invalid_request"),
    "POST /v1/admin/sites/{siteKey}/rules/backtest": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/list-entries": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/list-entries": (400, "invalid_request"),
    "POST /v1/admin/sites/{siteKey}/list-entries/backtest": (400, "invalid_request"),
    "PUT /v1/admin/sites/{siteKey}/list-entries/{entryId}": (400, "invalid_request"),
    "DELETE /v1/admin/sites/{siteKey}/list-entries/{entryId}": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/network-lists": (404, "site_not_found"),
    "PUT /v1/admin/sites/{siteKey}/network-lists/{listName}": (400, "invalid_request"),
    "DELETE /v1/admin/sites/{siteKey}/network-lists/{listName}": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/network-lists/{listName}/networks": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/network-lists/{listName}/networks": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/network-lists/{listName}/refresh": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/appeals": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/appeals/{appealId}": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/appeals/{appealId}/answer": (400, "invalid_request"),
    "DELETE /v1/admin/sites/{siteKey}/appeals/{appealId}/answer": (404, "site_not_found"),
    "PUT /v1/admin/sites/{siteKey}/appeals/{appealId}/label": (400, "invalid_request"),
    "GET /v1/admin/sites/{siteKey}/suggestions": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/suggestions/{suggestionId}/accept": (404, "site_not_found"),
    "DELETE /v1/admin/sites/{siteKey}/suggestions/{suggestionId}/accept": (404, "site_not_found"),
    "GET /v1/admin/managed-groups": (200, None),
    "GET /v1/admin/metrics": (400, "invalid_site"),
    "GET /v1/admin/visitors": (400, "invalid_site"),
    "GET /v1/admin/visitors/{visitorId}": (400, "invalid_site"),
    "GET /v1/admin/decisions": (400, "invalid_site"),
    "GET /v1/admin/decisions/export": (400, "invalid_site"),
    "GET /v1/admin/decisions/{decisionId}": (400, "invalid_site"),
    "PUT /v1/admin/decisions/{decisionId}/label": (400, "invalid_site"),
    "DELETE /v1/admin/decisions/{decisionId}/label": (400, "invalid_site"),
    "GET /v1/admin/decisions/{decisionId}/contributions": (400, "invalid_site"),
    "GET /v1/admin/labels": (400, "invalid_site"),
    "GET /v1/admin/labels/review": (400, "invalid_site"),
    "GET /v1/admin/labels/queue": (400, "invalid_site"),
    "POST /v1/admin/labels": (400, "invalid_site"),
    "GET /v1/admin/sites/{site}/feature-capture": (404, "site_not_found"),
    "PUT /v1/admin/sites/{site}/feature-capture": (400, "invalid_request"),
    "GET /v1/admin/models": (200, None),
    "GET /v1/admin/models/{kind}/{role}": (404, "not_found"),
    "PUT /v1/admin/models/{kind}/{role}": (400, "invalid_request"),
    "DELETE /v1/admin/models/{kind}/{role}": (404, "not_found"),
    "GET /v1/admin/models/{kind}/compare": (404, "not_found"),
    "POST /v1/admin/models/{kind}/promote": (404, "not_found"),
    "GET /v1/admin/models/{kind}/versions": (404, "not_found"),
    "GET /v1/admin/models/{kind}/drift": (404, "not_found"),
    "POST /v1/admin/models/{kind}/rollback": (404, "not_found"),
    "GET /v1/admin/sites/{siteKey}/agent-policy": (404, "site_not_found"),
    "PUT /v1/admin/sites/{siteKey}/agent-policy": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/agent-charges": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/agent-charges.csv": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/agent-grants": (404, "site_not_found"),
    "DELETE /v1/admin/sites/{siteKey}/agent-grants/{grantId}": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/webhooks": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/webhooks": (400, "invalid_request"),
    "PATCH /v1/admin/sites/{siteKey}/webhooks/{webhookId}": (404, "site_not_found"),
    "DELETE /v1/admin/sites/{siteKey}/webhooks/{webhookId}": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/webhooks/{webhookId}/rotate": (404, "site_not_found"),
    "POST /v1/admin/sites/{siteKey}/test": (400, "invalid_request"),
    "POST /v1/admin/sites/{siteKey}/webhooks/{webhookId}/test": (404, "site_not_found"),
    "GET /v1/admin/sites/{siteKey}/webhooks/{webhookId}/deliveries": (404, "site_not_found"),
    "GET /v1/admin/signal-labels": (200, None),
    "GET /v1/admin/access-requests": (200, None),
    "POST /v1/admin/access-requests/{id}/approve": (404, "not_found"),
    "POST /v1/admin/access-requests/{id}/decline": (404, "not_found"),
    "POST /v1/admin/setup-link": (201, None),
    "GET /v1/admin/accounts": (200, None),
    "POST /v1/admin/accounts": (400, "invalid_request"),
    "GET /v1/admin/customers": (200, None),
    "GET /v1/admin/customers/{id}": (404, "not_found"),
    "PATCH /v1/admin/customers/{id}": (404, "not_found"),
    "DELETE /v1/admin/customers/{id}": (400, "invalid_request"),
    "POST /v1/admin/customers/{id}/suspend": (400, "invalid_request"),
    "POST /v1/admin/customers/{id}/reactivate": (404, "not_found"),
    "POST /v1/admin/customers/{id}/sites": (404, "not_found"),
    "POST /v1/admin/customers/{id}/members": (400, "invalid_request"),
    "PATCH /v1/admin/customers/{id}/members/{userId}": (400, "invalid_request"),
    "DELETE /v1/admin/customers/{id}/members/{userId}": (404, "not_found"),
    "POST /v1/admin/customers/{id}/members/{userId}/resend-invite": (404, "not_found"),
    "GET /v1/admin/customers/{id}/fleet-credentials": (404, "not_found"),
    "POST /v1/admin/customers/{id}/fleet-credentials": (404, "not_found"),
    "DELETE /v1/admin/customers/{id}/fleet-credentials/{fleetId}": (404, "not_found"),
    "GET /v1/admin/customers/{id}/audit": (404, "not_found"),
    "DELETE /v1/admin/customers/{id}/tokens/{tokenId}": (404, "not_found"),
    "POST /v1/admin/users/{userId}/suspend": (404, "not_found"),
    "POST /v1/admin/users/{userId}/reactivate": (404, "not_found"),
    "POST /v1/admin/users/{userId}/reset-link": (404, "not_found"),
    "POST /v1/admin/users/{userId}/mfa/reset": (404, "not_found"),
    "GET /v1/admin/outbox": (200, None),
    "GET /v1/admin/docs-feedback": (200, None),
    "GET /v1/admin/service": (200, None),
    "GET /v1/admin/settings": (200, None),
    "POST /v1/admin/keys/{purpose}/rotate": (404, "not_found"),
    "GET /v1/admin/audit": (200, None),
    "GET /v1/admin/probes": (200, None),
}
# Sign-in is open: the caller has no session yet.
OPEN = {"POST /v1/admin/login"}

ROUTES = [f"{row.method} {row.path}" for row in ADMIN.rows]
GUARDED = [route for route in ROUTES if route not in OPEN]


def ask(client: ApiClient, route: str, **headers: str) -> Outcome:
    """Call a route with names in its path that nothing has."""
    method, path = route.split(" ")
    parts = ["unknown_0000" if part.startswith("{") else part for part in path.split("/")]
    body: dict[str, Any] = {} if method == "GET" else {"json": {}}
    reply = client.request(method, "/".join(parts), headers=headers, **body)
    return reply.status_code, reply.json().get("error") if reply.content and reply.status_code >= 400 else None


def sign_in(service: RunningService) -> tuple[ApiClient, str]:
    client = service.new_client()
    return client, client.post("/v1/admin/login", json={"key": ADMIN_KEY}).json()["csrfToken"]


def outcomes(act: Callable[[str], Outcome]) -> dict[str, Outcome]:
    return {route: act(route) for route in ROUTES}


def all_guarded(outcome: Outcome, *, login: Outcome = EXPECTED["POST /v1/admin/login"]) -> dict[str, Outcome]:
    return dict.fromkeys(GUARDED, outcome) | {"POST /v1/admin/login": login}


def test_every_route_shows_here_what_it_responds() -> None:
    assert sorted(EXPECTED) == sorted(ROUTES)


def test_only_signing_in_has_another_guard() -> None:
    guards = {f"{row.method} {row.path}": row.guard for row in ADMIN.rows}

    assert {route for route, guard in guards.items() if guard.__name__ != "operator"} == OPEN


def test_no_one_without_a_credential_gets_in(service: RunningService) -> None:
    assert outcomes(lambda route: ask(service.anonymous, route)) == all_guarded((401, "unauthorized"))


def test_no_one_with_a_wrong_key_gets_in(service: RunningService) -> None:
    def act(route: str) -> Outcome:
        # Wrong keys are counted by source, and a source with many of them gets another error.
        source = f"192.0.2.{ROUTES.index(route)}"
        return ask(service.anonymous, route, **{"X-Admin-Key": ADMIN_KEY[:-1], "X-Forwarded-For": source})

    assert outcomes(act) == all_guarded((401, "unauthorized"))


def test_a_wrong_key_is_not_saved_by_a_session(service: RunningService) -> None:
    client, csrf = sign_in(service)

    outcome = ask(client, "GET /v1/admin/sites", **{"X-Admin-Key": "wrong", "X-CSRF-Token": csrf})

    assert outcome == (401, "unauthorized")


def test_no_one_with_an_expired_session_gets_in(service: RunningService) -> None:
    client, csrf = sign_in(service)
    service.clock.advance(hours=12)

    found = outcomes(lambda route: ask(client, route, **{"X-CSRF-Token": csrf}))

    assert found == all_guarded((401, "session_expired"))


def test_no_one_with_a_made_up_cookie_gets_in(service: RunningService) -> None:
    for cookie in ("ag_admin=", "ag_admin=x", f"ag_admin={'A' * 43}", f"ag_admin={ADMIN_KEY}"):
        found = outcomes(lambda route, cookie=cookie: ask(service.anonymous, route, Cookie=cookie))
        assert found == all_guarded((401, "unauthorized")), cookie


def test_a_session_without_its_csrf_token_reads_and_changes_nothing(service: RunningService) -> None:
    client, _ = sign_in(service)

    expected = {route: outcome if route[:4] == "GET " else (403, "csrf") for route, outcome in EXPECTED.items()}
    assert outcomes(lambda route: ask(client, route)) == expected | {route: EXPECTED[route] for route in OPEN}


def test_a_session_with_its_csrf_token_gets_in_everywhere(service: RunningService) -> None:
    client, _ = sign_in(service)

    def act(route: str) -> Outcome:
        # One of the routes ends the session, so each has its own.
        csrf = client.post("/v1/admin/login", json={"key": ADMIN_KEY}).json()["csrfToken"]
        return ask(client, route, **{"X-CSRF-Token": csrf})

    assert outcomes(act) == EXPECTED


def test_the_key_gets_in_everywhere(service: RunningService) -> None:
    assert outcomes(lambda route: ask(service.operator, route)) == EXPECTED


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "null"},
    {"Origin": "http://["},
]


def test_a_page_of_another_site_gets_in_nowhere_with_key_or_session(service: RunningService) -> None:
    client, csrf = sign_in(service)
    refused = dict.fromkeys(ROUTES, (403, "cross_origin"))

    for headers in FOREIGN:
        by_session = {"X-CSRF-Token": csrf, **headers}
        assert outcomes(lambda route, headers=headers: ask(service.operator, route, **headers)) == refused
        assert outcomes(lambda route, headers=by_session: ask(client, route, **headers)) == refused
    assert ask(client, "GET /v1/admin/session") == (200, None)


def test_a_page_of_another_site_is_no_one_before_it_is_foreign(service: RunningService) -> None:
    found = outcomes(lambda route: ask(service.anonymous, route, Origin="https://evil.example"))

    assert found == all_guarded((401, "unauthorized"), login=(403, "cross_origin"))


def test_wrong_keys_are_counted_by_ipv6_network_and_keep_no_right_key_out(service: RunningService) -> None:
    def outcome(source: str, key: str) -> Outcome:
        return ask(service.anonymous, "GET /v1/admin/sites", **{"X-Admin-Key": key, "X-Forwarded-For": source})

    wrong = [outcome(f"2001:db8:1:2::{number}", "wrong") for number in range(5)]

    assert wrong == [(401, "unauthorized")] * 5
    assert outcome("2001:db8:1:2:ffff::1", "wrong") == (429, "rate_limited")
    assert outcome("2001:db8:1:3::1", "wrong") == (401, "unauthorized")
    assert outcome("2001:db8:1:2:ffff::1", ADMIN_KEY) == (200, None)
