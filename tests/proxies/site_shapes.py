"""Four shapes of a site, each with the client that has the most to gain there: what it shows, and who it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentgate.browser_check.tokens.clearance import ClearanceHolder
from agentgate.lib.enums import ClearanceLevel
from agentgate_tools.adapters.render import Installation
from tests.proxies.flood import ClientHeaders
from tests.proxies.mutations import Request
from tests.support.agent_client import SigningAgent
from tests.support.browser_client import CHROME, create_site
from tests.support.service import RunningService

ORIGIN = "https://shop.example"
AGENT = SigningAgent()
# It signs who it is and nothing of the request: a signature then fits whatever a proxy makes of the target.
SIGNED = ("@authority", "signature-agent")
BROWSER = (
    (b"User-Agent", CHROME.encode()),
    (b"Accept", b"*/*"),
    (b"Accept-Encoding", b"gzip"),
    (b"Accept-Language", b"en"),
)

OPEN = {"browserRequired": False}
TOKEN = {"browserRequired": True}
CLEARANCE = {"browserRequired": True, "clearance": True}
CATCH_ALL = {"method": "*", "pathPrefix": "/", "action": "browse"}


def _routes(**actions: str) -> list[dict[str, str]]:
    return [
        {"method": "POST", "path": "/pay", "action": actions["pay"]},
        {"method": "*", "pathPrefix": "/admin/", "action": actions["staff"]},
        {"method": "GET", "path": "/tasks", "action": actions["tasks"]},
        {"method": "DELETE", "pathPrefix": "/items/", "action": actions["items"]},
    ]


@dataclass(frozen=True)
class Shape:
    """A site's settings, rules and policy, and the kind of client that visits it."""

    client: str
    settings: Mapping[str, Any]
    rules: Sequence[Mapping[str, Any]] = ()
    policy: Mapping[str, Any] | None = None


SHAPES = {
    "catch-all": Shape(
        client="cleared",
        settings={
            "actions": {"browse": CLEARANCE, "pay": TOKEN, "staff": TOKEN},
            "routes": [CATCH_ALL, *_routes(pay="pay", staff="staff", tasks="pay", items="staff")],
        },
    ),
    "rules": Shape(
        client="browser",
        settings={
            "actions": {"pay": OPEN, "staff": OPEN, "tasks": OPEN, "items": OPEN},
            "routes": _routes(pay="pay", staff="staff", tasks="tasks", items="items"),
        },
        rules=[
            {"name": "staff", "match": {}, "action": "block", "routes": ["/admin/*", "/pay"]},
            {"name": "tasks", "match": {"all_labels": ["ua.browser"]}, "action": "challenge", "routes": ["tasks"]},
            {"name": "items", "match": {}, "action": "drop", "routes": ["items"]},
        ],
    ),
    "islands": Shape(
        client="browser",
        settings={
            "actions": {"pay": TOKEN, "members": CLEARANCE},
            "routes": _routes(pay="pay", staff="members", tasks="members", items="pay"),
        },
    ),
    "agent": Shape(
        client="agent",
        settings={
            "actions": {"browse": CLEARANCE, "pay": TOKEN, "staff": TOKEN, "tasks": OPEN, "items": TOKEN},
            "routes": [CATCH_ALL, *_routes(pay="pay", staff="staff", tasks="tasks", items="items")],
        },
        policy={
            "default": "block",
            "quotaPerMinute": 1_000_000,
            "agents": {
                AGENT.url: {
                    "decision": "allow",
                    "jwks": AGENT.jwks,
                    "quotaPerMinute": 1_000_000,
                    "actions": {"staff": "deny", "tasks": "challenge", "items": "deny"},
                }
            },
            "actions": {"pay": {"price": "USD 1.00"}},
        },
    ),
}


def install(service: RunningService, shape: Shape, upstream_port: int) -> Installation:
    """Create a site of a shape in the service, and return how a proxy is set up for it."""
    site_key = create_site(service, mode="enforce", **shape.settings)
    site = f"/v1/admin/sites/{site_key}"
    rules = {"revision": 0, "ruleSet": {"version": "1", "rules": list(shape.rules), "default_action": "allow"}}
    assert service.operator.put(f"{site}/rules", json=rules).status_code == 200
    if shape.policy is not None:
        assert service.operator.put(f"{site}/agent-policy", json=dict(shape.policy)).status_code == 200
    made = service.operator.post(f"{site}/credentials", json={"name": "proxy"})
    return Installation(
        site=site_key,
        service=service.public_url,
        origin=ORIGIN,
        upstream=f"http://127.0.0.1:{upstream_port}",
        secret=made.json()["secret"],
        mode="enforce",
    )


def client_of(service: RunningService, shape: Shape, site_key: str) -> ClientHeaders:
    """Return what the shape's client sends along with each request."""

    @lru_cache(None)
    def cookie(address: str) -> bytes:
        application = service.application
        issued = application.browser_check.clearances.issue(
            site_key=site_key,
            origin=ORIGIN,
            holder=ClearanceHolder(address, CHROME.encode()),
            level=ClearanceLevel.CHECKED,
            now_ms=service.clock.now_ms(),
        )
        return f"{issued.name}={issued.value}".encode()

    def browser(request: Request, address: str) -> Sequence[tuple[bytes, bytes]]:
        return BROWSER

    def cleared(request: Request, address: str) -> Sequence[tuple[bytes, bytes]]:
        return (*BROWSER, (b"Cookie", cookie(address)))

    def agent(request: Request, address: str) -> Sequence[tuple[bytes, bytes]]:
        created = service.clock.now_ms() // 1000
        signed = AGENT.headers(request.method, ORIGIN, created=created, cover=SIGNED)
        named = [(b"User-Agent", b"agent/1.0"), (b"Accept", b"*/*")]
        return [*named, *((name.encode(), value.encode()) for name, value in signed.items())]

    return {"browser": browser, "cleared": cleared, "agent": agent}[shape.client]
