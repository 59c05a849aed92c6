"""A site with a secret of its server, tokens for it, and the calls of its server."""

import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.service import RunningService
from tests.support.tokens import LIFETIME_S, ORIGIN, mint

SITES = "/v1/admin/sites"
SITEVERIFY = "/v1/siteverify"


@dataclass
class Shop:
    """One site."""

    service: RunningService
    site_key: str
    site_id: str
    secret: str
    credential: str

    def token(self, *, lifetime_s: int = LIFETIME_S, age_s: int = 0, **changes: Any) -> str:
        """Return a token as a browser would have earned it, some seconds ago."""
        keys = self.service.application.signing_keys
        now_ms = self.service.clock.now_ms() - age_s * 1000
        return mint(keys, changes.pop("site_key", self.site_key), now_ms=now_ms, lifetime_s=lifetime_s, **changes)

    def verify(self, token: str, *, secret: str | None = None, **fields: Any) -> httpx.Response:
        """Call siteverify as the site's server does; None leaves a field out."""
        body = {"token": token, "expectedAction": "login"} | fields
        return self.service.public.post(
            SITEVERIFY,
            json={name: value for name, value in body.items() if value is not None},
            headers={"Authorization": f"Bearer {self.secret if secret is None else secret}"},
        )

    def new_secret(self) -> str:
        """Return the secret of one more credential."""
        return str(self.service.operator.post(f"{SITES}/{self.site_key}/credentials").json()["secret"])

    def rotate(self, overlap_s: int) -> str:
        """Replace the credential; return the new secret."""
        path = f"{SITES}/{self.site_key}/credentials/{self.credential}/rotate"
        return str(self.service.operator.post(path, json={"overlapSeconds": overlap_s}).json()["secret"])


def open_shop(service: RunningService, site_key: str = "site_shop") -> Shop:
    """Create a site with one credential."""
    actions = {
        "login": {"browserRequired": True},
        "upload": {"browserRequired": True, "requireContentDigest": True},
    }
    body = {"name": "Shop", "siteKey": site_key, "allowedOrigins": [ORIGIN], "actions": actions}
    site = service.operator.post(SITES, json=body)
    assert site.status_code == 201, site.text
    made = service.operator.post(f"{SITES}/{site_key}/credentials").json()
    return Shop(service, site_key, site.json()["id"], made["secret"], made["credential"]["id"])


def code(response: httpx.Response) -> tuple[int, str | None]:
    """Return status and error code of a response."""
    return response.status_code, response.json().get("error")


def ask_whole(service: RunningService, *requests: bytes) -> tuple[bytes, bytes]:
    """Send requests, each in one piece on a connection that stays open; return the last response."""
    parts = urlsplit(service.public_url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        head = body = b""
        for request in requests:
            connection.sendall(request)
            head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
    return head, body
