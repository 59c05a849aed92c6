"""The agent policy: its valid contents, and its outcome for an agent and an action."""

import msgspec
import pytest
from msgspec import UNSET

from agentgate.agents.policy_decision import policy_action
from agentgate.lib.enums import AgentPolicyAction, AgentPolicyDefault
from agentgate.sites.agent_policy import (
    DEFAULT_POLICY,
    AgentPolicy,
    canonical_agent,
    find_problem,
    read_policy,
)
from agentgate.sites.price import Price

AGENT = "https://agent.example"


def policy(**parts) -> AgentPolicy:
    return read_policy(parts)


def entry(**parts):
    return {AGENT: {"decision": "allow", **parts}}


def test_a_site_without_a_policy_has_the_default() -> None:
    assert read_policy(UNSET) is DEFAULT_POLICY
    assert policy() == DEFAULT_POLICY
    assert DEFAULT_POLICY.unverified is AgentPolicyDefault.CHALLENGE
    assert DEFAULT_POLICY.quota_per_minute == 600
    assert policy_action(DEFAULT_POLICY, AGENT, "submit") is AgentPolicyAction.ALLOW


@pytest.mark.parametrize(
    "stored",
    [
        {"extra": 1},
        {"default": "maybe"},
        {"quotaPerMinute": 0},
        {"quotaPerMinute": 1.5},
        {"agents": {AGENT: {}}},
        {"agents": {AGENT: {"decision": "allow", "more": 1}}},
        {"agents": {AGENT: {"decision": "allow", "price": "5 cents"}}},
        {"agents": {AGENT: {"decision": "allow", "actions": {"Not An Action": "allow"}}}},
        {"agents": {"http://agent.example": {"decision": "allow"}}},
        {"agents": {"https://agent.example/": {"decision": "allow"}}},
        {"agents": {"https://user@agent.example": {"decision": "allow"}}},
        {"agents": {"https://agent.example/keys?x=1": {"decision": "allow"}}},
        {"agents": {"GPTBot": {"decision": "allow", "jwks": {"keys": [{}]}}}},
        {"agents": {f"https://a{number}.example": {"decision": "deny"} for number in range(201)}},
        {"actions": {"submit": {"price": "USD 1"}}},
        {"actions": {f"a{number}": {} for number in range(65)}},
        {"tools": [{}] * 51},
    ],
)
def test_what_is_not_a_policy_is_rejected(stored) -> None:
    with pytest.raises(ValueError, match="not an agent policy"):
        read_policy(stored)


def test_what_is_wrong_is_shown_with_what_would_be_right() -> None:
    given = msgspec.convert({"agents": {"HTTPS://Agent.Example:443/": {"decision": "deny"}}}, AgentPolicy)

    assert find_problem(given) == "agents.HTTPS://Agent.Example:443/ must be written https://agent.example."


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("https://Agent.example", "https://agent.example"),
        ("https://agent.example/.well-known/http-message-signatures-directory", "https://agent.example"),
        ("https://agent.example/keys.json", "https://agent.example/keys.json"),
        ("https://agent.example:8443", "https://agent.example:8443"),
        ("https://[2001:db8::1]", "https://[2001:db8::1]"),
        ("GPTBot", "GPTBot"),
        (" GPTBot", None),
        ("ftp://agent.example", None),
        ("https://", None),
        ("https://agent.example:99999", None),
        ("https://agent.example/#x", None),
        ("https://agent.example?", None),
    ],
)
def test_an_agent_has_one_spelling(key, canonical) -> None:
    assert canonical_agent(key) == canonical


@pytest.mark.parametrize(
    ("parts", "action", "decision"),
    [
        ({"default": "challenge"}, "submit", "challenge"),
        ({"default": "block"}, "submit", "deny"),
        ({"default": "block", "agents": entry()}, "submit", "allow"),
        ({"agents": entry(decision="deny", actions={"submit": "allow"})}, "submit", "deny"),
        ({"agents": entry(actions={"submit": "challenge"})}, "submit", "challenge"),
        ({"agents": entry(actions={"submit": "challenge"})}, "search", "allow"),
        ({"agents": entry(actions={"submit": "deny"})}, None, "allow"),
    ],
)
def test_a_policy_is_to_an_agent_as_documented(parts, action, decision) -> None:
    assert policy_action(policy(**parts), AGENT, action).value == decision


def test_an_agents_own_price_goes_before_the_actions() -> None:
    both = policy(agents=entry(price="USD 0.01"), actions={"submit": {"price": "USD 0.05"}})

    assert both.price_for(AGENT, "submit") == Price("USD", 1)
    assert both.price_for(AGENT, None) == Price("USD", 1)
    assert both.price_for("https://other.example", "submit") == Price("USD", 5)
    assert both.price_for("https://other.example", "search") is None
    assert (
        policy(agents=entry(price="USD 0.00"), actions={"submit": {"price": "USD 0.05"}}).price_for(AGENT, "submit")
        is None
    )


def test_a_name_is_found_in_any_case_and_is_never_taken_for_a_verified_agent() -> None:
    named = policy(agents={"GPTBot": {"decision": "deny"}})

    assert named.entry_named("gptbot") is named.agents["GPTBot"]
    assert named.entry_named("OtherBot") is None
    assert named.entry_for("GPTBot") is None
