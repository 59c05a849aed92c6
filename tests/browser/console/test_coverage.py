"""Which rows of the account, console and admin APIs a page uses. One that none does is named here, with the reason."""

import re
from collections.abc import Iterable
from pathlib import Path

from agentgate.http.surface import Surface
from agentgate.routes.account import ACCOUNT
from agentgate.routes.admin import ADMIN
from agentgate.routes.console import CONSOLE

SOURCES = Path(__file__).parents[3] / "console" / "src"
PAGES = Path(__file__).parents[3] / "src" / "agentgate" / "pages" / "account" / "endpoints.py"

# Method and path, without the prefix of the API -> why no page uses it.
BY_FORM = "a form of the account pages calls the same handler"
UNUSED = {
    "POST /v1/account/request-access": BY_FORM,
    "POST /v1/account/login": BY_FORM,
    "POST /v1/account/login/mfa": BY_FORM,
    "POST /v1/account/switch": BY_FORM,
    "POST /v1/account/invitations/{id}/accept": BY_FORM,
    "POST /v1/account/invite/accept": BY_FORM,
    "POST /v1/account/password/forgot": BY_FORM,
    "POST /v1/account/password/reset": BY_FORM,
    "POST /v1/account/setup": BY_FORM,
}
UNUSED_BY_OPERATORS = {
    "POST /v1/admin/logout": "the same button signs customers out, at another address",
    "POST /v1/admin/labels": "for programs that know a request and not its decision; the queue labels decisions",
    "POST /v1/admin/setup-link": "before the first owner exists, the link is made by `agentgate setup-link`",
}
CALL = re.compile(r"api\s*\.(get|post|put|patch|delete|text)(?:<[^(]*>)?\(\s*[`\"]([^`\"?]+)")
# The table of members gets the place of the members in the API from its page.
BASE = re.compile(r"\bmembersAt=\{?[`\"]([^`\"]+)")
ADDRESS = re.compile(r"(?:address|fetch)\(\s*[`\"]([^`\"?]+)")


def calls_in(paths: Iterable[Path], prefix: str) -> set[str]:
    """Return method and path of every call in the sources, with `{}` for whatever is put into the path."""
    found = set()
    texts = [path.read_text("utf-8") for path in paths]
    bases = {base for text in texts for base in BASE.findall(text)}
    placed = [
        text.replace("${membersAt}", base).replace("(membersAt,", f"(`{base}`,") for text in texts for base in bases
    ]
    for text in placed:
        calls = [("GET" if method == "text" else method.upper(), at) for method, at in CALL.findall(text)]
        for method, at in [*calls, *(("GET", at) for at in ADDRESS.findall(text))]:
            full = at if at.startswith("/v1/") else f"{prefix}{at}"
            found.add(f"{method} {re.sub(r'[$][{][^}]*[}]', '{}', full)}")
    return found


def used() -> set[str]:
    """Return the calls of the customers' console: all pages but those that only operators have."""
    sources = [path for path in SOURCES.rglob("*.ts*") if path.relative_to(SOURCES).parts[0] != "operator"]
    # The operator's console has other addresses for the first two, chosen where they are called. Paths of the others
    # are constants, because several calls use them.
    chosen = {"POST /v1/account/logout", "GET /v1/console/audit", "PUT /v1/console/sites/{}/agent-policy"}
    chosen |= {f"POST /v1/account/mfa/passkeys{rest}" for rest in ("/challenge", "", "/{}/remove")}
    return calls_in(sources, "/v1/console") | chosen


def used_by_operators() -> set[str]:
    """Return the calls of pages that operators have alone, or share with customers."""
    # The page inserts the role into the path, and passes the path of a customer's audit trail to the list.
    chosen = {
        "GET /v1/admin/audit",
        "GET /v1/admin/customers/{}/audit",
        "PUT /v1/admin/models/{}/{}",
        "DELETE /v1/admin/models/{}/{}",
    }
    return calls_in(SOURCES.rglob("*.ts*"), "/v1/admin") | chosen


def unused(surfaces: Iterable[Surface], calls: set[str]) -> list[str]:
    """Return the rows that no call uses."""
    names = [f"{row.method} {row.path}" for surface in surfaces for row in surface.rows]
    return [name for name in names if re.sub(r"\{\w+\}", "{}", name) not in calls]


def test_every_row_is_used_by_a_page_or_named_with_the_reason() -> None:
    found = unused((ACCOUNT, CONSOLE), used())

    assert found == list(UNUSED), "update UNUSED: a row that a page uses leaves it, in the order of the tables"


def test_every_admin_row_is_used_by_a_page_or_named_with_the_reason() -> None:
    # Shared pages use the rows that customers have too; the test above checks those.
    shared = {f"{row.method} {row.path.replace('/v1/console', '/v1/admin')}" for row in CONSOLE.rows}
    found = [name for name in unused((ADMIN,), used_by_operators()) if name not in shared]

    assert found == list(UNUSED_BY_OPERATORS), "update UNUSED_BY_OPERATORS, in the order of the table"


def test_a_form_calls_the_same_handler_as_the_api() -> None:
    text = PAGES.read_text("utf-8")

    assert all(f"sign_in.{each}(" in text for each in ("log_in", "finish_log_in", "accept_invite", "reset_password"))
    assert "setup.accept_setup(" in text
