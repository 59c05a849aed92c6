"""A protected site for browser tests: the real service on the real clock, a site there, and the owner's web server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.browser.origin import PROXIED, PageServer, page_server
from tests.support.service import ADMIN_KEY, RunningService, running_service

SITE_KEY = "site_browser_tests"
ACTION = "signup"


class ProtectedSite:
    """A protected site: its web server, and the service with its settings."""

    def __init__(self, service: RunningService, pages: PageServer) -> None:
        self.service = service
        self.pages = pages
        self.site_key = SITE_KEY
        self.action = ACTION
        self.gate = service.public_url
        self.gate_beside_pages = pages.url(PROXIED)
        self._secret = ""

    @property
    def secret(self) -> str:
        """A credential of the site, for siteverify."""
        if not self._secret:
            made = self.service.operator.post(f"/v1/admin/sites/{SITE_KEY}/credentials")
            assert made.status_code == 201, made.text
            self._secret = made.json()["secret"]
        return self._secret

    def serve(self, body: str, path: str = "/", **headers: str) -> str:
        """Serve a page and return its address; see PageServer.serve."""
        return self.pages.serve(path, body, **headers)

    def script(self, query: str = "?render=explicit", **attributes: str) -> str:
        """Return the tag that loads the SDK."""
        written = "".join(f' {name}="{value}"' for name, value in attributes.items())
        return f'<script src="{self.gate}/sdk/v1/agentgate.js{query}"{written}></script>'

    def change(self, **fields: Any) -> None:
        """Change the site, such as `mode="monitor"`."""
        reply = self.service.operator.patch(f"/v1/admin/sites/{SITE_KEY}", json=fields)
        assert reply.status_code == 200, reply.text

    def save_rules(self, rules: dict[str, Any]) -> None:
        """Let the site have these rules."""
        path = f"/v1/admin/sites/{SITE_KEY}/rules"
        revision = self.service.operator.get(path).json().get("revision")
        body = {"ruleSet": rules} if revision is None else {"ruleSet": rules, "revision": revision}
        reply = self.service.operator.put(path, json=body)
        assert reply.status_code == 200, reply.text

    def redeem(self, token: str, action: str = ACTION, **fields: str) -> Any:
        """Validate a token as the site's server does; return the response."""
        body = {"token": token, "expectedAction": action, "secret": self.secret, **fields}
        return self.service.public.post("/v1/siteverify", json=body)


@contextmanager
def protected_site(folder: Path, **fields: Any) -> Iterator[ProtectedSite]:
    """Start the service and the web server. The site is in enforce mode by default; `fields` override its settings."""
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(folder / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
    )
    with running_service(settings, SystemClock()) as service, page_server(service.public_url) as pages:
        body = {
            "siteKey": SITE_KEY,
            "name": "Shop",
            "mode": "enforce",
            "allowedOrigins": pages.origins(),
            "actions": {ACTION: {"browserRequired": True}, "cleared": {"browserRequired": True, "clearance": True}},
            **fields,
        }
        made = service.operator.post("/v1/admin/sites", json=body)
        assert made.status_code == 201, made.text
        yield ProtectedSite(service, pages)
