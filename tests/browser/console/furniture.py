"""An installation with something on every page of both consoles: people, messages, models, tokens, a webhook."""

from typing import Any

from playwright.sync_api import Page

from tests.browser.console.steps import SITE, Console
from tests.support.service import ADMIN_KEY

REQUESTS = (
    ("cho@example.com", "Cho Minh", "Cho Books", "Two shops and a forum. Scrapers take our prices every night."),
    ("dana@example.com", "Dana Levi", "Sample News", ""),
)


def furnish(console: Console) -> None:
    """Fill the pages of operators and of the account. Nothing here changes what is decided."""
    operator = console.service.operator
    for email, name, company, message in REQUESTS:
        body = {"email": email, "name": name, "company": company, **({"message": message} if message else {})}
        assert console.service.public.post("/v1/account/request-access", json=body).status_code in {200, 201, 202}
    made = operator.post("/v1/admin/accounts", json={"email": "ann@example.com", "customerName": "Example Ltd"})
    assert made.status_code == 201, made.text
    for name, origin in (("Docs", "https://docs.example.com"), ("Blog", "https://blog.example.com")):
        site = {"name": name, "allowedOrigins": [origin]}
        operator.post(f"/v1/admin/customers/{made.json()['customerId']}/sites", json=site)
    for page, helpful in (("/docs/rules", True), ("/docs/rules", True), ("/docs/webhooks", False)):
        console.service.public.post("/v1/docs/feedback", json={"page": page, "helpful": helpful})
    console.invite("dev@example.com", role="member")
    for kind in ("bot",):
        _install_candidate(console, kind)
    operator.post("/v1/admin/keys/clearance/rotate")
    operator.post(f"/v1/admin/sites/{SITE}/credentials", json={"name": "Backend"})


def furnish_account(page: Page, console: Console) -> None:
    """Add tokens and a webhook, as the owner who is signed in in this tab."""
    token = page.request.get(f"{console.url}/v1/account/session").json()["csrfToken"]
    headers = {"X-CSRF-Token": token, "Origin": console.url}
    scopes = ["sites:read", "analytics:read"]
    page.request.post(f"{console.url}/v1/console/tokens", data={"name": "Reports", "scopes": scopes}, headers=headers)
    hook = {"url": "https://hooks.example.com/agentgate", "events": ["decisions", "health"]}
    page.request.post(f"{console.url}/v1/console/sites/{SITE}/webhooks", data=hook, headers=headers)


def sign_in_operator(page: Page, console: Console, name: str = "ada") -> None:
    """Sign in over the API, as the browser of this tab."""
    data = {"key": ADMIN_KEY, "operator": name}
    answer = page.request.post(f"{console.admin_url}/v1/admin/login", data=data)
    assert answer.ok, answer.text()


def _install_candidate(console: Console, kind: str) -> None:
    """Install the active model once more, under another version: enough to compare."""
    operator = console.service.operator
    file: dict[str, Any] = operator.get(f"/v1/admin/models/{kind}/active").json()
    file["version"] = f"{file['version']}-next"
    answer = operator.put(f"/v1/admin/models/{kind}/candidate", json=file)
    assert answer.status_code == 200, answer.text
