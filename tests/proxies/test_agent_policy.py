"""The agent policy behind real proxies, on a feed and on a request with a header of a webhook."""

from collections.abc import Iterator

import pytest

from tests.proxies.visiting import ORIGIN, Installed
from tests.support.agent_client import SigningAgent

AGENT = SigningAgent()
USUAL = [("Host", "shop.example"), ("User-Agent", "agent/1.0"), ("Accept", "*/*"), ("Accept-Language", "en")]


@pytest.fixture
def denied(site: Installed) -> Iterator[None]:
    """A policy that denies the agent, for the length of a test."""
    path = f"/v1/admin/sites/{site.site_key}/agent-policy"
    before = site.service.operator.get(path).json()
    policy = {"agents": {AGENT.url: {"decision": "deny", "jwks": AGENT.jwks}}}
    assert site.service.operator.put(path, json=policy).status_code == 200
    yield
    assert site.service.operator.put(path, json=before).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [("GET", "/feed.xml", []), ("POST", "/orders", [("Stripe-Signature", "t=1,v1=0"), ("Content-Length", "0")])],
)
def test_a_denied_agent_does_not_reach_what_a_standards_rule_allows(
    installed: Installed, denied: None, method: str, path: str, more: list[tuple[str, str]]
) -> None:
    created = installed.service.clock.now_ms() // 1000
    signature = [*AGENT.headers(method, ORIGIN + path, created=created).items()]

    assert installed.visit(method, path, usual=USUAL, headers=more).status == 200
    assert installed.visit(method, path, usual=USUAL, headers=[*more, *signature]).status == 403
