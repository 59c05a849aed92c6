"""The audit trail tells the truth (N12) and its cursors cannot be forged (N6), over all routes that change anything."""

import base64
from typing import Any

import pytest

from tests.api.account.steps import trail
from tests.support.cast import Cast
from tests.support.every_route import ADMIN_ROUTES, CHANGING, PUBLIC_ROUTES, ask, listener_of
from tests.support.service import RunningService
from tests.support.tables import contents, dump, forget_counts, restore
from tests.support.two_accounts import Scene, bodies

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)

ROUTES = {name: row for name, row in {**PUBLIC_ROUTES, **ADMIN_ROUTES}.items() if row.method in CHANGING}
# The permitted caller, if that is not the owner or the operator's key.
OTHER_CALLERS = {
    "POST /v1/account/login": "anonymous",
    "POST /v1/account/invite/accept": "anonymous",
    "POST /v1/account/password/forgot": "anonymous",
    "POST /v1/account/password/reset": "anonymous",
}
# Routes that leave no entry because they change no account, or because the example request is rejected.
SILENT = {
    "POST /v1/docs/feedback",
    # The check and its tokens: what is decided there are events, not changes.
    "POST /v1/browser/challenge",
    "POST /v1/browser/verify",
    "POST /v1/siteverify",
    "POST /v1/receipts/verify",
    "POST /v1/content/score",
    "POST /agent/submit",
    # Responses on behalf of a site, and a person's decision for an agent, who has no account.
    "POST /v1/gateway/check",
    "POST /v1/gateway/denied",
    *(f"{method} /v1/gateway/challenge" for method in ("POST", "PUT", "PATCH", "DELETE")),
    "POST /v1/gateway/pass",
    "POST /v1/gateway/appeal",
    "POST /v1/gateway/replay",
    "POST /handoff/{id}",
    # The console's route has ended this one before, in a store that is not put back.
    "DELETE /v1/admin/sites/{siteKey}/agent-grants/{grantId}",
    "POST /compat/turnstile/v0/siteverify",
    "POST /compat/recaptcha/api/siteverify",
    "POST /compat/hcaptcha/siteverify",
    "POST /turnstile/v0/siteverify",
    "POST /recaptcha/api/siteverify",
    "POST /siteverify",
    # Rejected: a user has a password already. `tests/api/account/test_setup_link.py` tests the entries.
    "POST /v1/account/setup",
    "POST /v1/admin/setup-link",
    "POST /v1/account/request-access",
    "POST /v1/account/login/mfa",
    "POST /v1/account/logout",
    "POST /v1/account/switch",
    "POST /v1/account/mfa/setup",
    "POST /v1/account/mfa/enable",
    "POST /v1/account/mfa/disable",
    # A challenge writes no entry, and the examples are of no passkey: `tests/api/account/test_passkeys.py`.
    "POST /v1/account/mfa/passkeys/challenge",
    "POST /v1/account/mfa/passkeys",
    "POST /v1/account/mfa/passkeys/{id}/remove",
    "DELETE /v1/account/sessions/{id}",
    "POST /v1/account/sessions/revoke-others",
    # Pages take forms, which the example requests are not; what forms leave is tested below.
    *(
        f"POST /v1/pages/{page}"
        for page in (
            "sign-in",
            "code",
            "forgot",
            "reset",
            "invite",
            "setup",
            "request-access",
            "accounts",
            "invitations",
        )
    ),
    "POST /v1/admin/logout",
    "DELETE /v1/admin/sessions/{id}",
    "PUT /v1/admin/decisions/{decisionId}/label",
    "DELETE /v1/admin/decisions/{decisionId}/label",
    "POST /v1/admin/labels",
    "POST /v1/admin/access-requests/{id}/decline",
    "POST /v1/admin/customers/{id}/reactivate",
    *(
        f"POST /v1/{surface}/sites/{{siteKey}}/{path}"
        for surface in ("admin", "console")
        for path in (
            "rules/validate",
            "rules/test",
            "rules/backtest",
            "list-entries/backtest",
            "webhooks/{webhookId}/test",
            "test",
        )
    ),
}
# Routes that only read, although they take a body: every caller who may read may use them.
_LOOKS = ("rules/validate", "rules/test", "rules/backtest", "list-entries/backtest")
LOOKS = {f"POST /v1/console/sites/{{siteKey}}/{what}" for what in _LOOKS}
# Forms and the routes whose work they do, of those that leave an entry.
FORMS = {
    "/v1/pages/sign-in": "/v1/account/login",
    "/v1/pages/forgot": "/v1/account/password/forgot",
    "/v1/pages/reset": "/v1/account/password/reset",
    "/v1/pages/invite": "/v1/account/invite/accept",
}
# Routes that do two things, each with a separate entry.
SEVERAL = {
    "POST /v1/admin/sites": ["account.create", "site.create"],
    "POST /v1/admin/accounts": ["account.create", "member.invite"],
    "POST /v1/admin/access-requests/{id}/approve": ["account.create", "member.invite"],
    "POST /v1/admin/sites/{siteKey}/move": ["site.move_out", "site.move"],
    # An accepted suggestion changes the site's allowed paths.
    **{
        f"{method} /v1/{surface}/sites/{{siteKey}}/suggestions/{{suggestionId}}/accept": ["site.update", action]
        for surface in ("admin", "console")
        for method, action in (("POST", "suggestion.accept"), ("DELETE", "suggestion.withdraw"))
    },
}


def test_every_change_leaves_its_one_entry(service: RunningService, scene: Scene) -> None:
    saved = dump(service)
    before = len(trail(service))
    found = {}
    for name, row in ROUTES.items():
        caller = OTHER_CALLERS.get(name, "owner" if name in PUBLIC_ROUTES else "operator key")
        reply = ask(listener_of(service, name), row, scene, scene.callers[caller])
        service.run(service.application.background.finish())
        assert reply.status_code < 500, name
        found[name] = [action for _, action, *_ in trail(service)[before:]]
        assert bool(found[name]) <= reply.is_success, name
        restore(service, saved)
        forget_counts(service)

    assert {name for name, actions in found.items() if not actions} == SILENT
    assert {name: sorted(actions) for name, actions in found.items() if len(actions) > 1} == {
        name: sorted(actions) for name, actions in SEVERAL.items()
    }


def test_a_form_leaves_the_entries_of_the_route_that_does_the_same(service: RunningService, scene: Scene) -> None:
    saved = dump(service)
    before = len(trail(service))

    def entries(page: str, headers: dict[str, str], **sent: Any) -> list[tuple[Any, ...]]:
        reply = service.public.post(page, headers=headers, follow_redirects=False, **sent)
        service.public.cookies.clear()
        assert reply.status_code < 400, page
        service.run(service.application.background.finish())
        found = trail(service)[before:]
        restore(service, saved)
        forget_counts(service)
        return found

    for page, route in FORMS.items():
        body = bodies(scene)[f"POST {route}"]
        by_form = entries(page, {"Sec-Fetch-Site": "same-origin"}, data=body)
        assert len(by_form) == 1, page
        assert by_form == entries(route, {}, json=body), page


@pytest.mark.parametrize(
    "caller",
    ["anonymous", "owner without CSRF token", "revoked token", "suspended user", "operator session without CSRF token"],
)
def test_who_is_rejected_leaves_nothing_at_all(service: RunningService, scene: Scene, caller: str) -> None:
    before = contents(service)
    refused = 0
    for name, row in ROUTES.items():
        if row.guard.__name__ in {"anyone", "not_cross_origin"}:
            continue
        reply = ask(listener_of(service, name), row, scene, scene.callers[caller])
        assert reply.status_code in {401, 403}, name
        refused += 1

    assert refused > 30
    assert contents(service) == before


# Every member chooses notices for themselves.
OF_EVERY_MEMBER = {"PUT /v1/console/notices"}


def test_who_lacks_the_role_or_the_state_leaves_nothing(service: RunningService, scene: Scene) -> None:
    before = contents(service)
    for caller in ("readonly", "token without scope", "suspended account", "no account", "two-factor missing"):
        for name, row in ROUTES.items():
            may = caller == "readonly" and name in LOOKS | OF_EVERY_MEMBER
            if row.path.startswith("/v1/console/") and not may:
                assert ask(service.public, row, scene, scene.callers[caller]).status_code == 403, (name, caller)

    assert contents(service) == before


def test_no_bit_of_a_cursor_can_be_changed(service: RunningService, people: Cast) -> None:
    url = "/v1/console/audit"
    for number in range(3):
        assert people.alice.patch("/v1/console/account", json={"name": f"Acme {number}"}).status_code == 200
        assert people.carol.patch("/v1/console/account", json={"name": f"Globex {number}"}).status_code == 200
    cursor = people.alice.get(url, params={"limit": 1}).json()["nextCursor"]
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))

    def answer(forged: str, client: object = None, **query: str) -> tuple[int, str | None]:
        reply = (people.alice if client is None else people.carol).get(url, params={"cursor": forged, **query})
        return reply.status_code, reply.json().get("error")

    assert answer(cursor) == (200, None)
    for place in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[place // 8] ^= 1 << place % 8
        assert answer(base64.urlsafe_b64encode(changed).decode().rstrip("=")) == (400, "invalid_cursor"), place
    assert answer(cursor, people.carol) == (400, "invalid_cursor")
    assert answer(cursor, action="account") == (400, "invalid_cursor")
    operators = service.operator.get(f"/v1/admin/customers/{people.acme}/audit", params={"cursor": cursor})
    assert (operators.status_code, operators.json()["error"]) == (400, "invalid_cursor")
