"""Every route of every surface, and a request for each that names real things."""

from typing import Any

import httpx

from agentgate.http.endpoint import Endpoint, shape_of
from agentgate.routes import ADMIN_LISTENER, PUBLIC_LISTENER
from tests.support.api_client import ApiClient
from tests.support.service import RunningService
from tests.support.two_accounts import Headers, Scene, Things, bodies

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
UNKNOWN = {
    "siteKey": "site_0000000000000000",
    "credId": "cred_0000000000000000",
    "userId": "usr_0000000000000000",
    "tokenId": "tok_0000000000000000",
    "fleetId": "flt_0000000000000000",
    "webhookId": "whk_0000000000000000",
    "entryId": "lst_0000000000000000",
    "listName": "other",
    "appealId": "apl_0000000000000000",
    "suggestionId": "sug_0000000000000000",
    "decisionId": "dec_0000000000000",
    "site": "st_0000000000000000",
    "visitorId": "0000000000000000",
    "token": "A" * 43,
    "file": "none.js",
    "proxy": "none",
    "grantId": "agr_0000000000000000",
    "purpose": "none",
    "page": "none",
    "folder": "none",
    "/handoff/{id}": "ho_00000000000000000000000000",
    "/v1/handoff/{id}": "ho_00000000000000000000000000",
    "/v1/account/sessions/{id}": "ses_0000000000000000",
    "/v1/account/invitations/{id}": "usr_0000000000000000",
    "/v1/account/mfa/passkeys/{id}": "pk_0000000000000000",
    "/v1/admin/sessions/{id}": "ses_0000000000000000",
    "/v1/console/tokens/{id}": "tok_0000000000000000",
    "/v1/admin/customers/{id}": "acc_0000000000000000",
    "/v1/admin/access-requests/{id}": "req_0000000000000000",
}


def name_of(row: Endpoint) -> str:
    """Return what a route is called in tables."""
    return f"{row.method} {row.path}"


# The routes of both listeners. The few routes that both have are called on each.
PUBLIC_ROUTES = {name_of(row): row for surface in PUBLIC_LISTENER for row in surface.rows}
ADMIN_ROUTES = {name_of(row): row for surface in ADMIN_LISTENER for row in surface.rows}


def parameters(row: Endpoint, scene: Scene, things: Things) -> dict[str, str]:
    """Return a real value for each placeholder of a route's path."""
    path = row.path
    user = things.member
    if path.endswith("resend-invite"):
        user = things.invited
    elif path.endswith("mfa/reset"):
        user = scene.user_with_mfa
    elif path == "/v1/admin/users/{userId}/reactivate":
        user = scene.suspended_user
    ids = {
        "/handoff/{id}": things.handoff,
        "/v1/handoff/{id}": things.handoff,
        "/v1/account/sessions/{id}": things.session,
        "/v1/account/invitations/{id}": things.invitation,
        # Of a user who is no caller: a caller with a passkey would have to sign in with it.
        "/v1/account/mfa/passkeys/{id}": scene.passkey,
        "/v1/console/tokens/{id}": things.token,
        # A session of no caller: ending a caller's own session would leave the next request without one.
        "/v1/admin/sessions/{id}": "ses_1111111111111111",
        "/v1/admin/customers/{id}": things.account,
        "/v1/admin/access-requests/{id}": things.request,
    }
    known = {
        "siteKey": things.site,
        "credId": things.credential,
        "userId": user,
        "tokenId": things.token,
        "fleetId": things.fleet,
    }
    known["token"] = scene.invite
    known["file"] = "check.js" if "i18n" not in path else "de.json"
    known["proxy"] = "nginx"
    # The pages of the consoles: the same shell for every address.
    known |= {"page": "sites", "name": things.site, "part": "overview"}
    if path.startswith("/docs/"):
        known |= {"page": "webhooks"} if "{folder}" not in path else {"folder": "decisions", "page": "0041-appeals"}
    if "/assets/" in path:
        known["file"] = "icon.svg"
    known |= {"decisionId": things.decision, "visitorId": things.visitor}
    known |= {"webhookId": things.webhook, "grantId": things.grant, "entryId": things.list_entry}
    known["listName"] = ("url-" if path.endswith("/refresh") else "") + things.network_list
    # DELETE withdraws a reply, so it needs a resolved appeal.
    known["appealId"] = things.answered_appeal if row.method == "DELETE" else things.appeal
    known["suggestionId"] = things.accepted_suggestion if row.method == "DELETE" else things.suggestion
    known |= {"site": things.site, "kind": "bot", "role": "candidate", "purpose": "receipt"}
    id_of_path = next((value for start, value in ids.items() if path.startswith(start)), None)
    return known if id_of_path is None else {**known, "id": id_of_path}


def placeholders(path: str) -> list[str]:
    """Return the names of a path's parameters."""
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


def unknown_value(path: str, name: str) -> str:
    """Return a well-formed value for a placeholder that nothing has."""
    if name != "id":
        return UNKNOWN[name]
    return next(value for start, value in UNKNOWN.items() if path.startswith(start))


def fill(path: str, values: dict[str, str]) -> str:
    """Put values into a path."""
    for name, value in values.items():
        path = path.replace("{" + name + "}", value)
    return path


def ask(client: ApiClient, row: Endpoint, scene: Scene, headers: Headers, **changes: str) -> httpx.Response:
    """Call a route of Acme's things with the example body; `changes` replaces parameters of the path."""
    values = {**parameters(row, scene, scene.acme), **changes}
    body = bodies(scene).get(name_of(row))
    options: dict[str, Any] = {} if body is None else {"json": body}
    query = shape_of(row.handler).query
    if query is not None and "siteKey" in query.__struct_encode_fields__:
        options["params"] = {"siteKey": values["siteKey"]}
    try:
        return client.request(row.method, fill(row.path, values), headers=headers, **options)
    finally:
        # Cookies that a response set must not be sent for the next caller.
        client.cookies.clear()


def listener_of(service: RunningService, name: str) -> ApiClient:
    """Return a client without any credential, of the listener that has the route."""
    return service.public if name in PUBLIC_ROUTES else service.anonymous
