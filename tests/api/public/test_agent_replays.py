"""One signed request, sent 64 times at once: one is accepted, on either store."""

import json

from tests.support.agent_client import SigningAgent
from tests.support.agent_replays import REPLAYS, send_at_once
from tests.support.browser_client import create_site


def test_of_64_parallel_replays_of_a_submission_one_is_accepted(service):
    agent = SigningAgent()
    site_key = create_site(service, actions={"contact": {"browserRequired": False}})
    policy = {"agents": {agent.url: {"decision": "allow", "jwks": agent.jwks}}}
    assert service.operator.put(f"/v1/admin/sites/{site_key}/agent-policy", json=policy).status_code == 200

    body = json.dumps({"siteKey": site_key, "action": "contact", "id": "one", "content": "Hello."}).encode()
    url = f"{service.public_url}/agent/submit"
    typed = {"content-type": "application/json"}
    signed = agent.headers("POST", url, body=body, headers=typed, created=service.clock.now_ms() // 1000)

    assert send_at_once(url, signed, body) == {200: 1, 401: REPLAYS - 1}
