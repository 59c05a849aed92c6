"""Paths below `/.agentgate/` through real proxies: what visitors need, nothing else, and no choice of the address."""

import re
from urllib.parse import urlencode

import pytest

from tests.proxies.visiting import NAVIGATION, ORIGIN, Installed, new_address
from tests.support.browser_client import decision_of

SCRIPT = "/.agentgate/sdk/v1/agentgate.js"
SEEN = "/.agentgate/v1/gateway/challenge?seen=1"
FORGED_ADDRESS = "203.0.113.77"
# How a visitor may try to choose the address that the service uses.
FORGED_ADDRESSES = {
    "X-Forwarded-For": FORGED_ADDRESS,
    "X-Real-IP": FORGED_ADDRESS,
    "Forwarded": f"for={FORGED_ADDRESS}",
    "X-Original-Address": FORGED_ADDRESS,
    "X-AgentGate-Request": f"GET {FORGED_ADDRESS} host=shop.example {ORIGIN}/.agentgate/v1/gateway/challenge",
    "X_AgentGate_Request": f"GET {FORGED_ADDRESS} host=shop.example {ORIGIN}/.agentgate/v1/gateway/challenge",
    "X.Forwarded.For": FORGED_ADDRESS,
}
OURS = "X-AgentGate-Request, X-AgentGate-Secret, X-Service-Decision-Id"
OWN_PATHS = {
    "challenge": ("GET", "/v1/gateway/challenge?seen=1", b""),
    "pass": ("POST", "/v1/gateway/pass", b"{}"),
    "replay": ("POST", "/v1/gateway/replay", b"{}"),
    "browser": ("POST", "/v1/browser/challenge", b"{}"),
    "appeal": ("GET", "/v1/gateway/appeal", b""),
    "sdk": ("GET", "/sdk/v1/agentgate.js", b""),
}


def test_the_script_comes_from_the_sites_own_origin(installed: Installed) -> None:
    told = installed.visit("GET", f"{SCRIPT}?v=1")

    assert (told.status, told.headers.get_content_type()) == (200, "text/javascript")
    assert installed.tap.heard[-1].target == f"{SCRIPT}?v=1"


@pytest.mark.parametrize(
    "path",
    [
        "/.agentgate/",
        "/.agentgate/check",
        "/.agentgate/denied",
        "/.agentgate/denied-without-body",
        "/.agentgate/v1/gateway/check",
        "/.agentgate/v1/gateway/check?respond=visitor",
        "/.agentgate/v1/gateway/denied?d=none",
        "/.agentgate/v1/siteverify",
        "/.agentgate/healthz",
        "/.agentgate/v1/gateway/challenge/x",
        "/.agentgate/v1/browser/a/b",
        "/.agentgate/sdk/../v1/siteverify",
        "/.agentgate/sdk/%2e%2e/v1/siteverify",
        "/.agentgate/sdk/..%2fv1/siteverify",
        "/.agentgate/%2e%2e/v1/siteverify",
    ],
)
def test_nothing_else_of_the_service_is_reachable(installed: Installed, path: str) -> None:
    before, asked = len(installed.tap.heard), len(installed.site.asked)

    told = installed.visit("GET", path)

    heard = [each.target for each in installed.tap.heard[before:]]
    if path == "/.agentgate/%2e%2e/v1/siteverify" and installed.proxy in {"nginx", "traefik"}:
        # They resolve the dots, so the path is one of the site's, and is judged.
        assert [each.startswith("/v1/gateway/check?respond=") for each in heard] == [True]
        return
    assert told.status in {400, 404}
    assert all(each.startswith("/.agentgate/") for each in heard)
    assert len(installed.site.asked) == asked


@pytest.mark.parametrize(
    "path",
    ["/.agentgate/../members", "/.agentgate/%2e%2e/members", "/.agentgate/..%2fmembers", "/x/../.agentgate/../members"],
)
def test_the_prefix_leads_around_no_check(installed: Installed, path: str) -> None:
    before = len(installed.site.asked)

    told = installed.visit("GET", path)

    assert told.status in {400, 401, 404}
    assert len(installed.site.asked) == before


@pytest.mark.parametrize(
    "path", ["/v1/siteverify/../../.agentgate/x", "/v1/x/%2e%2e/.agentgate/y", "/v1/gateway/check"]
)
def test_no_other_path_reaches_the_service(installed: Installed, path: str) -> None:
    before = len(installed.tap.heard)

    installed.visit("GET", path)

    allowed = ("/v1/gateway/check?", "/v1/gateway/denied?", "/.agentgate/")
    assert [asked.target for asked in installed.tap.heard[before:] if not asked.target.startswith(allowed)] == []


@pytest.mark.parametrize("own", OWN_PATHS)
def test_each_own_path_gets_the_adapters_secret_and_address(installed: Installed, own: str) -> None:
    method, path, body = OWN_PATHS[own]
    address = new_address()
    forged = [*FORGED_ADDRESSES.items(), ("X-AgentGate-Secret", "ags_" + "f" * 43), ("Connection", f"close, {OURS}")]
    json = [("Content-Type", "application/json"), ("Origin", ORIGIN)]

    installed.visit(method, f"/.agentgate{path}", headers=[*forged, *json], body=body, address=address)

    heard = installed.tap.heard[-1]
    assert heard.target == f"/.agentgate{path}"
    assert heard.one("x-agentgate-secret") == installed.secret
    if installed.proxy == "traefik":
        assert heard.all("x-agentgate-request") == []
        assert heard.one("x-forwarded-for") == address
    else:
        assert heard.original == (method, f"{ORIGIN}/.agentgate{path}", address)


@pytest.mark.parametrize("name", FORGED_ADDRESSES)
@pytest.mark.parametrize("is_listed", [False, True])
def test_no_header_chooses_the_address_that_the_service_uses(installed: Installed, name: str, is_listed: bool) -> None:
    address = new_address()
    forged = [(name, FORGED_ADDRESSES[name]), *([("Connection", f"close, {name}, {OURS}")] if is_listed else [])]

    usual = installed.visit("GET", SEEN, address=address)
    told = installed.visit("GET", SEEN, headers=forged, address=address)

    assert usual.status == 200, usual.body
    # Envoy rejects a Connection header that names X-Forwarded-For.
    if not (installed.proxy == "envoy" and told.status == 400):
        assert told.json["visitor"] == usual.json["visitor"]
        assert told.json["visitor"] != installed.visit("GET", SEEN).json["visitor"]


@pytest.mark.parametrize("query", ["respond=visitor", "request=forwarded", "ok=200", "d=x", "respond=denial&d=block"])
def test_the_query_below_the_prefix_selects_nothing(installed: Installed, query: str) -> None:
    address = new_address()
    described = {
        f"X-Forwarded-{name}": value for name, value in (("Method", "GET"), ("Uri", "/"), ("Host", "a.example"))
    }

    told = installed.visit("GET", f"{SEEN}&{query}", headers=list(described.items()), address=address)

    assert told.json["visitor"] == installed.visit("GET", SEEN, address=address).json["visitor"]


def test_a_blocked_visitor_appeals_through_the_proxy(installed: Installed, ruled: None) -> None:
    address = new_address()
    scanner = [(name, "sqlmap/1.8" if name == "User-Agent" else value) for name, value in NAVIGATION]
    page = installed.visit("GET", "/blocked", usual=scanner, address=address)
    assert (page.status, page.headers.get_content_type()) == (403, "text/html")
    decision = page.headers["x-service-decision-id"]
    decision_of(installed.service, installed.site_key, decision)
    [ticket] = re.findall(r'name="ticket" value="([^"]+)"', page.body.decode())
    fields = {"ticket": ticket, "text": f"I read it through {installed.proxy}."}
    # As long as a visitor takes to write.
    installed.service.clock.advance(seconds=3)
    form = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", ORIGIN)]

    filed = installed.visit(
        "POST",
        "/.agentgate/v1/gateway/appeal",
        usual=scanner,
        headers=form,
        body=urlencode(fields).encode(),
        address=address,
    )

    assert filed.status == 303, filed.body
    shown = installed.visit("GET", filed.headers["location"], usual=scanner, address=address)
    assert (shown.status, shown.headers.get_content_type()) == (200, "text/html")
    appeals = installed.service.operator.get(f"/v1/admin/sites/{installed.site_key}/appeals").json()["items"]
    assert [each["message"] for each in appeals if each["decisionId"] == decision] == [fields["text"]]
