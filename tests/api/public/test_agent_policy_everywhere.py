"""The agent policy on requests that a rule of the managed group `standards` allows."""

import pytest

from tests.api.public.signed_agents import AGENT, set_policy, signed
from tests.support.gateway import Gate, said

# Method, path and extra headers: a well-known path, a feed, and what opened a site before: other feeds, a webhook's
# path, and a header that any client can add.
OPENED = [
    ("GET", "/.well-known/change-password", {}),
    ("GET", "/feed.xml", {}),
    ("GET", "/blog/feed.xml", {}),
    ("POST", "/hooks/orders", {}),
    ("POST", "/orders", {"Stripe-Signature": "t=1,v1=0"}),
]
GPTBOT = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"


def ask(gate: Gate, method: str, path: str, more: dict[str, str], **signed_headers: str):
    """Send a signed request with extra headers."""
    headers = signed(gate, method, path, **signed_headers)
    return gate.check(method, path, **headers, **{name.replace("-", "_"): value for name, value in more.items()})


@pytest.mark.parametrize(("method", "path", "more"), OPENED)
def test_a_denied_agent_is_denied_where_a_standards_rule_allows(
    gate: Gate, method: str, path: str, more: dict[str, str]
) -> None:
    set_policy(gate)
    assert said(ask(gate, method, path, more)) == (204, "allow", "allowed")

    set_policy(gate, agents={AGENT.url: {"decision": "deny", "jwks": AGENT.jwks}})

    assert said(ask(gate, method, path, more)) == (403, "block", "agent_denied")


@pytest.mark.parametrize(("method", "path", "more"), OPENED)
def test_an_agent_pays_its_price_where_a_standards_rule_allows(
    gate: Gate, method: str, path: str, more: dict[str, str]
) -> None:
    set_policy(gate, agents={AGENT.url: {"decision": "allow", "jwks": AGENT.jwks, "price": "USD 0.05"}})

    assert said(ask(gate, method, path, more)) == (403, "block", "payment_required")
    assert said(ask(gate, method, path, more, **{"crawler-max-price": "USD 0.10"})) == (204, "allow", "allowed")


@pytest.mark.parametrize(("method", "path", "more"), OPENED)
def test_an_agent_keeps_its_quota_where_a_standards_rule_allows(
    gate: Gate, method: str, path: str, more: dict[str, str]
) -> None:
    set_policy(gate, agents={AGENT.url: {"decision": "allow", "jwks": AGENT.jwks, "quotaPerMinute": 1}})

    found = [said(ask(gate, method, path, more)) for _ in range(2)]

    assert found == [(204, "allow", "allowed"), (403, "block", "rate_limited")]


def test_a_name_that_the_policy_denies_is_denied_where_a_standards_rule_allows(gate: Gate) -> None:
    set_policy(gate, agents={"GPTBot": {"decision": "deny"}})

    assert said(gate.check("GET", "/robots.txt", User_Agent=GPTBOT)) == (403, "block", "agent_denied")


@pytest.mark.parametrize("unverified", ["challenge", "block"])
def test_a_crawler_without_a_signature_still_reads_robots_txt(gate: Gate, unverified: str) -> None:
    set_policy(gate, unverified=unverified)

    assert said(gate.check("GET", "/robots.txt", User_Agent=GPTBOT)) == (204, "allow", "allowed")


def test_an_invalid_signature_is_rejected_where_a_standards_rule_allows(gate: Gate) -> None:
    set_policy(gate)

    reply = gate.check("GET", "/robots.txt", **signed(gate, "GET", "/other"))

    assert said(reply) == (403, "block", "agent_signature_invalid")
