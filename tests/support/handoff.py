"""A site, an agent that it challenges, and a person: handoffs without a browser and without a submission."""

import json
from typing import Any

import httpx

from agentgate.agents.handoff.repository import Handoff, HandoffRequest
from agentgate.agents.identity import Identity
from agentgate.lib.enums import AgentVerdict
from agentgate.sites.directory import SiteView
from tests.support.agent_client import SigningAgent
from tests.support.browser_client import new_address
from tests.support.service import RunningService
from tests.support.tokens import DECISION, mint

DIGEST = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
CONTENT = {"email": "ada@example.org", "message": "Two chairs, please."}
OTHER_SEED = bytes(range(100, 132))


class HandoffScene:
    """Everything that a handoff needs."""

    def __init__(self, service: RunningService, *, site_key: str = "site_handoff_tests", **site: Any) -> None:
        self.service = service
        self.site_key = site_key
        self.agent = SigningAgent()
        # Of the same site, and as well known there.
        self.other = SigningAgent("https://other.example", seed=OTHER_SEED)
        actions = {"submit": {"browserRequired": True}, "order": {"browserRequired": True}}
        body = {
            "name": "Shop",
            "siteKey": site_key,
            "mode": "enforce",
            "allowedOrigins": ["https://shop.example"],
            "actions": actions,
            **site,
        }
        made = service.operator.post("/v1/admin/sites", json=body)
        assert made.status_code == 201, made.text
        self.site_id: str = made.json()["id"]
        self.customer_id: str = made.json()["customerId"]
        credential = service.operator.post(f"/v1/admin/sites/{site_key}/credentials")
        self.secret: str = credential.json()["secret"]
        self.set_policy()

    def set_policy(self, **changes: Any) -> None:
        """Let the policy name both agents, with their keys."""
        agents = {
            agent.url: {"decision": "allow", "name": name, "jwks": agent.jwks}
            for agent, name in ((self.agent, "Chair buyer"), (self.other, "Other"))
        }
        policy = {"agents": agents, "actions": {"submit": {"handoff": True}}, **changes}
        reply = self.service.operator.put(f"/v1/admin/sites/{self.site_key}/agent-policy", json=policy)
        assert reply.status_code == 200, reply.text
        self.service.run(self.service.application.refresher.refresh())

    @property
    def site(self) -> SiteView:
        """The site as decisions see it."""
        found = self.service.application.refresher.sites.find(self.site_key)
        assert found is not None
        return found

    @property
    def now_ms(self) -> int:
        """The service's time."""
        return self.service.clock.now_ms()

    def identity(self, agent: SigningAgent | None = None) -> Identity:
        """Return what the signature of an agent proves."""
        signer = agent or self.agent
        return Identity(verdict=AgentVerdict.VERIFIED, agent=signer.url, keyid=signer.keyid)

    def request(self, **changes: Any) -> HandoffRequest:
        """Return a submission."""
        usual = {"submission_id": "sub-1", "content_digest": DIGEST, "decision_id": DECISION, "content": CONTENT}
        return HandoffRequest(**usual | changes)

    def open(self, *, action: str = "submit", agent: SigningAgent | None = None, **changes: Any) -> Handoff:
        """Open a handoff as a blocked submission does."""
        handoffs = self.service.application.agents.handoffs
        return self.service.run(
            handoffs.open(
                site=self.site,
                action=action,
                identity=self.identity(agent),
                request=self.request(**changes),
                now_ms=self.now_ms,
            )
        )

    def submit(self, submission_id: str, **fields: Any) -> httpx.Response:
        """Submit as the agent does; the policy asks for a person when `challenge` was called."""
        body = json.dumps(
            {"siteKey": self.site_key, "action": "submit", "id": submission_id, "content": CONTENT, **fields}
        ).encode()
        url = f"{self.service.public_url}/agent/submit"
        headers = self.agent.headers("POST", url, body=body, created=self.now_ms // 1000)
        return self.service.public.post(
            "/agent/submit", content=body, headers={**headers, "content-type": "application/json"}
        )

    def challenge(self) -> None:
        """Let the policy ask for a person's word about the first agent's submissions."""
        entry = {
            "decision": "allow",
            "name": "Chair buyer",
            "jwks": self.agent.jwks,
            "actions": {"submit": "challenge"},
        }
        other = {"decision": "allow", "jwks": self.other.jwks}
        self.set_policy(agents={self.agent.url: entry, self.other.url: other})

    def poll(self, handoff_id: str, agent: SigningAgent | None = None, **how: Any) -> httpx.Response:
        """Ask what became of a handoff, signed afresh."""
        url = f"{self.service.public_url}/v1/handoff/{handoff_id}"
        headers = (agent or self.agent).headers("GET", url, created=self.now_ms // 1000, **how)
        return self.service.public.get(f"/v1/handoff/{handoff_id}", headers=headers)

    def token(self, handoff_id: str, action: str = "submit", **changes: Any) -> str:
        """Return what the page gets from the check that a person passes there."""
        keys = self.service.application.signing_keys
        return mint(keys, handoff_id, now_ms=self.now_ms, action=action, origin=self.service.public_url, **changes)

    def choose(self, handoff_id: str, choice: str, *, token: str | None = None, **fields: Any) -> httpx.Response:
        """Send the page's form; `headers` are among the fields."""
        headers = {
            "Sec-Fetch-Site": "same-origin",
            "X-Forwarded-For": new_address(),
            **fields.pop("headers", {}),
        }
        passed = self.token(handoff_id) if token is None else token
        form = {"choice": choice, "agentgate-token": passed, **fields}
        return self.service.public.post(f"/handoff/{handoff_id}", data=form, headers=headers)

    def redeem(self, receipt: str, action: str = "submit") -> httpx.Response:
        """Redeem a receipt as the site's server does."""
        body = {"token": receipt, "expectedAction": action, "secret": self.secret}
        return self.service.public.post("/v1/siteverify", json=body)
