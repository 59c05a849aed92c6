"""Permissions of every route: every row of the table, for every kind of caller."""

from collections.abc import Collection

from agentgate.lib.enums import AccountRole, ApiTokenScope
from agentgate.people.accounts.records import PERMISSIONS
from agentgate.routes.console import CONSOLE
from tests.support.api_client import ApiClient
from tests.support.cast import Cast
from tests.support.service import ADMIN_KEY, RunningService

# The contract's table, written out: what each route needs.
NEEDS = {
    "GET /v1/console/account": "sites:read",
    "PATCH /v1/console/account": "account:write",
    "DELETE /v1/console/account": "account:delete",
    "POST /v1/console/account/transfer-ownership": "account:delete",
    "GET /v1/console/members": "members:read",
    "POST /v1/console/members": "members:write",
    "PATCH /v1/console/members/{userId}": "members:write",
    "DELETE /v1/console/members/{userId}": "members:write",
    "POST /v1/console/members/{userId}/resend-invite": "members:write",
    "GET /v1/console/audit": "audit:read",
    "GET /v1/console/sites": "sites:read",
    "POST /v1/console/sites": "sites:write",
    "GET /v1/console/sites/{siteKey}": "sites:read",
    "PATCH /v1/console/sites/{siteKey}": "sites:write",
    "GET /v1/console/sites/{siteKey}/changes": "sites:read",
    "POST /v1/console/sites/{siteKey}/credentials": "sites:write",
    "POST /v1/console/sites/{siteKey}/credentials/{credId}/rotate": "sites:write",
    "POST /v1/console/sites/{siteKey}/credentials/{credId}/revoke": "sites:write",
    "POST /v1/console/sites/{siteKey}/test": "sites:write",
    "GET /v1/console/sites/{siteKey}/rules": "sites:read",
    "PUT /v1/console/sites/{siteKey}/rules": "sites:write",
    "POST /v1/console/sites/{siteKey}/rules/validate": "sites:read",
    "POST /v1/console/sites/{siteKey}/rules/test": "sites:read",
    "POST /v1/console/sites/{siteKey}/rules/backtest": "analytics:read",
    "GET /v1/console/notices": "sites:read",
    "PUT /v1/console/notices": "sites:read",
    "GET /v1/console/sites/{siteKey}/list-entries": "sites:read",
    "POST /v1/console/sites/{siteKey}/list-entries": "sites:write",
    "POST /v1/console/sites/{siteKey}/list-entries/backtest": "analytics:read",
    "PUT /v1/console/sites/{siteKey}/list-entries/{entryId}": "sites:write",
    "DELETE /v1/console/sites/{siteKey}/list-entries/{entryId}": "sites:write",
    "GET /v1/console/sites/{siteKey}/network-lists": "sites:read",
    "PUT /v1/console/sites/{siteKey}/network-lists/{listName}": "sites:write",
    "DELETE /v1/console/sites/{siteKey}/network-lists/{listName}": "sites:write",
    "GET /v1/console/sites/{siteKey}/network-lists/{listName}/networks": "sites:read",
    "POST /v1/console/sites/{siteKey}/network-lists/{listName}/networks": "sites:write",
    "POST /v1/console/sites/{siteKey}/network-lists/{listName}/refresh": "sites:write",
    "GET /v1/console/sites/{siteKey}/appeals": "analytics:read",
    "GET /v1/console/sites/{siteKey}/appeals/{appealId}": "analytics:read",
    "POST /v1/console/sites/{siteKey}/appeals/{appealId}/answer": "sites:write",
    "DELETE /v1/console/sites/{siteKey}/appeals/{appealId}/answer": "sites:write",
    "PUT /v1/console/sites/{siteKey}/appeals/{appealId}/label": "sites:write",
    "GET /v1/console/sites/{siteKey}/suggestions": "analytics:read",
    "POST /v1/console/sites/{siteKey}/suggestions/{suggestionId}/accept": "sites:write",
    "DELETE /v1/console/sites/{siteKey}/suggestions/{suggestionId}/accept": "sites:write",
    "GET /v1/console/managed-groups": "sites:read",
    "GET /v1/console/sites/{siteKey}/webhooks": "sites:read",
    "POST /v1/console/sites/{siteKey}/webhooks": "sites:write",
    "PATCH /v1/console/sites/{siteKey}/webhooks/{webhookId}": "sites:write",
    "DELETE /v1/console/sites/{siteKey}/webhooks/{webhookId}": "sites:write",
    "POST /v1/console/sites/{siteKey}/webhooks/{webhookId}/rotate": "sites:write",
    "POST /v1/console/sites/{siteKey}/webhooks/{webhookId}/test": "sites:write",
    "GET /v1/console/sites/{siteKey}/webhooks/{webhookId}/deliveries": "sites:read",
    "GET /v1/console/sites/{siteKey}/agent-policy": "sites:read",
    "PUT /v1/console/sites/{siteKey}/agent-policy": "sites:write",
    "GET /v1/console/sites/{siteKey}/agent-charges": "analytics:read",
    "GET /v1/console/sites/{siteKey}/agent-charges.csv": "analytics:read",
    "GET /v1/console/sites/{siteKey}/agent-grants": "sites:read",
    "DELETE /v1/console/sites/{siteKey}/agent-grants/{grantId}": "sites:write",
    "GET /v1/console/signal-labels": "sites:read",
    "GET /v1/console/sites/{siteKey}/install": "sites:read",
    "GET /v1/console/sites/{siteKey}/adapters/{proxy}": "sites:read",
    "GET /v1/console/sites/{siteKey}/health": "sites:read",
    "GET /v1/console/sites/{siteKey}/analytics": "analytics:read",
    "GET /v1/console/sites/{siteKey}/ai-traffic": "analytics:read",
    "GET /v1/console/sites/{siteKey}/agent-prompt": "sites:read",
    "GET /v1/console/metrics": "analytics:read",
    "GET /v1/console/visitors": "analytics:read",
    "GET /v1/console/visitors/{visitorId}": "analytics:read",
    "GET /v1/console/decisions": "analytics:read",
    "GET /v1/console/decisions/export": "analytics:read",
    "GET /v1/console/decisions/{decisionId}": "analytics:read",
    "GET /v1/console/tokens": "tokens:write",
    "POST /v1/console/tokens": "tokens:write",
    "DELETE /v1/console/tokens/{id}": "tokens:write",
}
ROLES = {
    "alice": AccountRole.OWNER,
    "adam": AccountRole.ADMIN,
    "bob": AccountRole.MEMBER,
    "rita": AccountRole.READONLY,
}


def answers(client: ApiClient) -> dict[str, tuple[int, str, str]]:
    """Call every route with IDs that do not exist and an empty body, which changes nothing."""
    found = {}
    for row in CONSOLE.rows:
        path = row.path.replace("{siteKey}", "site_nobody").replace("{", "").replace("}", "")
        reply = client.request(row.method, path, **({} if row.method == "GET" else {"json": {}}))
        body = reply.json() if reply.status_code >= 400 else {}
        found[f"{row.method} {row.path}"] = (reply.status_code, body.get("error", ""), body.get("message", ""))
    return found


def test_the_table_here_names_every_route() -> None:
    assert [f"{row.method} {row.path}" for row in CONSOLE.rows if f"{row.method} {row.path}" not in NEEDS] == []


def check_reach(client: ApiClient, permissions: Collection[str]) -> None:
    """Compare every response with the table: accepted with the permission, else an error that names the missing one."""
    for route, (status, code, message) in answers(client).items():
        if NEEDS[route] in permissions:
            assert status not in {401, 403, 500}, (route, status, code)
            continue
        assert (status, code) == (403, "forbidden"), route
        # A caller without permission to read members gets that as the first error. Leaving needs no other permission;
        # removing others does.
        least = "members:read" if route.startswith("DELETE /v1/console/members/") else NEEDS[route]
        assert (NEEDS[route] if least in permissions else least) in message, route


def test_a_role_reaches_what_it_has_the_permission_for_and_is_shown_what_it_lacks(people: Cast) -> None:
    for name, role in ROLES.items():
        check_reach(getattr(people, name), PERMISSIONS[role])


def test_a_token_reaches_what_its_scope_shows_alone(service: RunningService, people: Cast) -> None:
    for scope in ApiTokenScope:
        secret = people.alice.post("/v1/console/tokens", json={"name": "One", "scopes": [scope]}).json()["secret"]
        with ApiClient(service.public_url, headers={"Authorization": f"Bearer {secret}"}) as client:
            check_reach(client, [scope])


def test_no_one_gets_in_without_a_session(service: RunningService) -> None:
    assert {(status, code) for status, code, _ in answers(service.public).values()} == {(401, "unauthorized")}


def test_an_operators_cookie_and_key_open_nothing(service: RunningService, people: Cast) -> None:
    client = service.new_public_client()
    client.headers["X-Admin-Key"] = ADMIN_KEY
    client.cookies.set("ag_admin", people.olga.cookies["ag_admin"])

    assert {(status, code) for status, code, _ in answers(client).values()} == {(401, "unauthorized")}


def test_a_change_needs_the_csrf_token(people: Cast) -> None:
    del people.alice.headers["X-CSRF-Token"]

    for route, (status, code, _) in answers(people.alice).items():
        if route.startswith("GET "):
            # 400: the query names no site.
            assert status in {200, 400, 404}, route
        else:
            assert (status, code) == (403, "csrf"), route


def test_another_sites_page_is_rejected(people: Cast) -> None:
    people.alice.headers["Sec-Fetch-Site"] = "cross-site"

    assert {(status, code) for status, code, _ in answers(people.alice).values()} == {(403, "cross_origin")}
