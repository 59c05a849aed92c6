"""A site behind the gateway: the checks that its proxy sends, and the decisions in the responses."""

import httpx

from tests.support.browser_client import create_site
from tests.support.service import RunningService

ORIGIN = "https://shop.example"

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"

VISITOR = {
    "sec-ch-ua": '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"',
    "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": '"Linux"',
    "User-Agent": CHROME,
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Accept-Language": "en",
}


class Gate:
    """A proxy in front of a site."""

    def __init__(self, service: RunningService, *, mode: str = "enforce", address: str = "203.0.113.20") -> None:
        self.service = service
        self.address = address
        self.site_key = create_site(
            service,
            mode=mode,
            actions={
                "login": {"browserRequired": True, "clearance": True},
                "search": {"browserRequired": False},
                "upload": {"browserRequired": True, "requireContentDigest": True},
            },
            routes=[
                {"method": "POST", "path": "/login", "action": "login"},
                {"method": "GET", "pathPrefix": "/api/", "action": "search"},
                {"method": "POST", "path": "/upload", "action": "upload"},
            ],
        )
        made = service.operator.post(f"/v1/admin/sites/{self.site_key}/credentials", json={"name": "gate"})
        self.secret = made.json()["secret"]

    def check(self, method: str = "GET", path: str = "/", *, query: str = "", **headers: str | None):
        """Ask about a request."""
        sent = {
            "Authorization": f"Bearer {self.secret}",
            "X-Original-Method": method,
            "X-Original-URL": f"{ORIGIN}{path}",
            "X-Original-Address": self.address,
            **VISITOR,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        given = {name: value for name, value in sent.items() if value is not None}
        # Only these headers, in this order: the library's own headers would come first.
        url = f"{self.service.public_url}/v1/gateway/check{query}"
        return self.service.public.send(httpx.Request("GET", url, headers=given))


def said(reply) -> tuple[int, str, str]:
    return reply.status_code, reply.headers["x-service-decision"], reply.headers["x-service-reason"]
