"""Every page of the consoles, for tests that visit them all."""

from tests.browser.console.steps import SITE

# Path relative to the service's URL, and an element that must be on the page before it is checked.
ACCOUNT_PAGES = {
    "/": "main h1",
    "/console/sign-in": "#password",
    "/console/code": "#code",
    "/console/forgot": "#email",
    "/console/invite": "#token",
    "/console/reset": "#token",
    "/console/request-access": "#message",
}

CONSOLE_PAGES = {
    "/console/sites": "tbody a",
    "/console/new-site": "#origin",
    "/console/security": ".tbl .tag",
    f"/console/sites/{SITE}/overview": ".chart polyline",
    f"/console/sites/{SITE}/decisions?range=7d": "tbody .out",
    f"/console/sites/{SITE}/visitors?range=7d": "tbody code",
    f"/console/sites/{SITE}/install": ".thousand",
    f"/console/sites/{SITE}/lists?add=1": "form .btn.main",
    f"/console/sites/{SITE}/appeals": ".empty",
    f"/console/sites/{SITE}/rules": ".editor textarea",
    f"/console/sites/{SITE}/agents": ".tbl.edit",
    f"/console/sites/{SITE}/agents?tab=use": "#robots",
    f"/console/sites/{SITE}/ai-traffic": ".bars",
    f"/console/sites/{SITE}/agents?tab=charges": ".empty",
    f"/console/sites/{SITE}/agents?tab=grants": ".empty",
    f"/console/sites/{SITE}/settings": ".tbl.edit",
}

MANAGEMENT_PAGES = {
    "/console/members": "tbody tr",
    "/console/tokens": "tbody .tag",
    "/console/audit": "tbody code",
    "/console/account": ".danger",
    f"/console/sites/{SITE}/webhooks": ".card footer",
}

OPERATOR_PAGES = {
    "/operator/service": ".tiles",
    "/operator/customers": "tbody a",
    "/operator/access-requests": ".answers",
    "/operator/users": "tbody .tag",
    "/operator/outbox": "tbody .tag",
    "/operator/models": ".facts",
    "/operator/probes": ".bars",
    "/operator/docs-feedback": "tbody code",
    "/operator/sites": "tbody a",
    "/operator/sessions": "tbody tr",
    "/operator/audit": "tbody code",
    f"/operator/sites/{SITE}/labeling": "aside .path",
    f"/operator/sites/{SITE}/labeling?order=review": ".empty",
    f"/operator/sites/{SITE}/webhooks": ".card footer",
} | {path.replace("/console/", "/operator/"): there for path, there in CONSOLE_PAGES.items() if "/sites/" in path}
