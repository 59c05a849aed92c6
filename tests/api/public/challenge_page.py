"""A visitor of a site whose adapter shows the challenge page: what it sends, and the page as it can be read."""

import json
import re
from typing import Any

import httpx

from tests.support.browser_client import HEADERS, create_site, get_token, new_address
from tests.support.service import RunningService

ORIGIN = "https://shop.example"
NAVIGATION = {
    **{name: value for name, value in HEADERS.items() if not name.startswith("Sec-Fetch") and name != "Content-Type"},
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}
SCRIPT = {**HEADERS, "Sec-Fetch-Site": "same-origin", "Origin": ORIGIN}
ACTIONS = {
    "read": {"browserRequired": True, "clearance": True},
    "pay": {"browserRequired": True},
    "look": {"browserRequired": False},
}
ROUTES = [
    {"method": "*", "path": "/members", "action": "read"},
    {"method": "POST", "path": "/pay", "action": "pay"},
    {"method": "GET", "path": "/look", "action": "look"},
]


class Visitor:
    """A visitor of a site, with an address."""

    def __init__(self, service: RunningService, **fields: Any) -> None:
        self.service = service
        self.site_key = create_site(service, **{"actions": ACTIONS, "routes": ROUTES, **fields})
        made = service.operator.post(f"/v1/admin/sites/{self.site_key}/credentials", json={"name": "gate"})
        self.secret = made.json()["secret"]
        self.address = new_address()

    def adapter(self, method: str, path: str) -> dict[str, str]:
        """Return the headers that the adapter adds."""
        return {
            "X-AgentGate-Secret": self.secret,
            "X-Original-Method": method,
            "X-Original-URL": f"{ORIGIN}{path}",
            "X-Original-Address": self.address,
        }

    def call(self, method: str, route: str, *, path: str, headers: dict[str, Any], **options: Any) -> httpx.Response:
        """Call a route through the adapter; a header that is None is not sent."""
        original = options.pop("original", method)
        sent = {**self.adapter(original, path), **headers}
        return self.service.public.request(
            method,
            f"/v1/gateway/{route}",
            headers={name: value for name, value in sent.items() if value is not None},
            follow_redirects=False,
            **options,
        )

    def page(self, path: str = "/members", query: str = "", **headers: Any) -> httpx.Response:
        """Request a path and get the challenge page instead."""
        return self.call("GET", f"challenge{query}", path=path, headers=_named(NAVIGATION, headers))

    def post_form(self, content: bytes, path: str = "/members", **headers: Any) -> httpx.Response:
        """Send a form and be shown the page instead."""
        sent = {
            **NAVIGATION,
            "Origin": ORIGIN,
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.call("POST", "challenge", path=path, headers=_named(sent, headers), content=content)

    def script(self, route: str, body: Any, **headers: Any) -> httpx.Response:
        """Call what the page's script calls."""
        path = f"/.agentgate/v1/gateway/{route}"
        sent = _named({**SCRIPT, "Content-Type": "application/json"}, headers)
        return self.call("POST", route, path=path, headers=sent, content=json.dumps(body).encode())

    def token(self, action: str = "read", **options: Any) -> str:
        """Pass the check."""
        return get_token(self.service, self.site_key, action, ORIGIN, **{"address": self.address, **options})

    def check(self, method: str = "GET", path: str = "/members", **headers: Any) -> tuple[int, str]:
        """Ask the gateway."""
        reply = self.call("GET", "check", path=path, headers=_named(NAVIGATION, headers), original=method)
        return reply.status_code, reply.headers["x-service-reason"]


def _named(usual: dict[str, str], changes: dict[str, Any]) -> dict[str, Any]:
    return {**usual, **{name.replace("_", "-"): value for name, value in changes.items()}}


def facts_of(reply: httpx.Response) -> dict[str, Any]:
    """Return the data for the page's script; empty if the page runs none."""
    found = re.search(r'<script type="application/json" id="page">(.*?)</script>', reply.text, re.DOTALL)
    facts: dict[str, Any] = json.loads(found[1]) if found else {}
    return facts


def cookie_of(reply: httpx.Response) -> str:
    """Return the clearance as the browser sends it back."""
    return reply.headers["set-cookie"].partition(";")[0]
