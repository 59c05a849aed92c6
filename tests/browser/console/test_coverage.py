"""Which rows of the account and console APIs a page uses. One that none does is named here, with the reason."""

import re
from pathlib import Path

from agentgate.routes.account import ACCOUNT
from agentgate.routes.console import CONSOLE

SOURCES = Path(__file__).parents[3] / "console" / "src"
PAGES = Path(__file__).parents[3] / "src" / "agentgate" / "people" / "account_pages" / "endpoints.py"

# Method and path, without the prefix of the API -> why no page uses it.
BY_FORM = "a form of the account pages calls the same handler"
NOT_YET = "its page is not built yet"
UNUSED = {
    "POST /v1/account/request-access": BY_FORM,
    "POST /v1/account/login": BY_FORM,
    "POST /v1/account/login/mfa": BY_FORM,
    "POST /v1/account/switch": BY_FORM,
    "POST /v1/account/accounts": NOT_YET,
    "POST /v1/account/invite/accept": BY_FORM,
    "POST /v1/account/password/forgot": BY_FORM,
    "POST /v1/account/password/reset": BY_FORM,
    "GET /v1/console/account": NOT_YET,
    "PATCH /v1/console/account": NOT_YET,
    "DELETE /v1/console/account": NOT_YET,
    "POST /v1/console/account/transfer-ownership": NOT_YET,
    "GET /v1/console/members": NOT_YET,
    "POST /v1/console/members": NOT_YET,
    "PATCH /v1/console/members/{userId}": NOT_YET,
    "DELETE /v1/console/members/{userId}": NOT_YET,
    "POST /v1/console/members/{userId}/resend-invite": NOT_YET,
    "GET /v1/console/audit": NOT_YET,
    "GET /v1/console/sites/{siteKey}/webhooks": NOT_YET,
    "POST /v1/console/sites/{siteKey}/webhooks": NOT_YET,
    "PATCH /v1/console/sites/{siteKey}/webhooks/{webhookId}": NOT_YET,
    "DELETE /v1/console/sites/{siteKey}/webhooks/{webhookId}": NOT_YET,
    "POST /v1/console/sites/{siteKey}/webhooks/{webhookId}/rotate": NOT_YET,
    "POST /v1/console/sites/{siteKey}/webhooks/{webhookId}/test": NOT_YET,
    "GET /v1/console/sites/{siteKey}/webhooks/{webhookId}/deliveries": NOT_YET,
    "GET /v1/console/tokens": NOT_YET,
    "POST /v1/console/tokens": NOT_YET,
    "DELETE /v1/console/tokens/{id}": NOT_YET,
}
CALL = re.compile(r"api\s*\.(get|post|put|patch|delete|text)(?:<[^(]*>)?\(\s*[`\"]([^`\"?]+)")
ADDRESS = re.compile(r"(?:address|fetch)\(\s*[`\"]([^`\"?]+)")


def used() -> set[str]:
    """Return method and path of every call that stands in the sources, with `{}` for whatever is put into the path."""
    found = set()
    for path in SOURCES.rglob("*.ts*"):
        text = path.read_text("utf-8")
        calls = [("GET" if method == "text" else method.upper(), at) for method, at in CALL.findall(text)]
        for method, at in [*calls, *(("GET", at) for at in ADDRESS.findall(text))]:
            full = at if at.startswith("/v1/") else f"/v1/console{at}"
            found.add(f"{method} {re.sub(r'[$][{][^}]*[}]', '{}', full)}")
    # The operator's console has another address for the same thing, chosen where it is called.
    return found | {"POST /v1/account/logout"}


def rows() -> list[str]:
    return [f"{row.method} {row.path}" for surface in (ACCOUNT, CONSOLE) for row in surface.rows]


def test_every_row_is_used_by_a_page_or_named_with_the_reason() -> None:
    calls = used()
    unused = [name for name in rows() if re.sub(r"\{\w+\}", "{}", name) not in calls]

    assert unused == list(UNUSED), "update UNUSED: a row that a page uses leaves it, in the order of the tables"


def test_what_a_form_does_is_done_by_the_same_handler() -> None:
    text = PAGES.read_text("utf-8")

    assert all(
        each in text
        for each in ("sign_in.log_in(", "sign_in.finish_log_in(", "invites.accept_invite(", "passwords.reset_password(")
    )
