"""What tests of sign-in with an identity provider do: begin, come back with a token, choose the provider."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
from msgspec.structs import replace

from agentgate.lib.clock import Clock
from agentgate.lib.settings.schema import Settings
from agentgate.lib.settings.values import ListenAddress, oidc_issuers
from tests.support.api_client import ApiClient
from tests.support.issuer import CLIENT, SECRET, SUBJECT, Issuer, signed
from tests.support.ports import free_port
from tests.support.service import RunningService, running_service

PAGES = "/v1/pages/oidc"
ISSUER = "work"
GROUP = "gate-people"


@contextmanager
def service_of(
    settings: Settings, url: str, *, client: str = CLIENT, clock: Clock | None = None
) -> Iterator[RunningService]:
    """Start a service whose users may sign in at an issuer, on a port that the issuer may know in advance."""
    port = free_port()
    scheme, _, place = url.partition("://")
    item = f"{ISSUER}={scheme}://{quote(client, safe='')}:{quote(SECRET, safe='')}@{place}"
    changed = replace(
        settings,
        public_listen=ListenAddress("127.0.0.1", port),
        public_base_url=f"http://127.0.0.1:{port}",
        oidc_issuers=oidc_issuers().parse(item),
        oidc_operators=(f"{ISSUER}:gate-operators",),
    )
    with running_service(changed, clock) as service:
        yield service


def begin(client: ApiClient, path: str = PAGES, **query: str) -> dict[str, str]:
    """Begin a sign-in; return the parameters of the authorization request."""
    reply = client.get(path, params={"issuer": ISSUER, **query})
    assert reply.status_code == 303, reply.text
    return {name: values[0] for name, values in parse_qs(urlsplit(reply.headers["location"]).query).items()}


def claims_for(issuer: Issuer, service: RunningService, asked: dict[str, str], **more: Any) -> dict[str, Any]:
    """Return the claims of a good token of Alice's; `more` replaces them, and None removes one."""
    now_s = service.clock.now_ms() // 1000
    good = {
        "iss": issuer.url,
        "sub": SUBJECT,
        "aud": CLIENT,
        "exp": now_s + 300,
        "iat": now_s,
        "nonce": asked["nonce"],
        "email": "alice@acme.example",
        "email_verified": True,
    }
    return {name: value for name, value in {**good, **more}.items() if value is not None}


def come_back(client: ApiClient, asked: dict[str, str], path: str = PAGES, **query: str) -> httpx.Response:
    """Come back from the issuer with a code."""
    return client.get(f"{path}/callback", params={"code": "c0de", "state": asked["state"], **query})


def sign_in(
    service: RunningService, issuer: Issuer, client: ApiClient | None = None, **more: Any
) -> tuple[ApiClient, httpx.Response]:
    """Sign in with a token of these claims; return the client, with its CSRF token, and the last response."""
    client = client or service.new_public_client()
    asked = begin(client)
    issuer.token = signed(claims_for(issuer, service, asked, **more))
    reply = come_back(client, asked)
    if reply.status_code == 303:
        client.headers["X-CSRF-Token"] = client.get("/v1/account/session").json()["csrfToken"]
    return client, reply


def choose(owner: ApiClient, **policy: Any) -> httpx.Response:
    """Choose the issuer for the account of an owner."""
    return owner.patch("/v1/console/account", json={"oidc": {"issuer": ISSUER, **policy}})
