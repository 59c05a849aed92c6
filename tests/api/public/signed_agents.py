"""Signed agents at the gateway, and the policy for them."""

from typing import Any

from tests.support.agent_client import SigningAgent
from tests.support.gateway import ORIGIN, Gate

AGENT = SigningAgent()


def set_policy(gate: Gate, **policy: Any) -> None:
    policy.setdefault("agents", {AGENT.url: {"decision": "allow", "jwks": AGENT.jwks}})
    path = f"/v1/admin/sites/{gate.site_key}/agent-policy"
    reply = gate.service.operator.put(path, json={"default": "challenge", "unverified": "challenge", **policy})
    assert reply.status_code == 200, reply.text


def signed(gate: Gate, method: str = "POST", path: str = "/login", **headers: str) -> dict[str, str | None]:
    """Return the headers of an agent's request, as `Gate.check` takes them; browser headers are removed."""
    created = gate.service.clock.now_ms() // 1000
    made = AGENT.headers(method, ORIGIN + path, headers=headers, created=created)
    browser = {"User_Agent": "agent/1.0", "Accept_Language": None, "Sec_Fetch_Site": None, "Sec_Fetch_Mode": None}
    return {**browser, "Sec_Fetch_Dest": None, **{name.replace("-", "_"): value for name, value in made.items()}}
