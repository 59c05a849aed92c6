"""The agent policy behind real proxies: on a feed, on a request with a header of a webhook, and with prices."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import ORIGIN, Installed
from tests.support.agent_client import SigningAgent

AGENT = SigningAgent()
USUAL = [("Host", "shop.example"), ("User-Agent", "agent/1.0"), ("Accept", "*/*"), ("Accept-Language", "en")]


@contextlib.contextmanager
def agents_entry(site: Installed, **entry: Any) -> Iterator[None]:
    path = f"/v1/admin/sites/{site.site_key}/agent-policy"
    before = site.service.operator.get(path).json()
    policy = {"agents": {AGENT.url: {"jwks": AGENT.jwks, **entry}}}
    assert site.service.operator.put(path, json=policy).status_code == 200
    yield
    assert site.service.operator.put(path, json=before).status_code == 200


@pytest.fixture
def denied(site: Installed) -> Iterator[None]:
    """A policy that denies the agent, for the length of a test."""
    with agents_entry(site, decision="deny"):
        yield


@pytest.fixture
def priced(site: Installed) -> Iterator[None]:
    """A policy with a price, for the length of a test."""
    with agents_entry(site, decision="allow", price="USD 0.05"):
        yield


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


# Traefik's ForwardAuth adds no header of the check to the site's response.
@pytest.mark.parametrize("proxy", [name for name in STARTERS if name != "traefik"])
def test_an_allowed_request_shows_the_charge(site: Installed, priced: None, proxy: str) -> None:
    with running_proxy(proxy, replace(site.installation, prices=True)) as port:
        installed = dataclasses.replace(site, proxy=proxy, port=port)
        created = installed.service.clock.now_ms() // 1000
        price = {"crawler-max-price": "USD 0.10"}
        offer = [*AGENT.headers("GET", f"{ORIGIN}/page", headers=price, created=created).items()]

        paid = installed.visit("GET", "/page", usual=USUAL, headers=offer)
        assert (paid.status, paid.headers.get_all("Crawler-Charged")) == (200, ["USD 0.05"])
        free = installed.visit("GET", "/page", usual=USUAL)
        assert (free.status, free.headers.get_all("Crawler-Charged")) == (200, None)
