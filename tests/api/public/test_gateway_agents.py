"""Agents at the gateway: signed, claimed and priced requests, from the question of the proxy to the ledger."""

import re

from tests.api.public.signed_agents import AGENT, set_policy, signed
from tests.support.browser_client import decision_of
from tests.support.gateway import Gate, said
from tests.support.service import RunningService

GPTBOT = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"


def test_a_named_agent_that_signs_needs_no_token_and_is_recorded_under_its_name(gate: Gate) -> None:
    set_policy(gate)

    reply = gate.check("POST", "/login", **signed(gate))

    assert said(reply) == (204, "allow", "allowed")
    found = decision_of(gate.service, gate.site_key, reply.headers["x-service-decision-id"])
    assert found["agent"] == AGENT.url
    assert "agent.verified" in found["labels"]


def test_a_signature_counts_once(gate: Gate) -> None:
    set_policy(gate)
    headers = signed(gate)

    assert said(gate.check("POST", "/login", **headers))[0] == 204
    again = gate.check("POST", "/login", **headers)

    assert said(again) == (403, "block", "agent_signature_invalid")
    assert "accept-signature" in again.headers


def test_a_signature_for_another_path_opens_nothing(gate: Gate) -> None:
    set_policy(gate)

    reply = gate.check("POST", "/login", **signed(gate, path="/other"))

    assert said(reply) == (403, "block", "agent_signature_invalid")


def test_a_denied_agent_is_blocked_and_in_monitor_mode_only_noted(service: RunningService) -> None:
    for mode, expected in (("enforce", (403, "block", "agent_denied")), ("monitor", (204, "allow", "monitor"))):
        gate = Gate(service, mode=mode)
        set_policy(gate, agents={AGENT.url: {"decision": "deny", "jwks": AGENT.jwks}})

        assert said(gate.check("GET", "/", **signed(gate, "GET", "/"))) == expected


def test_a_claim_without_a_signature_is_shown_how_to_sign(gate: Gate) -> None:
    set_policy(gate)
    reply = gate.check(User_Agent=GPTBOT)
    assert said(reply) == (401, "challenge", "agent_unverified")
    asked = [each.headers["accept-signature"] for each in (reply, gate.check(User_Agent=GPTBOT))]
    nonces = {re.search(r';nonce="([\w-]{43})";tag="web-bot-auth"$', each)[1] for each in asked}
    assert len(nonces) == 2

    set_policy(gate, unverified="block")
    assert said(gate.check(User_Agent=GPTBOT)) == (403, "block", "agent_unverified")


def test_a_price_is_requested_and_charged_once_it_is_offered(gate: Gate) -> None:
    set_policy(gate, agents={AGENT.url: {"decision": "allow", "jwks": AGENT.jwks, "price": "USD 0.05"}})

    asked = gate.check("GET", "/page", **signed(gate, "GET", "/page"))
    assert said(asked) == (403, "block", "payment_required")
    assert asked.headers["crawler-price"] == "USD 0.05"

    paid = gate.check("GET", "/page", **signed(gate, "GET", "/page", **{"crawler-max-price": "USD 0.10"}))
    assert said(paid) == (204, "allow", "allowed")
    assert paid.headers["crawler-charged"] == "USD 0.05"
    statement = gate.service.operator.get(
        f"/v1/admin/sites/{gate.site_key}/agent-charges", params={"month": "2026-11"}
    ).json()
    assert AGENT.url in str(statement)


def test_a_visitor_who_claims_nothing_is_not_asked_for_a_price(gate: Gate) -> None:
    set_policy(gate, agents={AGENT.url: {"decision": "allow", "jwks": AGENT.jwks, "price": "USD 0.05"}})

    assert said(gate.check()) == (204, "allow", "allowed")
