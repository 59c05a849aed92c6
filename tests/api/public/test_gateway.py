"""The gateway check over HTTP: every reason with its status and headers, in both modes, and what is recorded."""

import pytest
from msgspec import UNSET

from agentgate.lib.clock import DAY_MS, MINUTE_MS
from agentgate.lib.enums import ReceiptKind
from tests.support.browser_client import decision_of, get_token
from tests.support.gateway import ORIGIN, Gate, said
from tests.support.service import RunningService
from tests.support.tokens import mint


def test_an_unprotected_page_is_allowed(gate: Gate) -> None:
    reply = gate.check()

    assert said(reply) == (204, "allow", "allowed")
    assert reply.content == b""
    assert reply.headers["x-service-decision-id"].startswith("dec_")
    assert "x-service-would-decision" not in reply.headers


def test_envoy_gets_its_200(gate: Gate) -> None:
    assert gate.check(query="?ok=200").status_code == 200


def test_a_browser_route_needs_a_token_or_a_clearance(gate: Gate) -> None:
    reply = gate.check("POST", "/login")

    assert said(reply) == (401, "challenge", "receipt_required")
    assert reply.json() == {"decision": "challenge", "reason": "receipt_required"}


@pytest.mark.parametrize(
    "agent",
    [
        *("kube-probe/1.30", "GoogleHC/1.0", "ELB-HealthChecker/2.0", "Prometheus/2.53", "Consul Health Check"),
        *("Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", "W3C_Validator/1.3", "Envoy/HC"),
    ],
)
def test_no_user_agent_is_exempt(gate: Gate, agent: str) -> None:
    """A User-Agent of a health check gets no access to a route that requires a token."""
    # Without rules: what is left is that the route asks for a token.
    rule_set = {"version": "1", "rules": [], "default_action": "allow"}
    saved = gate.service.operator.put(
        f"/v1/admin/sites/{gate.site_key}/rules", json={"ruleSet": rule_set, "revision": 0}
    )
    assert saved.status_code == 200, saved.text

    assert said(gate.check("POST", "/login", User_Agent=agent)) == (401, "challenge", "receipt_required")


def test_a_token_opens_its_route_once(gate: Gate) -> None:
    token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=gate.address)

    assert said(gate.check("POST", "/login", X_AgentGate_Token=token)) == (204, "allow", "allowed")
    assert said(gate.check("POST", "/login", X_AgentGate_Token=token)) == (401, "challenge", "token_used")


def test_a_redeemed_token_is_remembered_for_longer_than_it_lives(gate: Gate) -> None:
    token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=gate.address)
    gate.check("POST", "/login", X_AgentGate_Token=token)
    redemptions, now_ms = gate.service.application.stores.redemptions, gate.service.clock.now_ms()

    gate.service.run(redemptions.forget_redemptions(now_ms + DAY_MS, most=1_000_000))

    assert said(gate.check("POST", "/login", X_AgentGate_Token=token)) == (401, "challenge", "token_used")


def test_a_token_of_another_action_site_or_origin_does_not_fit(gate: Gate) -> None:
    token = get_token(gate.service, gate.site_key, "search", ORIGIN, address=gate.address)
    assert said(gate.check("POST", "/login", X_AgentGate_Token=token)) == (401, "challenge", "action_mismatch")

    token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=gate.address)
    elsewhere = gate.check("POST", "/login", X_AgentGate_Token=token, X_Original_URL="https://www.shop.example/login")
    assert said(elsewhere) == (401, "challenge", "origin_mismatch")

    gate.service.clock.advance(ms=3 * MINUTE_MS)
    assert said(gate.check("POST", "/login", X_AgentGate_Token=token)) == (401, "challenge", "expired_token")
    assert said(gate.check("POST", "/login", X_AgentGate_Token="x.y.z")) == (401, "challenge", "invalid_token")


def test_a_receipt_that_is_bound_to_content_opens_nothing_without_it(gate: Gate) -> None:
    keys, now_ms = gate.service.application.browser_check.signing_keys, gate.service.clock.now_ms()
    digest = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    agent = {"kind": ReceiptKind.AGENT, "subject": "https://agent.example", "origin": UNSET}
    bound = mint(keys, gate.site_key, now_ms=now_ms, action="upload", content_digest=digest, **agent)
    other = digest.replace("47", "48")

    for headers in ({}, {"X_Original_Body_Digest": other}, {"Content_Digest": digest}):
        reply = gate.check("POST", "/upload", X_AgentGate_Token=bound, **headers)
        assert said(reply) == (401, "challenge", "invalid_token")
    reply = gate.check("POST", "/upload", X_AgentGate_Token=bound, X_Original_Body_Digest=digest)
    assert said(reply) == (204, "allow", "allowed")


@pytest.mark.parametrize("secret", ["ags_" + "x" * 43, "x", "ags_test_always_pass"])
def test_without_the_sites_secret_nothing_is_evaluated(gate: Gate, secret: str) -> None:
    reply = gate.check(Authorization=f"Bearer {secret}")

    assert said(reply) == (403, "block", "invalid_credential")
    assert "x-service-decision-id" not in reply.headers


@pytest.mark.parametrize("name", ["X_Original_Method", "X_Original_URL", "X_Original_Address"])
def test_a_missing_original_header_is_rejected(gate: Gate, name: str) -> None:
    assert said(gate.check(**{name: None})) == (403, "block", "invalid_request")


@pytest.mark.parametrize("name", ["X-Original-Method", "X-Original-URL", "X-Original-Address"])
def test_an_original_header_that_came_twice_is_rejected(gate: Gate, name: str) -> None:
    original = {"X-Original-Method": "GET", "X-Original-URL": f"{ORIGIN}/", "X-Original-Address": gate.address}
    headers = [("Authorization", f"Bearer {gate.secret}"), *original.items(), (name, original[name])]

    assert said(gate.service.public.get("/v1/gateway/check", headers=headers)) == (403, "block", "invalid_request")


FORWARDED = {
    "X-Forwarded-Method": "GET",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "shop.example",
    "X-Forwarded-Uri": "/",
    "X-Forwarded-For": "203.0.113.20",
}


@pytest.mark.parametrize(
    "changed",
    [
        {"X-Forwarded-Method": "POST"},
        {"X-Forwarded-Proto": "http"},
        {"X-Forwarded-Host": "other.example"},
        {"X-Forwarded-Uri": "/free"},
        {"X-Forwarded-For": "203.0.113.77"},
    ],
)
def test_a_second_set_that_contradicts_the_first_is_rejected_each_time(gate: Gate, changed: dict[str, str]) -> None:
    # The first fills the caches with a head of the same names.
    assert said(gate.check(**FORWARDED)) == (204, "allow", "allowed")

    replies = [gate.check(**FORWARDED | changed) for _ in range(2)]

    assert [said(reply) for reply in replies] == [(403, "block", "invalid_request")] * 2
    assert said(gate.check(**FORWARDED)) == (204, "allow", "allowed")


def test_a_token_of_the_future_opens_nothing(gate: Gate) -> None:
    keys, now_ms = gate.service.application.browser_check.signing_keys, gate.service.clock.now_ms()
    ahead, future = (mint(keys, gate.site_key, now_ms=now_ms + seconds * 1000) for seconds in (5, 6))

    assert said(gate.check("POST", "/login", X_AgentGate_Token=future)) == (401, "challenge", "invalid_token")
    assert said(gate.check("POST", "/login", X_AgentGate_Token=ahead)) == (204, "allow", "allowed")


def test_monitor_mode_allows_and_shows_what_it_would_have_done(service: RunningService) -> None:
    gate = Gate(service, mode="monitor")

    reply = gate.check("POST", "/login")

    assert said(reply) == (204, "allow", "monitor")
    assert reply.headers["x-service-would-decision"] == "challenge"
    assert said(gate.check("POST", "/login", Authorization="Bearer x")) == (403, "block", "invalid_credential")


def test_a_rule_rejects_without_saying_which(gate: Gate) -> None:
    reply = gate.check(User_Agent="sqlmap/1.8")

    assert said(reply) == (403, "block", "policy")


def test_an_agent_that_proves_nothing_is_challenged_as_such(gate: Gate) -> None:
    reply = gate.check(User_Agent="Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)")

    assert said(reply) == (401, "challenge", "agent_unverified")


def test_every_check_leaves_an_event(gate: Gate) -> None:
    reply = gate.check("POST", "/login")

    found = decision_of(gate.service, gate.site_key, reply.headers["x-service-decision-id"])
    assert (found["route"], found["action"], found["outcome"]) == ("/login", "login", "challenge")
    assert found["reasons"] == ["receipt_required"]
