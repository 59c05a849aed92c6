"""An agent at work: a site with a policy, and submissions signed and sent."""

import json
from typing import Any

import httpx

from tests.support.agent_client import SigningAgent
from tests.support.browser_client import create_site
from tests.support.service import RunningService

ACTIONS = {"submit": {"browserRequired": True}, "search": {"browserRequired": False}}
CONTENT = {"name": "Ada", "message": "Do you have the blue one in size 9?"}


def allowed(agent: SigningAgent, **more: Any) -> dict[str, Any]:
    """Return a policy's entry for an agent whose key needs no fetch."""
    return {agent.url: {"decision": "allow", "name": "Shopping Agent", "jwks": agent.jwks, **more}}


class AgentShop:
    """A site, and an agent that wants something there."""

    def __init__(self, service: RunningService, *, mode: str = "enforce", agent: SigningAgent | None = None) -> None:
        self.service = service
        self.agent = agent or SigningAgent()
        self.site_key = create_site(service, mode=mode, actions=ACTIONS, routes=[])

    def set_policy(self, *, expect: int = 200, **policy: Any) -> httpx.Response:
        """Replace the site's policy; without `agents` the shop's own agent is allowed."""
        policy.setdefault("agents", allowed(self.agent))
        reply = self.service.operator.put(f"/v1/admin/sites/{self.site_key}/agent-policy", json=policy)
        assert reply.status_code == expect, reply.text
        return reply

    def body(self, **changed: Any) -> bytes:
        """Return what is submitted."""
        body = {"siteKey": self.site_key, "action": "submit", "id": "sub-1", "content": CONTENT, **changed}
        return json.dumps({name: value for name, value in body.items() if value is not None}).encode()

    def signed(self, body: bytes, *, agent: SigningAgent | None = None, **how: Any) -> dict[str, str]:
        """Return the headers that go with a body."""
        headers = {"content-type": "application/json", "user-agent": "ShoppingAgent/1.0", **how.pop("headers", {})}
        how.setdefault("created", self.service.clock.now_ms() // 1000)
        url = f"{self.service.public_url}/agent/submit"
        return (agent or self.agent).headers("POST", url, body=body, headers=headers, **how)

    def submit(self, *, agent: SigningAgent | None = None, how: dict[str, Any] | None = None, **changed: Any):
        """Sign and send a submission."""
        body = self.body(**changed)
        headers = self.signed(body, agent=agent, **(how or {}))
        return self.service.public.post("/agent/submit", content=body, headers=headers)

    def pay(self, text: str, *, header: str = "crawler-exact-price", **changed: Any):
        """Submit with a signed offer."""
        return self.submit(how={"headers": {header: text}}, **changed)

    def statement(self, **query: str) -> dict[str, Any]:
        """Return what agents were charged."""
        return self.service.operator.get(f"/v1/admin/sites/{self.site_key}/agent-charges", params=query).json()
